"""Whoever stops a distributed run in the middle of a join that would take hours is heard on the executors.

The sign that executors are free again is that somebody else gets an answer from them: a cell that went on would keep the process
that holds it for as long as the join takes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

import cqc
from cqc.cli.running import run_to_end
from cqc.runtime.errors import Halted
from cqc.runtime.options import RunOptions
from cqc.runtime.spark.distributed import keeper
from cqc.runtime.spark.distributed.messages.spec import digest
from cqc.runtime.spark.distributed.run import DistributedRun
from tests.integration.spark.distributed.test_keeper import Asker
from tests.support.waiting import PATIENCE_S, wait_until
from tests.unit.cli.test_stop_in_a_join import DECLARED, rows_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from cqc.runtime.spark.session.session import Session

ROOT = Path(__file__).parents[4]
STREAM = "CREATE STREAM s (ts BIGINT, v BIGINT);"
HOURS = (
    "SELECT a.v AS v FROM s a, s b, s c, s d, s e WHERE a.v < b.v AND b.v < c.v"
    " AND c.v < d.v AND d.v + a.v * e.v < 0 MAXWINDOW 1 HOUR;"
)
ROWS = 300
MUCH_S = 5.0  # of processor time, which only a process that joins comes to


@pytest.fixture
def ctrl_c_is_an_exception() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def wait_for_the_join(ancestor: int, *, of_python: bool = False) -> None:
    """Wait until a process that comes from another one, and is no JVM, has worked much from now on."""
    most, before = int(MUCH_S * os.sysconf("SC_CLK_TCK")), ticks_below(ancestor)

    def somebody_joins() -> bool:
        now = ticks_below(ancestor)
        if of_python:
            now = {process: ticks for process, ticks in now.items() if is_python(process)}
        return any(ticks - before.get(process, 0) > most for process, ticks in now.items())

    wait_until(somebody_joins, "nobody joins")


def ticks_below(ancestor: int) -> dict[int, int]:
    """The processor time of all processes that come from another one."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                found[int(entry.name)] = (int(fields[1]), int(fields[11]) + int(fields[12]))
    return {
        process: ticks for process, (_, ticks) in found.items() if ancestor in above(process, found)
    }


def is_python(process: int) -> bool:
    with suppress(OSError):
        return b"distributed.daemon" in Path(f"/proc/{process}/cmdline").read_bytes()
    return False


def above(process: int, parents: dict[int, tuple[int, int]]) -> Iterator[int]:
    """The processes from which one comes."""
    while process in parents:
        process = parents[process][0]
        yield process


