"""A distributed handle that starts again from its checkpoint goes on with the queries that came while it ran before.

Also with those that call functions of the user's, which a checkpoint does not hold; and what the run before had asked and not
heard is nobody's question any more.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.functions import registered
from cqc.runtime.spark.session.session import Session

if TYPE_CHECKING:
    from cqc.runtime.spark.distributed.handle import DistributedHandle

ROOT = Path(__file__).parents[4]
PROGRAM = (
    "CREATE STREAM s (ts BIGINT, k BIGINT); CREATE STREAM r (ts BIGINT, k BIGINT);"
    "CREATE QUERY kept AS SELECT s.k FROM s, r WHERE s.k = r.k MAXWINDOW 0 SEC;"
    "CREATE QUERY asked AS SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW;"
)
LIVE = "CREATE QUERY live AS SELECT again_twice(k) AS y FROM s"
JOINED = (
    "CREATE QUERY joined AS SELECT again_twice(s.k) AS y FROM s, r WHERE s.k = r.k MAXWINDOW 0 SEC"
)
ONE = {"kept": [1], "live": [2, 4], "joined": [2]}


def register_function() -> None:
    cqc.function("again_twice", lambda values: values * 2, returns="BIGINT")


class Place:
    """A folder with sources and a checkpoint."""

    def __init__(self, folder: Path, session: Session) -> None:
        self.folder = folder
        self.session = session
        for name in "sr":
            (folder / name).mkdir(exist_ok=True)

    def start(self) -> DistributedHandle:
        spark = self.session.spark
        sources = {
            name: spark.readStream.schema("ts bigint, k bigint").json(str(self.folder / name))
            for name in "sr"
        }
        return cqc.spark.start(
            cqc.compile(PROGRAM),
            spark,
            sources,
            distribute=True,
            partitions=1,
            checkpoint=self.folder / "state",
        )

    def push(self, handle: DistributedHandle, at: int) -> None:
        """Rows of another second, two of s and one of r."""
        for name, keys in (("r", (1,)), ("s", (1, 2))):
            lines = [json.dumps({"ts": at, "k": k}) for k in keys]
            aside = self.folder / "aside"
            aside.write_text("\n".join(lines), encoding="utf-8")
            aside.replace(self.folder / name / f"{at:05d}.json")
        handle.process_all_available()

    def say_unheard(self, handle: DistributedHandle) -> None:
        """What a handle says just before it dies."""
        controls = self.folder / "state" / "distributed" / "control"
        asks = [{"number": 1, "query": "kept", "at_us": None}]
        said = {"run": handle.coordinator.run, "ended": True, "closing": True, "asks": asks}
        number = len(list(controls.glob("*.jsonl")))
        (controls / f"{number:012d}.jsonl").write_text(json.dumps(said), encoding="utf-8")


def found(handle: DistributedHandle) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for result in handle.results():
        rows.setdefault(result.query, []).append(next(iter(result.row.values())))
    return {name: sorted(values) for name, values in rows.items()}


def first_run(place: Place) -> DistributedHandle:
    handle = place.start()
    place.push(handle, 1)
    handle.register(LIVE)
    handle.register(JOINED)
    place.push(handle, 2)
    return handle


def second_run(place: Place) -> None:
    """It is not only started: every way to wait for an answer is tried, since each could wait for ever."""
    handle = place.start()
    place.push(handle, 3)
    assert found(handle) == ONE
    assert handle.invoke("asked").to_pylist() == [{"n": 6}]
    handle.unregister("joined")
    handle.finish()
    assert found(handle) == {"asked": [6]}  # once: what the run before said is not heard
    handle.stop()


def test_a_live_query_that_calls_a_function_goes_on(session: Session, tmp_path: Path) -> None:
    register_function()
    place = Place(tmp_path, session)
    handle = first_run(place)
    assert found(handle) == {**ONE, "kept": [1, 1]}
    handle.stop()
    place.say_unheard(handle)
    second_run(place)


def test_a_function_that_is_missing_is_named_and_the_checkpoint_stays_good(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register_function()
    place = Place(tmp_path, session)
    handle = place.start()
    handle.register(LIVE)
    handle.stop()
    with monkeypatch.context() as patched:
        patched.setattr(registered, "_registered", {})
        with pytest.raises(
            cqc.RunError,
            match=r"^query live of the checkpoint calls the function again_twice, which is not registered: "
            r'call cqc.function\("again_twice", ...\) before the start, or name another folder$',
        ):
            place.start()
    handle = place.start()
    place.push(handle, 1)
    assert found(handle)["live"] == [2, 4]
    handle.stop()


def main() -> None:
    """The first run, in a process that is killed."""
    register_function()
    with Session("local[2]") as session:
        first_run(Place(Path(sys.argv[1]), session))
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_it_does_so_after_a_kill(session: Session, tmp_path: Path) -> None:
    module = "tests.integration.spark.distributed.test_handle_again"
    killed = subprocess.run([sys.executable, "-m", module, str(tmp_path)], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    register_function()
    second_run(Place(tmp_path, session))


if __name__ == "__main__":
    main()
