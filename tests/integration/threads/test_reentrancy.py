"""Code that an engine calls cannot call the engine: it is told so, and nobody waits for ever."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = """
CREATE STREAM s (ts BIGINT, x BIGINT);
CREATE QUERY plain AS SELECT x FROM s;
CREATE QUERY asked AS SELECT calls_back(x) AS x FROM s BEGIN 0 END NOW;
"""
ROWS = [{"ts": 1, "x": 1}, {"ts": 2, "x": 2}]


def engine_calling_back(call: Callable[[cqc.Engine], object]) -> cqc.Engine:
    engines: list[cqc.Engine] = []

    def calls_back(values: Any) -> Any:
        call(engines[0])
        return values

    cqc.function("calls_back", calls_back, returns="BIGINT")
    engines.append(cqc.Engine(cqc.compile(PROGRAM)))
    return engines[0]


CALLS: dict[str, Callable[[cqc.Engine], object]] = {
    "push": lambda engine: engine.push("s", [{"ts": 3, "x": 3}]),
    "push_batch": lambda engine: engine.push_batch({"s": [{"ts": 3, "x": 3}]}),
    "drain": lambda engine: list(engine.drain()),
    "register": lambda engine: engine.register("SELECT ts FROM s"),
    "unregister": lambda engine: engine.unregister("plain"),
    "invoke": lambda engine: engine.invoke("asked"),
    "finish": lambda engine: engine.finish(),
    "close": lambda engine: engine.close(),
    "queries": lambda engine: engine.queries,
    "warnings": lambda engine: engine.warnings,
    "stream_counts": lambda engine: engine.stream_counts(),
    "result_counts": lambda engine: engine.result_counts(),
    "measure": lambda engine: engine.measure(),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_that_calls_its_engine_gets_a_clear_error(name: str) -> None:
    engine = engine_calling_back(CALLS[name])
    engine.push("s", ROWS)
    sentence = r"engine\.\w+ was called from inside engine\.invoke: .* cannot call the engine"
    with pytest.raises(cqc.RunError, match=sentence):
        engine.invoke("asked")


def test_an_engine_whose_function_called_it_goes_on_with_nothing_lost() -> None:
    told: list[str] = []

    def push(engine: cqc.Engine) -> None:
        try:
            engine.push("s", [{"ts": 3, "x": 3}])
        except cqc.RunError as error:
            told.append(str(error))

    engine = engine_calling_back(push)
    engine.register("SELECT calls_back(x) AS x FROM s WHERE x > 1", "called")
    engine.push("s", ROWS)  # the function has heard the error itself
    assert told
    assert all(each.startswith("engine.push was called from inside engine.push:") for each in told)
    found = sorted((each.query, each.row["x"]) for each in engine.drain())
    assert found == [("called", 2), ("plain", 1), ("plain", 2)]
    assert engine.stream_counts()["s"].read == 2


def test_a_function_may_call_another_engine() -> None:
    other = cqc.Engine(cqc.compile("CREATE STREAM seen (ts BIGINT, x BIGINT); SELECT x FROM seen;"))
    engine = engine_calling_back(lambda engine: other.push("seen", [{"ts": 1, "x": 7}]))
    engine.push("s", ROWS)
    engine.invoke("asked")
    assert {each.row["x"] for each in other.drain()} == {7}


def test_rows_may_come_from_an_iterable_that_uses_the_engine() -> None:
    """They are read before the turn begins."""
    engine = engine_calling_back(lambda engine: None)

    def rows() -> Any:
        for number in range(3):
            engine.push("s", [{"ts": 1, "x": 10 + number}])
            yield {"ts": 1, "x": number}

    engine.push("s", rows())
    assert [each.row["x"] for each in engine.drain()] == [10, 11, 12, 0, 1, 2]


def test_a_thread_that_a_function_only_starts_gets_its_turn_afterwards() -> None:
    threads: list[threading.Thread] = []

    def start(engine: cqc.Engine) -> None:
        threads.append(threading.Thread(target=engine.push, args=("s", [{"ts": 3, "x": 3}])))
        threads[-1].start()

    engine = engine_calling_back(start)
    engine.push("s", ROWS)
    engine.invoke("asked")
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    assert engine.stream_counts()["s"].read == 2 + len(threads)


def test_no_public_call_gets_in_its_own_way() -> None:
    """One that uses another public one would be taken for code that calls its engine."""
    engine = cqc.Engine(cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s;"))
    engine.push("s", ROWS)
    called = []
    for name, each in inspect.getmembers(
        cqc.Engine, lambda each: callable(each) or isinstance(each, property)
    ):
        if name.startswith("_") or name == "close":
            continue
        if isinstance(each, property):
            getattr(engine, name)
        elif all(
            parameter.name == "self" or parameter.default is not parameter.empty
            for parameter in inspect.signature(each).parameters.values()
        ):
            found = getattr(engine, name)()
            called.append((name, list(found) if isinstance(found, Iterator) else found))
    assert {"kept_bytes", "state_sizes", "measure", "drain"} <= dict(called).keys()
