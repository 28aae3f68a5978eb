"""How far a run is, while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.run.batch_run import BatchRun
from cqc.runtime.run.finite_run import LocalRun
from cqc.runtime.run.standing import FilesRead
from cqc.runtime.sources.file_feed import size_of

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.run.standing import Standing

PROGRAM = (
    "CREATE STREAM s (ts TIMESTAMP, x BIGINT) WITH (path = '{}'); SELECT x FROM s WHERE x % 2 = 0;"
)


@pytest.mark.parametrize("kind", [LocalRun, BatchRun])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_run_tells_share_watermark_and_results(
    tmp_path: Path, kind: type[LocalRun], ending: str
) -> None:
    times = [f"2024-01-01T00:{at // 60:02}:{at % 60:02}Z" for at in range(1000)]
    if ending == "csv":
        text = "ts,x\n" + "".join(f"{ts},{at}\n" for at, ts in enumerate(times))
    else:
        text = "".join(f'{{"ts": "{ts}", "x": {at}}}\n' for at, ts in enumerate(times))
    (tmp_path / f"s.{ending}").write_text(text)
    program = cqc.compile(PROGRAM.format(tmp_path / f"s.{ending}"))
    run = kind(program, RunOptions(sink="jsonl", out=str(tmp_path / "out"), rows_per_batch=100))
    seen: list[Standing] = []
    run.to_end(lambda tuples: seen.append(run.standing()))
    run.close()
    assert seen[-1].results == 500
    shares = [each.share or 0.0 for each in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert {each.watermark for each in seen} <= {
        None,
        *(ts.replace("T", " ").rstrip("Z") for ts in times),
    }
    assert all(each.lag_seconds is None for each in seen)  # nothing is followed


def test_what_is_followed_has_a_lag(tmp_path: Path) -> None:
    program = cqc.compile(
        "CREATE STREAM s (ts TIMESTAMP, value BIGINT) WITH (format = 'rate', rows_per_second = '1000', rows = '50');"
        "SELECT value FROM s;"
    )
    run = BatchRun(program, RunOptions(sink="jsonl", out=str(tmp_path / "out")))
    seen: list[Standing] = []
    run.to_end(lambda tuples: seen.append(run.standing()))
    run.close()
    assert seen[0].share is None
    assert any(each.lag_seconds is not None for each in seen)


def test_the_share_is_by_bytes_and_never_goes_back(tmp_path: Path) -> None:
    one, two = tmp_path / "1", tmp_path / "2"
    one.write_bytes(b"x" * 30)
    two.write_bytes(b"x" * 70)
    read = FilesRead()
    assert read.share is None
    read.expect([one, two])
    with one.open("rb") as opened:
        read.begin(one, opened)
        opened.read(15)
        assert read.share == 0.15
        opened.seek(0)
        assert read.share == 0.15
    read.end(one)
    assert read.share == 0.3
    read.end(two)
    assert read.share == 1.0


def test_a_file_that_is_gone_has_no_bytes(tmp_path: Path) -> None:
    assert size_of(tmp_path / "none") == 0
