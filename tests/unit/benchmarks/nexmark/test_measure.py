"""A measurement says how many events and results there were; peers have as many results as the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.benchmarks.engine.nexmark.generate import generate
from cqc.benchmarks.engine.nexmark.measure import measure_duckdb, measure_engine, measure_polars

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = 10_000


@pytest.mark.parametrize("source", ["arrow", "parquet"])
def test_the_engine_is_measured_from_memory_and_from_files(source: str) -> None:
    found = measure_engine(source, EVENTS, 1, ["q2"])
    assert found["events"] == EVENTS
    assert found["results"] == measure_duckdb(EVENTS, "q2")["results"] > 0


@pytest.mark.parametrize("name", ["q3", "q4", "q7", "q9", "q12", "q17", "q18", "q19", "q20"])
def test_polars_has_as_many_results(name: str) -> None:
    assert measure_polars(EVENTS, name)["results"] == measure_duckdb(EVENTS, name)["results"] > 0


def test_the_events_are_written_as_the_examples_read_them(tmp_path: Path) -> None:
    written = generate(1_000, tmp_path / "data")
    assert {each.name for each in written} == {
        "person.parquet",
        "auction.parquet",
        "bid.parquet",
        "side_input.parquet",
    }
