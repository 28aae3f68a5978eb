"""Rows far ahead of their stream wait for company (SET MAX_AHEAD), whatever the micro-batches are."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.intake.far_ahead import COMPANY, MOST_WAITING
from cqc.runtime.options import RunOptions
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.run.finite_run import LocalRun

if TYPE_CHECKING:
    from pathlib import Path

DAY_S = 86_400
DECLARED = "CREATE STREAM s (ts BIGINT, x BIGINT, name STRING, WATERMARK FOR ts AS ts - {delay});"
QUERY = "CREATE QUERY all_of_it AS SELECT x, name FROM s;"


def guarded(most: int | None = 10, delay: int = 10_000_000) -> cqc.Program:
    setting = "" if most is None else f"SET MAX_AHEAD = {most} SEC;"
    return cqc.compile(DECLARED.format(delay=delay) + setting + QUERY)


def rows_of(times: list[int], first: int = 0) -> list[dict[str, object]]:
    return [{"ts": ts, "x": first + at, "name": f"n{ts}"} for at, ts in enumerate(times)]


def expected(times: list[int], most: int) -> tuple[list[int], list[int], list[int]]:
    """What the guard is to decide, said once more: the numbers of rows that count, are rejected, and wait."""
    counts: list[int] = []
    rejected: list[int] = []
    waiting: list[tuple[int, int]] = []  # number of the row, its company
    latest: int | None = None
    for row, ts in enumerate(times):
        if latest is None or ts <= latest + most:
            counts.append(row)
            latest = ts if latest is None else max(latest, ts)
            rejected += [each for each, _ in waiting if times[each] <= latest + most]
            waiting = [each for each in waiting if times[each[0]] > latest + most]
            continue
        waiting = [(each, had + (abs(ts - times[each]) <= most)) for each, had in waiting]
        waiting.append((row, 0))
        confirmed = next((each for each, had in waiting if had >= COMPANY), None)
        if confirmed is None:
            if len(waiting) > MOST_WAITING:
                rejected.append(waiting.pop(0)[0])
            continue
        latest = times[confirmed]
        while within := [each for each in waiting if times[each[0]] <= latest + most]:
            for each in list(waiting):
                if times[each[0]] <= latest + most:
                    waiting.remove(each)
                    if times[each[0]] < times[confirmed] - most:
                        rejected.append(each[0])
                    else:
                        counts.append(each[0])
                        latest = max(latest, times[each[0]])
            del within
    return counts, rejected, [each for each, _ in waiting]


def random_times(chance: random.Random) -> list[int]:
    """Times that mostly go on, with strays far ahead, pauses and rows out of order."""
    times, at = [], 0
    for _ in range(chance.choice([5, 60, 400])):
        what = chance.random()
        if what < 0.03:
            at += chance.choice([11, 25, 1000])
        at += chance.randint(0, 2)
        stray = chance.choice([11, 12, 20, 30, 500, 501, 100_000]) if what > 0.8 else 0
        times.append(at + stray - (chance.randint(0, 5) if what > 0.5 else 0))
    return times


@pytest.mark.parametrize("seed", range(40))
def test_what_waits_counts_and_is_rejected_depends_on_the_order_of_the_rows_alone(
    seed: int,
) -> None:
    chance = random.Random(seed)
    times = random_times(chance)
    counts, rejected, waiting = expected(times, 10)
    for size in (1, 7, 1000):
        engine = cqc.Engine(guarded())
        rows, left = rows_of(times), []
        engine.on_left_out(lambda _, rejects, left=left: left.extend(rejects), None)  # type: ignore[misc]
        for start in range(0, len(rows), size):
            engine.push("s", rows[start : start + size])
        found = [result.row["x"] for result in engine.drain()]
        assert sorted(found) == sorted(counts)
        count = engine.stream_counts()["s"]
        assert (count.read, count.late) == (len(times), 0)
        assert (count.rejected, count.waiting) == (len(rejected), len(waiting))
        engine.finish()
        count = engine.stream_counts()["s"]
        assert count.waiting == 0
        assert sorted(reject.row["x"] for reject in left) == sorted(rejected + waiting)
        assert set(count.reasons) <= {"ts is more than 10 s ahead of s"}


def test_a_stray_row_makes_no_honest_row_late_and_discards_no_history() -> None:
    engine = cqc.Engine(
        cqc.compile(
            "CREATE STREAM s (ts TIMESTAMP, x BIGINT); SET MAX_AHEAD = 1 DAY; SET RETENTION = 1 HOUR;"
            "CREATE QUERY n AS SELECT COUNT(*) AS n FROM s BEGIN NOW - 1 HOUR END NOW;"
        )
    )
    engine.push("s", [{"ts": f"2024-01-01T00:00:{at:02}Z", "x": at} for at in range(30)])
    engine.push("s", [{"ts": "2094-01-01T00:00:00Z", "x": -1}])
    engine.push("s", [{"ts": f"2024-01-01T00:01:{at:02}Z", "x": at} for at in range(30)])
    count = engine.stream_counts()["s"]
    assert (count.read, count.late, count.waiting) == (61, 0, 1)
    assert engine.invoke("n").to_pylist() == [{"n": 60}]
    engine.finish()
    reasons = engine.stream_counts()["s"].reasons
    assert dict(reasons) == {"ts is more than 1 d ahead of s": 1}


def test_a_stream_goes_on_after_a_real_pause() -> None:
    engine = cqc.Engine(guarded(most=100, delay=0))
    engine.push("s", rows_of([1, 2, 3]))
    engine.push("s", rows_of(list(range(1000, 1000 + COMPANY)), first=10))
    assert [result.row["x"] for result in engine.drain()] == [0, 1, 2]
    engine.push("s", rows_of([1005], first=99))
    found = sorted(result.row["x"] for result in engine.drain())
    assert found == [*range(10, 10 + COMPANY), 99]
    engine.push("s", rows_of([1020], first=100))
    count = engine.stream_counts()["s"]
    assert (count.read, count.late, count.rejected, count.waiting) == (COMPANY + 5, 0, 0, 0)


def test_without_the_setting_or_with_0_nothing_waits() -> None:
    for most in (None, 0):
        engine = cqc.Engine(guarded(most))
        engine.push("s", rows_of([1, 10**9, 2]))
        count = engine.stream_counts()["s"]
        assert (count.waiting, count.late, count.rejected) == (0, 0, 0)


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_wait_are_kept_across_restarts(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    times = random_times(chance)[:60]
    lines = "".join(f"{ts},{at},n{at}\n" for at, ts in enumerate(times))
    (tmp_path / "s.csv").write_text(f"ts,x,name\n{lines}")
    program = guarded()
    options = RunOptions(
        binds={"s": str(tmp_path / "s.csv")},
        out=str(tmp_path / "out.jsonl"),
        rejects=str(tmp_path / "rejects.jsonl"),
        rows_per_batch=chance.choice([3, 50]),
        checkpoint=str(tmp_path / "state"),
    )
    while True:
        run = DurableRun(program, options)
        run.read_tables()
        ranges = run.next_ranges()
        if ranges:
            run.process(ranges)
            run._planner.close()
            run._close_sink()
            run._left_out.close()
        else:
            run.end_of_input()
            break
    count = run.close().streams["s"]
    counts, rejected, waiting = expected(times, 10)
    out = (tmp_path / "out.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["row"]["x"] for line in out) == sorted(counts)
    left = [json.loads(line) for line in (tmp_path / "rejects.jsonl").read_text().splitlines()]
    assert sorted(each["row"]["x"] for each in left) == sorted(rejected + waiting)
    assert (count.read, count.rejected) == (len(times), len(rejected + waiting))


def test_rows_that_waited_are_rejected_when_the_guard_is_gone_at_a_restart(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,x,name\n1,1,a\n500,2,b\n2,3,c\n")
    options = RunOptions(
        binds={"s": str(tmp_path / "s.csv")},
        out=str(tmp_path / "out.jsonl"),
        rejects=str(tmp_path / "rejects.jsonl"),
        follow=True,
        checkpoint=str(tmp_path / "state"),
    )
    run = DurableRun(guarded(), options)
    run.read_tables()
    run.process(run.next_ranges())
    assert run.close().streams["s"].waiting == 1
    run = DurableRun(guarded(None), options)
    run.read_tables()
    count = run.close().streams["s"]
    assert (count.read, count.rejected, count.waiting) == (3, 1, 0)
    assert json.loads((tmp_path / "rejects.jsonl").read_text())["row"]["x"] == 2


def test_strict_ends_a_run_with_a_stray_row(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,x,name\n1,1,a\n500,2,b\n2,3,c\n")
    options = RunOptions(
        binds={"s": str(tmp_path / "s.csv")}, out=str(tmp_path / "out"), strict=True
    )
    run = LocalRun(guarded(), options)
    with pytest.raises(RunError, match=r"rejected \(--strict\): ts is more than 10 s ahead of s"):
        run.to_end()
    run.abandon()
