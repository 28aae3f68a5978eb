"""Answers as Arrow, pandas, Polars and DuckDB have them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import cqc
from cqc.runtime.engine import frames

PROGRAM = """
CREATE STREAM s (ts TIMESTAMP, x BIGINT, t STRING);
CREATE QUERY high AS SELECT x, t FROM s WHERE x > 1;
CREATE QUERY low AS SELECT x FROM s WHERE x <= 1;
CREATE QUERY total AS SELECT SUM(x) AS n FROM s BEGIN TIMESTAMP '2024-01-01' END NOW;
"""
ROWS = [{"ts": f"2024-01-01T00:00:0{x}Z", "x": x, "t": None if x == 2 else "é"} for x in range(4)]
NOON = datetime(2024, 1, 1, tzinfo=UTC)


def records(frame: Any, to: str) -> list[dict[str, Any]]:
    if to == "arrow":
        return frame.to_pylist()
    if to == "pandas":
        return frame.astype(object).where(frame.notna(), None).to_dict("records")
    if to == "polars":
        return frame.to_dicts()
    return frame.to_arrow_table().to_pylist()


@pytest.fixture
def engine() -> cqc.Engine:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    engine.push("s", ROWS[:2])
    engine.push("s", ROWS[2:])
    return engine


@pytest.mark.parametrize("to", frames.FORMS)
def test_drained_results_come_as_a_frame_for_each_query_that_has_some(
    engine: cqc.Engine, to: str
) -> None:
    found = engine.drain(to=to)  # type: ignore[call-overload]
    assert set(found) == {"high", "low"}
    rows = records(found["high"], to)
    assert [(row["x"], row["t"]) for row in rows] == [(2, None), (3, "é")]
    assert [row["ts"].second for row in rows] == [2, 3]
    assert engine.drain(to=to) == {}  # type: ignore[call-overload]


@pytest.mark.parametrize("to", frames.FORMS)
def test_an_invocation_comes_in_the_form_that_is_asked_for(engine: cqc.Engine, to: str) -> None:
    answer = engine.invoke("total", at="2024-01-01T00:00:02Z", to=to)  # type: ignore[arg-type]
    assert records(answer, to) == [{"n": 3}]
    assert type(answer).__module__.partition(".")[0].lstrip("_") in (to, "pyarrow", "duckdb")


@pytest.mark.parametrize("call", ["drain", "invoke"])
def test_a_form_that_is_none_is_named_and_loses_nothing(engine: cqc.Engine, call: str) -> None:
    with pytest.raises(ValueError, match="arrow, pandas, polars or duckdb, not as 'excel'"):
        engine.drain(to="excel") if call == "drain" else engine.invoke("total", to="excel")  # type: ignore[call-overload]
    assert len(list(engine.drain())) == 4


def test_who_lacks_the_package_of_a_form_is_told_what_to_install(
    engine: cqc.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(frames.importlib, "import_module", absent)
    with pytest.raises(cqc.RunError, match="polars is not installed: pip install polars"):
        engine.invoke("total", to="polars")


def test_frames_of_polars_and_arrow_streams_are_pushed() -> None:
    import polars as pl

    engine = cqc.Engine(
        cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT, t STRING); SELECT x, t FROM s")
    )
    frame = pl.DataFrame({"ts": [1, 2], "x": [10, None], "t": ["a", "b"]})
    engine.push("s", frame)
    engine.push("s", frame.with_columns(ts=pl.Series([3, 4])).to_arrow().to_reader())
    assert [result.row for result in engine.drain()] == [
        {"x": 10, "t": "a"},
        {"x": None, "t": "b"},
    ] * 2
