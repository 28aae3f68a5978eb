"""A service that comes back after a crash is as it was: a copy of its folder at any moment is a crash at that moment."""

import errno
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import httpx
import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.files.record_file import RecordFile
from cqc.runtime.intake.typed_batch import Intake
from cqc.runtime.serve.http.server import ServeOptions, ServiceServer
from cqc.runtime.serve.journal import Durable
from cqc.runtime.serve.service import Service
from tests.support.waiting import PATIENCE_S

PROGRAM = """
CREATE STREAM a (ts BIGINT, k BIGINT, name STRING, WATERMARK FOR ts AS ts - INTERVAL '2' SECOND);
CREATE STREAM b (ts BIGINT, k BIGINT);
CREATE TABLE w (k BIGINT, nurse STRING);
SET RETENTION = 40 SECONDS;
CREATE QUERY joined AS SELECT a.k, a.ts AS t, b.ts AS u FROM a, b WHERE a.k = b.k MAXWINDOW 5 SEC;
CREATE QUERY counted AS SELECT k, COUNT(*) AS n FROM a BEGIN NOW - 30 END NOW GROUP BY k ORDER BY k;
CREATE QUERY tens AS SELECT COUNT(*) AS n FROM a BEGIN AFTER NOW - 10 END NOW EVERY 10 SEC;
"""
MORE = (
    "SELECT a.k FROM a, b WHERE a.k = b.k MAXWINDOW 3 SEC",
    "SELECT ts, name FROM a WHERE k > 1",
    "SELECT COUNT(*) AS n FROM a, b WHERE a.k = b.k MAXWINDOW 9 SEC BEGIN NOW - 20 END NOW",
    "SELECT nurse FROM a, w WHERE a.k = w.k",
    "SELECT b.k FROM a [ROWS 2], b [ROWS 3] WHERE a.k = b.k",
)


def start(
    folder: Path,
    program: str = PROGRAM,
    segment_bytes: int = 3_000,
    clock: Callable[[], float] = time.monotonic,
) -> Service:
    return Service(
        cqc.compile(program),
        durable=Durable(folder, segment_bytes),
        now=lambda: 1_700_000_000.0,
        clock=clock,
    )


def push(service: Service, stream: str, rows: list[dict[str, Any]]) -> None:
    service.push({stream: Intake(service.engine.lines[stream].relation).take(rows)})


def face(service: Service) -> dict[str, Any]:
    """Everything a client could ask for."""
    return {
        "epoch": service.epoch,
        "next": service.results.next_number,
        "results": service.results.read(0, most=10**9).lines,
        "queries": sorted(
            (e.number, e.name, e.text, e.owner, e.results, e.kind, e.columns)
            for e in service.registry
        ),
        "next_query": service.registry.next_number,
        "streams": {
            name: (line.count.read, line.count.late, line.count.rejected, line.watermark_us)
            for name, line in service.engine.lines.items()
            if line.relation.is_stream
        },
        "answers": {
            entry.name: service.engine.invoke(entry.name).to_pylist()
            for entry in service.registry
            if entry.kind != "push"
        },
    }


def steps(chooser: random.Random, service: Service, now: int) -> Iterator[None]:
    """One thing that clients do."""
    match chooser.randrange(8):
        case 0 if len(service.registry) < 12:
            service.register(chooser.choice(MORE))
        case 1 if len(service.registry) > 4:
            names = [each.name for each in service.registry if each.owner == "http"]
            service.unregister(chooser.choice(names))
        case 2:
            push(service, "a", [{"ts": None}, {"ts": now, "k": "no"}])
        case _:
            for stream in ("a", "b"):
                rows = [
                    {"ts": now - chooser.randrange(4), "k": chooser.randrange(4), "name": f"n{now}"}
                    for _ in range(chooser.randrange(6))
                ]
                push(service, stream, rows)
    yield
    service.commit()


@pytest.mark.parametrize("seed", range(3))
def test_a_crash_at_any_moment_leaves_the_service_as_it_was(seed: int, tmp_path: Path) -> None:
    chooser = random.Random(seed)
    home = tmp_path / "0"
    original = start(home)
    push(original, "w", [{"k": 1, "nurse": "Ada"}, {"k": 2, "nurse": "Bo"}])
    original.commit()
    for now in range(0, 150, 2):
        for _ in steps(chooser, original, now):
            pass
        if now % 50 == 0 or now == 148:
            copy = tmp_path / f"{now + 1}"
            shutil.copytree(home, copy)
            home, second = copy, start(copy)
            assert face(second) == face(original)
            original.close()
            original = second
    assert not (home / "rows-00000001.log").exists(), "old segments are deleted"
    original.close()


def test_a_service_that_crashed_goes_on_as_one_that_did_not(tmp_path: Path) -> None:
    steady, crashing = start(tmp_path / "steady"), start(tmp_path / "0")
    for number, now in enumerate(range(0, 90, 3)):
        for service in (steady, crashing):
            push(service, "a", [{"ts": now, "k": now % 3}])
            push(service, "b", [{"ts": now + 1, "k": now % 2}])
            service.commit()
        if number % 7 == 3:
            shutil.copytree(tmp_path / f"{number // 7}", tmp_path / f"{number // 7 + 1}")
            crashing.close()
            crashing = start(tmp_path / f"{number // 7 + 1}")
    expected, found = face(steady), face(crashing)
    assert found["next"] > 20
    for different in ("epoch", "results"):
        del expected[different], found[different]
    assert found == expected
    assert crashing.results.read(0, most=10**9).lines == steady.results.read(0, most=10**9).lines
    steady.close()
    crashing.close()


