"""Who registers a query with absence over the past is told from when that past is complete."""

from __future__ import annotations

import pytest

import cqc

STREAMS = "CREATE STREAM s (ts TIMESTAMP, k BIGINT); CREATE STREAM t (ts TIMESTAMP, k BIGINT);"
NOT_EXISTS = "SELECT n.k FROM s n WHERE NOT EXISTS (SELECT 1 FROM {} o WHERE o.k = n.k WINDOW {})"


def registered(query: str, *, seen: bool = True) -> tuple[str, ...]:
    engine = cqc.Engine(cqc.compile(STREAMS))
    if seen:
        engine.push("s", [{"ts": "2024-01-01T00:00:00Z", "k": 1}])
        engine.push("t", [{"ts": "2024-01-01T12:00:00Z", "k": 1}])
    handle = engine.register(query, name="q")
    assert engine.warnings == handle.warnings
    engine.unregister(handle)
    assert engine.warnings == ()
    return handle.warnings


@pytest.mark.parametrize(
    ("query", "complete"),
    [
        (NOT_EXISTS.format("s", "o.ts < n.ts AND o.ts >= n.ts - 14 DAYS"), "2024-01-15T00:00:00Z"),
        (NOT_EXISTS.format("t", "o.ts < n.ts AND o.ts >= n.ts - 1 DAYS"), "2024-01-02T12:00:00Z"),
        ("SELECT s.k FROM s LEFT JOIN t ON s.k = t.k MAXWINDOW 12 HOURS", "2024-01-02T00:00:00Z"),
        (
            "SELECT k FROM (SELECT s.k AS k FROM s LEFT JOIN t ON s.k = t.k WHERE t.k IS NULL MAXWINDOW 12 HOURS) AS v",
            "2024-01-02T00:00:00Z",
        ),
    ],
)
def test_the_instant_is_named(query: str, complete: str) -> None:
    (warning,) = registered(query)
    assert f"complete from {complete} on" in warning
    assert registered(query, seen=False) == ()


def test_a_past_without_end_is_never_complete() -> None:
    keys, warning = registered(NOT_EXISTS.format("s", "o.ts < n.ts"))
    assert "keeps a time for every key for ever" in keys
    assert "nothing of what came before 2024-01-01T00:00:00Z" in warning


def test_what_looks_ahead_is_complete() -> None:
    assert registered(NOT_EXISTS.format("t", "o.ts BETWEEN n.ts AND n.ts + 5 SEC")) == ()