def rows_of(folder: Path, session: Session) -> DataFrame:
    """The rows that make the join take long, as a stream of Spark's."""
    folder.mkdir()
    lines = [json.dumps({"ts": at // 10, "v": at}) for at in range(ROWS)]
    (folder / "0.json").write_text("\n".join(lines), encoding="utf-8")
    return session.spark.readStream.schema("ts bigint, v bigint").json(str(folder))


def test_a_handle_that_is_stopped_leaves_the_executors_to_others(
    session: Session, tmp_path: Path
) -> None:
    rows = rows_of(tmp_path / "s", session)
    handle = cqc.spark.start(
        cqc.compile(STREAM + HOURS), session.spark, {"s": rows}, distribute=True, partitions=1
    )
    wait_for_the_join(session._java.pid)
    assert not handle.await_end(timeout=0.01)
    handle.stop()
    assert list(handle.results()) == []
    pairs = "SELECT a.v FROM s a, s b WHERE a.v = b.v + 1 AND a.v < 10 MAXWINDOW 1 HOUR;"
    with cqc.spark.start(
        cqc.compile(STREAM + pairs),
        session.spark,
        {"s": rows},
        distribute=True,
        partitions=1,
        finite=True,
    ) as other:
        assert other.await_end(timeout=PATIENCE_S)
        assert sorted(result.row["v"] for result in other.results()) == list(range(1, 10))


@pytest.mark.usefixtures("ctrl_c_is_an_exception")
def test_ctrl_c_is_heard_and_a_run_without_the_query_repeats_the_micro_batch(
    session: Session,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, out, driver = tmp_path / "s.csv", tmp_path / "out.jsonl", os.getpid()
    source.write_text("ts,v\n" + "".join(f"{at // 10},{at}\n" for at in range(ROWS)))

    def ask_to_stop() -> None:
        wait_for_the_join(session._java.pid)
        os.kill(driver, signal.SIGINT)

    asks = threading.Thread(target=ask_to_stop)
    asks.start()
    options = RunOptions(
        engine="spark",
        distribute=True,
        partitions=1,
        checkpoint=str(tmp_path / "state"),
        out=str(out),
    )
    monkeypatch.setattr(
        "cqc.cli.running.open_run",
        lambda program, options: DistributedRun(program, options, session),
    )
    program = cqc.compile(DECLARED.format(source) + HOURS)
    assert run_to_end(program, options, quiet=False, progress=False) == 130
    asks.join()
    told = capsys.readouterr().err
    assert told.startswith("interrupted\n")
    assert "Traceback" not in told
    assert rows_in(out) == []
    without_the_join = cqc.compile(DECLARED.format(source))
    assert run_to_end(without_the_join, options, quiet=True, progress=False) == 0
    assert sorted(rows_in(out)) == list(range(250))


def test_spark_is_not_let_count_a_micro_batch_that_comes_after_the_stop(tmp_path: Path) -> None:
    source = tmp_path / "s.csv"
    source.write_text("ts,v\n1,1\n")
    run = DistributedRun(cqc.compile(DECLARED.format(source)), RunOptions(sink="none"))
    run._stopping = True
    with pytest.raises(Halted):  # a return would say that all is well
        run._take_batch(cast("DataFrame", None), 0)
    run.abandon()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_stays_behind(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,v\n" + "".join(f"{at // 10},{at}\n" for at in range(ROWS)))
    (tmp_path / "p.cq").write_text(DECLARED.format("s.csv") + HOURS, encoding="utf-8")
    with (tmp_path / "told").open("wb") as told:
        process = subprocess.Popen(
            [sys.executable, "-m", "cqc.cli.main", "run", str(tmp_path / "p.cq"), "--distribute"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=told,
            start_new_session=True,
        )
    wait_for_the_join(process.pid, of_python=True)
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == (-number if number == signal.SIGKILL else 130)
    wait_until(lambda: not of_session(process.pid), "somebody stays behind")
    assert "Traceback" not in (tmp_path / "told").read_text(encoding="utf-8")


def of_session(leader: int) -> list[int]:
    """The processes that a process has left in its session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                if int(fields[3]) == leader and fields[0] != "Z":
                    found.append(int(entry.name))
    return found


class Impatient(Asker):
    """A worker that has much to do, and is killed while it waits."""

    program = STREAM + HOURS

    def ask(self) -> None:
        blobs = self.blobs("s", [{"ts": at // 10, "v": at} for at in range(ROWS)])
        header = self.coordinator.header(0)
        keeper.process(0, digest(self.packed), self.file, (0, 0), header, blobs, self.store)


def main() -> None:
    """Start keepers, let a worker ask one for much and be killed, and ask it for little."""
    keeper.start()
    folder, child = Path(sys.argv[1]), os.fork()
    if child == 0:
        (folder / "much").mkdir()
        Impatient(folder / "much").ask()
        os._exit(0)
    wait_for_the_join(os.getpid())
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    asker = Asker(folder)
    sys.stdout.write(json.dumps([asker.give("a"), asker.give("b")]))


def test_a_keeper_stops_when_the_worker_that_asked_it_has_gone(tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "tests.integration.spark.distributed.test_stop", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    assert json.loads(finished.stdout) == [["keeper", 0, False], ["keeper", 1, False]]


if __name__ == "__main__":
    main()