def test_what_was_delivered_because_a_stream_was_idle_is_not_delivered_again(
    tmp_path: Path,
) -> None:
    program = """CREATE STREAM a (ts BIGINT); CREATE STREAM b (ts BIGINT); SET IDLE = 5 SECONDS;
        CREATE QUERY both AS SELECT COUNT(*) AS n FROM a, b MAXWINDOW 99 SEC
        BEGIN AFTER NOW - 10 END NOW EVERY 10 SEC"""
    seconds = [0.0]
    first = start(tmp_path / "0", program, clock=lambda: seconds[0])
    push(first, "b", [{"ts": 1}])
    push(first, "a", [{"ts": 1}, {"ts": 2}, {"ts": 25}])
    first.look_at_clock()
    first.commit()
    assert first.results.next_number == 1
    seconds[0] = 4.0
    push(first, "a", [{"ts": 25}])
    seconds[0] = 6.0
    first.look_at_clock()
    first.commit()
    assert [line for _, line in first.results.read(1).lines] == [
        b'{"query": "both", "at": 10, "row": {"n": 2}}',
        b'{"query": "both", "at": 20, "row": {"n": 0}}',
    ]
    shutil.copytree(tmp_path / "0", tmp_path / "1")
    second = start(tmp_path / "1", program, clock=lambda: seconds[0])
    assert face(second) == face(first)
    seconds[0] = 60.0
    second.look_at_clock()
    second.commit()
    assert second.results.next_number == 3
    first.close()
    second.close()


@pytest.mark.parametrize("cut", [1, 7, 40, 200])
def test_what_was_not_committed_is_not_there(cut: int, tmp_path: Path) -> None:
    original = start(tmp_path / "0", segment_bytes=10**9)
    push(original, "a", [{"ts": 1, "k": 2, "name": "x"}])
    original.register(MORE[1], "above")
    original.commit()
    before = face(original)
    push(original, "a", [{"ts": 2, "k": 2, "name": "y" * 500}])
    shutil.copytree(tmp_path / "0", tmp_path / "1")  # its results are written, it is not committed
    original.commit()
    rows = (tmp_path / "0" / "rows-00000001.log").read_bytes()
    (tmp_path / "1" / "rows-00000001.log").write_bytes(rows[:-cut])
    second = start(tmp_path / "1")
    assert face(second) == before
    push(second, "a", [{"ts": 2, "k": 3, "name": "z"}])
    second.commit()
    ((number, line),) = second.results.read(1).lines
    assert number == 1
    assert b'"z"' in line
    original.close()
    second.close()


def test_a_service_that_cannot_write_says_so_and_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ServeOptions(port=0, checkpoint=str(tmp_path))
    server = ServiceServer(cqc.compile(PROGRAM), options, lambda text: None)
    ended: Future[None] = Future()

    def serve() -> None:
        try:
            server.serve_until_stopped()
        except RunError as error:
            ended.set_exception(error)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    monkeypatch.setattr(RecordFile, "sync", disk_is_full)
    rows = [{"ts": 1, "k": 1}]
    answer = httpx.post(
        f"{server.address}/streams/a", json=rows, timeout=PATIENCE_S, trust_env=False
    )
    assert answer.status_code == 503
    with pytest.raises(RunError, match="No space left"):
        ended.result(timeout=PATIENCE_S)
    thread.join(timeout=PATIENCE_S)


def disk_is_full(file: RecordFile) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_one_folder_has_one_service(tmp_path: Path) -> None:
    first = start(tmp_path)
    with pytest.raises(RunError, match="another service"):
        start(tmp_path)
    first.close()


def test_a_checkpoint_of_other_declarations_is_refused(tmp_path: Path) -> None:
    start(tmp_path).close()
    with pytest.raises(RunError, match="another declaration of b"):
        start(tmp_path, PROGRAM.replace("b (ts BIGINT, k BIGINT)", "b (ts BIGINT, k DOUBLE)"))


def test_the_programs_queries_may_change_between_two_lives(tmp_path: Path) -> None:
    first = start(tmp_path)
    kept = first.registry.find("counted").number
    first.register("SELECT k FROM a", "mine")
    first.commit()
    first.close()
    changed = PROGRAM.replace("CREATE QUERY joined", "CREATE QUERY linked")
    second = start(tmp_path, changed)
    names = {entry.name for entry in second.registry}
    assert names == {"linked", "counted", "tens", "mine"}
    assert second.registry.find("counted").number == kept
    second.close()


def test_rows_are_forgotten_when_a_view_has_lost_its_reader(tmp_path: Path) -> None:
    text = (
        "CREATE STREAM a (ts BIGINT, k BIGINT, name STRING); SET RETENTION = 3 SECONDS;"
        "CREATE VIEW v AS SELECT k, COUNT(*) AS n FROM TUMBLE(a, 2) GROUP BY window_end, k;"
    )

    def begin() -> Service:
        return Service(cqc.compile(text), durable=Durable(tmp_path, 500), now=lambda: 1.7e9)

    service = begin()
    service.register("SELECT v.k, w.n FROM v, v w WHERE v.k = w.k MAXWINDOW 3 SEC", "reader")
    for ts in range(20):
        if ts == 6:
            service.unregister("reader")
        push(service, "a", [{"ts": ts, "k": ts % 2, "name": "n" * 40}] * 3)
        service.commit()
    oldest = min(int(file.stem.removeprefix("rows-")) for file in tmp_path.glob("rows-*.log"))
    assert oldest > 10
    seen = face(service)
    service.close()
    again = begin()
    assert face(again) == seen
    again.close()
