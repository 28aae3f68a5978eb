"""What waits when a run is killed goes on waiting: windows, absence, views, alerts, times per key, and results for sinks.

Each micro-batch in turn is the last before the end; and a flipped bit in any file gives the right answer or one sentence.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.durable.durable_run import DurableRun

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
CREATE STREAM a (ts BIGINT, k BIGINT, x DOUBLE, name STRING);
CREATE STREAM b (ts BIGINT, k BIGINT);
CREATE SINK kept WITH (type = 'file', path = 'kept.jsonl');
CREATE VIEW per_five AS SELECT k, window_end AS ended, SUM(x) AS total FROM TUMBLE(a, 5) GROUP BY window_end, k;
CREATE VIEW high AS SELECT ts, k, x FROM a WHERE x > 3;
CREATE QUERY hopped AS SELECT window_end, COUNT(*) AS n FROM HOP(a, 3, 9) GROUP BY window_end;
CREATE QUERY gaps INTO kept AS SELECT k, window_start, COUNT(*) AS n FROM SESSION(a PARTITION BY k, 4) GROUP BY window_end, k;
CREATE QUERY before AS SELECT ts, k, x, LAG(x) OVER (PARTITION BY k ORDER BY ts) AS earlier FROM a;
CREATE QUERY unanswered AS SELECT a.ts, a.k FROM a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 6 WHERE b.ts IS NULL;
CREATE QUERY first_seen INTO kept AS SELECT a.ts, a.k FROM a WHERE NOT EXISTS (SELECT 1 FROM a o WHERE o.k = a.k WINDOW o.ts < a.ts);
CREATE QUERY of_views AS SELECT h.k, p.total FROM high h, per_five p WHERE h.k = p.k MAXWINDOW 8 SEC;
CREATE ALERT hot SEVERITY 'critical' INTO kept AS SELECT k, x FROM a WHERE x > 4 PER k FOR 3 SECONDS KEEP FIRING 2 SECONDS
    NO DATA AFTER 7 SECONDS;
"""
ROWS, BATCH = 60, 10


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rng = random.Random(11)
    a = [f"{ts},{rng.randrange(4)},{rng.randrange(14) / 2},n{ts}" for ts in range(ROWS)]
    b = [f"{ts},{rng.randrange(6)}" for ts in range(ROWS)]
    (tmp_path / "a.csv").write_text("ts,k,x,name\n" + "\n".join(a) + "\n")
    (tmp_path / "b.csv").write_text("ts,k\n" + "\n".join(b) + "\n")
    return tmp_path


def a_run(place: Path, work: Path) -> DurableRun:
    text = PROGRAM.replace("kept.jsonl", str(work / "kept.jsonl"))
    options = RunOptions(
        binds={name: str(place / f"{name}.csv") for name in "ab"},
        out=str(work / "out.jsonl"),
        rows_per_batch=BATCH,
        checkpoint=str(work / "checkpoint"),
    )
    return DurableRun(cqc.compile(text), options)


def ends(place: Path, work: Path) -> None:
    run = a_run(place, work)
    try:
        run.to_end()
    finally:
        run.close()


def stops_after(place: Path, work: Path, batches: int) -> None:
    work.mkdir()
    run = a_run(place, work)
    run.read_tables()
    for _ in range(batches):
        run.process(run.next_ranges())
    run.close()


def results(work: Path) -> Counter[str]:
    """What came out; the ids of results in a sink are those of their checkpoint's run."""
    found: Counter[str] = Counter((work / "out.jsonl").read_text().splitlines())
    for line in (work / "kept.jsonl").read_text().splitlines():
        found[json.dumps({key: part for key, part in json.loads(line).items() if key != "id"})] += 1
    return found


def undisturbed(place: Path) -> Counter[str]:
    (place / "whole").mkdir()
    ends(place, place / "whole")
    found = results(place / "whole")
    named = {json.loads(line)["query"] for line in found}
    assert len(named) == 7, named
    return found


def test_a_run_that_stops_after_any_micro_batch_goes_on(place: Path) -> None:
    expected = undisturbed(place)
    for batches in range(1, 2 * ROWS // BATCH):
        work = place / f"stopped{batches}"
        stops_after(place, work, batches)
        ends(place, work)
        assert results(work) == expected, batches


def damage_every_file(place: Path, batches: int, count: int) -> Counter[str]:
    """Flip bits in each file of a checkpoint in turn; how often that was repaired, and refused."""
    expected = undisturbed(place)
    work, copy = place / "work", place / "copy"
    stops_after(place, work, batches)
    shutil.copytree(work, copy)
    chooser = random.Random(5)
    outcomes: Counter[str] = Counter()
    files = sorted(each for each in (copy / "checkpoint").rglob("*") if each.is_file())
    for kept in files:
        size = kept.stat().st_size
        if kept.name == "lock" or not size:
            continue
        for at in {0, size - 1, *(chooser.randrange(size) for _ in range(count))}:
            restore(copy, work)
            damaged = work / kept.relative_to(copy)
            data = bytearray(damaged.read_bytes())
            data[at] ^= 1 << chooser.randrange(8)
            damaged.write_bytes(data)
            sentence = refusal(place, work)
            if sentence is None:
                assert results(work) == expected, (damaged, at)
                outcomes["right"] += 1
            else:
                assert str(damaged) in sentence, (damaged, at, sentence)
                assert "\n" not in sentence
                outcomes["refused"] += 1
    return outcomes


def refusal(place: Path, work: Path) -> str | None:
    """Why a run does not start; None when it came to its end."""
    try:
        ends(place, work)
    except RunError as error:
        return str(error)
    return None


def restore(copy: Path, work: Path) -> None:
    """Everything as it was; outputs in place, since a file is known by its inode."""
    shutil.rmtree(work / "checkpoint")
    shutil.copytree(copy / "checkpoint", work / "checkpoint")
    for name in ("out.jsonl", "kept.jsonl"):
        if (copy / name).exists():
            (work / name).write_bytes((copy / name).read_bytes())


def test_a_flipped_bit_is_repaired_or_refused(place: Path) -> None:
    outcomes = damage_every_file(place, batches=5, count=0)
    assert outcomes["refused"]
    assert outcomes["right"]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("batches", [1, 4, 9])
def test_a_flipped_bit_anywhere_is_repaired_or_refused(place: Path, batches: int) -> None:
    assert damage_every_file(place, batches, count=6).total()
