"""The engine for asyncio: calls are awaited, and the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

import cqc
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    import numpy as np

PROGRAM = """
CREATE STREAM s (ts BIGINT, x BIGINT);
CREATE QUERY all_of_it AS SELECT x FROM s;
CREATE QUERY total AS SELECT SUM(x) AS n FROM s BEGIN 0 END NOW;
"""


def row(x: int) -> dict[str, int]:
    return {"ts": x, "x": x}


def test_every_call_is_awaited() -> None:
    async def main() -> None:
        async with cqc.AsyncEngine(cqc.compile(PROGRAM)) as engine:
            await engine.push("s", [row(1)])
            await engine.push_batch({"s": [row(2)]})
            handle = await engine.register("SELECT x AS y FROM s WHERE x > 2")
            await engine.push("s", [row(3)])
            assert (await engine.invoke("total")).to_pylist() == [{"n": 6}]
            await engine.unregister(handle)
            await engine.push("s", [row(4)])
            await engine.finish()
            found = [(each.query, *each.row.values()) for each in await engine.drain()]
            assert sorted(found) == [*(("all_of_it", x) for x in (1, 2, 3, 4)), ("q1", 3)]
            assert await engine.drain(to="arrow") == {}
            with pytest.raises(cqc.CompileError):
                await engine.register("SELECT nothing FROM s")
        with pytest.raises(cqc.RunError, match="closed"):
            await engine.push("s", [row(5)])

    asyncio.run(main())


def test_the_event_loop_goes_on_while_the_engine_works(monkeypatch: pytest.MonkeyPatch) -> None:
    from cqc.compiler.functions import registered

    monkeypatch.setattr(registered, "_registered", dict(registered._registered))
    begun, released = threading.Event(), threading.Event()

    def held(x: np.ndarray) -> np.ndarray:
        begun.set()
        assert released.wait(PATIENCE_S)
        return x

    cqc.function("held", held, returns="BIGINT")
    program = cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT); SELECT held(x) AS x FROM s")

    async def main() -> list[object]:
        async with cqc.AsyncEngine(program) as engine:
            pushing = asyncio.create_task(engine.push("s", [row(1)]))
            while not begun.is_set():
                await asyncio.sleep(
                    0
                )  # the loop turns although the engine is in the middle of a call
            released.set()
            await pushing
            return [each.row["x"] for each in await engine.drain()]

    assert asyncio.run(main()) == [1]


def test_results_come_as_they_are_found_until_the_engine_is_closed() -> None:
    async def main() -> list[int]:
        engine = cqc.AsyncEngine(cqc.compile(PROGRAM))
        found: list[int] = []

        async def read() -> None:
            async for result in engine.results():
                found.append(result.row["x"])  # noqa: PERF401 - a list that is read while it grows

        readers = [asyncio.create_task(read()) for _ in range(3)]
        for x in range(20):
            await engine.push("s", [row(x)])
        await engine.close()
        await asyncio.wait_for(asyncio.gather(*readers), PATIENCE_S)
        return sorted(found)

    assert asyncio.run(main()) == list(range(20))
