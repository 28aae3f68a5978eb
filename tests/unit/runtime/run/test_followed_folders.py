"""Files that come while a run follows its folders: each is read once, whichever stream is behind, and after every kill."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from pathlib import Path

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run import input_plan as plan
from cqc.runtime.run.batch_run import BatchRun
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.serve.source_feed import SourceFeed

STREAMS = "abc"
PROGRAM = "".join(
    f"CREATE STREAM {name} (ts BIGINT, x BIGINT) WITH (format = 'csv', path = '{name}/');"
    f"CREATE QUERY all_of_{name} AS SELECT x FROM {name};"
    for name in STREAMS
)
SETTLED_S = 1_700_000_000  # long ago: nobody writes to a file any more that was touched then


def put(folder: Path, name: str, first: int, rows: int, header: str = "ts,x") -> None:
    """Move a settled file of rows `first`, `first + 1`, ... into a folder that somebody may be watching."""
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f".{name}"
    lines = "".join(f"{number},{number}\n" for number in range(first, first + rows))
    aside.write_text(f"{header}\n{lines}")
    os.utime(aside, (SETTLED_S, SETTLED_S))
    aside.replace(folder / name)


def options_of(place: Path, **more: object) -> RunOptions:
    return RunOptions(
        binds={name: str(place / name) for name in STREAMS if (place / name).exists()},
        out=str(place / "out.jsonl"),
        follow=True,
        **more,  # type: ignore[arg-type]
    )


def step(run: BatchRun) -> bool:
    ranges = run.next_ranges()
    if ranges:
        run.process(ranges)
    return bool(ranges)


def kill(run: DurableRun) -> None:
    """Leave what a killed process leaves: open files are gone, and nothing more was written."""
    run._planner.close()
    run._close_sink()


def found(place: Path) -> Counter[tuple[str, int]]:
    rows = [json.loads(line) for line in (place / "out.jsonl").read_text().splitlines()]
    return Counter((row["query"].removeprefix("all_of_"), row["row"]["x"]) for row in rows)


def two_streams(place: Path) -> None:
    put(place / "a", "0.csv", 60, 1)
    put(place / "b", "0.csv", 1, 1)
    (place / "c").mkdir()


def test_files_of_a_stream_wait_while_another_one_is_behind(tmp_path: Path) -> None:
    two_streams(tmp_path)
    run = BatchRun(cqc.compile(PROGRAM), options_of(tmp_path))
    while step(run):
        pass
    put(tmp_path / "b", "1.csv", 2, 50)
    put(tmp_path / "a", "1.csv", 61, 30)
    while step(run):
        pass
    counts = run.close().streams
    assert [(counts[name].read, counts[name].late) for name in "ab"] == [(31, 0), (51, 0)]


def test_files_that_were_listed_and_not_read_are_read_after_a_restart(tmp_path: Path) -> None:
    two_streams(tmp_path)
    options = options_of(tmp_path, checkpoint=str(tmp_path / "state"), rows_per_batch=10)
    run = DurableRun(cqc.compile(PROGRAM), options)
    run.read_tables()
    while step(run):
        pass
    put(tmp_path / "b", "1.csv", 2, 50)
    put(tmp_path / "a", "1.csv", 61, 30)
    step(run)  # of b, which is behind; the files of a are listed by now
    kill(run)
    put(tmp_path / "a", "2.csv", 91, 5)
    again = DurableRun(cqc.compile(PROGRAM), options)
    again.read_tables()
    while step(again):
        pass
    counts = again.close().streams
    assert [(counts[name].read, counts[name].late) for name in "ab"] == [(36, 0), (51, 0)]
    assert set(found(tmp_path).values()) == {1}


@pytest.mark.parametrize("seed", range(12))
def test_whatever_comes_in_any_order_is_read_once_through_any_kills(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    program = cqc.compile(PROGRAM)
    # Each stream has times of its own, so that one or the other is far behind now and then.
    heads = {name: chance.choice([0, 1_000, 1_000_000]) for name in STREAMS}
    for name in STREAMS:
        (tmp_path / name).mkdir()
    options = options_of(
        tmp_path, checkpoint=str(tmp_path / "state"), rows_per_batch=chance.choice([7, 40, None])
    )
    expected: Counter[tuple[str, int]] = Counter()
    numbers = dict.fromkeys(STREAMS, 0)
    run: DurableRun | None = None
    for _ in range(40):
        if run is None:
            run = DurableRun(program, options)
            run.read_tables()
        match chance.choice(["file", "file", "step", "step", "kill", "kill between"]):
            case "file":
                name, rows = chance.choice(STREAMS), chance.randint(0, 30)
                put(tmp_path / name, f"{numbers[name]:04d}.csv", heads[name], rows)
                expected.update((name, heads[name] + row) for row in range(rows))
                heads[name] += rows + chance.choice([0, 0, 500])
                numbers[name] += 1
            case "step":
                step(run)
            case "kill":
                kill(run)
                run = None
            case _:
                run.next_ranges()  # handed out, and never read
                kill(run)
                run = None
    if run is None:
        run = DurableRun(program, options)
        run.read_tables()
    while step(run):
        pass
    counts = run.close().streams
    assert found(tmp_path) == expected
    assert all(count.late == 0 for count in counts.values())
    assert sum(count.read for count in counts.values()) == sum(expected.values())


def test_one_file_that_cannot_be_read_takes_no_other_with_it(tmp_path: Path) -> None:
    put(tmp_path / "a", "0.csv", 1, 3)
    put(tmp_path / "a", "1.csv", 4, 3, header="ts,y")
    put(tmp_path / "a", "2.csv", 7, 3)
    put(tmp_path / "b", "0.csv", 1, 3)
    catalog = cqc.compile(PROGRAM).catalog
    (tmp_path / "c").mkdir()
    source = SourceFeed(catalog, {name: str(tmp_path / name) for name in STREAMS})
    batch = source.next_batch()
    assert batch is not None
    assert {name: taken.ts_us.tolist() for name, taken in batch.rows.items()} == {
        "a": [number * 1_000_000 for number in (1, 2, 3, 7, 8, 9)],
        "b": [number * 1_000_000 for number in (1, 2, 3)],
    }
    assert sorted(Path(part.path).name for part in batch.ranges) == ["0.csv", "0.csv", "2.csv"]
    with pytest.raises(RunError, match=r"1\.csv.*x"):
        source.next_batch()
    assert source.next_batch() is None
    put(tmp_path / "a", "1.csv", 14, 4)
    batch = source.next_batch()
    assert batch is not None
    assert batch.rows["a"].ts_us.tolist() == [number * 1_000_000 for number in range(14, 18)]
    source.close()


def test_a_feed_that_fails_loses_nothing_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "BYTES_PER_BATCH", 1)
    relations = cqc.compile(PROGRAM).catalog.relations
    put(tmp_path / "a", "0.csv", 1, 1)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "0.parquet").write_bytes(b"no parquet")
    os.utime(tmp_path / "b" / "0.parquet", (SETTLED_S, SETTLED_S))
    put(tmp_path / "b", "1.csv", 1, 1)
    places = {name: (relations[name], tmp_path / name) for name in "ab"}
    planner = plan.Planner(places, follow=True)
    assert [part.stream for part in planner.next_batch({})] == ["a"]
    with pytest.raises(RunError, match="as Parquet"):
        planner.next_batch({})
    assert [part.stream for part in planner.next_batch({})] == ["b"]
    assert planner.next_batch({}) == []
    planner.close()
