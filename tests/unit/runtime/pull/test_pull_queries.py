"""Pull queries through the engine: kept results, windows, retention, periodic answers, lazy and eager maintenance."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

import cqc
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.errors import RunError

STREAMS = """
CREATE STREAM s (ts BIGINT, k BIGINT, x DOUBLE, name STRING, WATERMARK FOR ts AS ts - 20 SECONDS);
CREATE STREAM r (ts BIGINT, k BIGINT);
"""


def engine(queries: str = "", maintenance: str = "auto", settings: str = "") -> cqc.Engine:
    program = cqc.compile(f"{STREAMS}{settings}{queries}")
    return cqc.Engine(program, strategy=Strategy(maintenance=maintenance))


def rows(*times: int, k: int = 1) -> list[dict[str, Any]]:
    return [{"ts": ts, "k": k, "x": ts / 2, "name": f"n{ts}"} for ts in times]


def times(found: Any) -> list[int]:
    return [row["ts"] for row in found.to_pylist()]


def test_the_window_includes_its_ends_unless_told_otherwise() -> None:
    with engine() as running:
        running.push("s", rows(1, 2, 3, 4, 5))
        closed = running.register("SELECT ts FROM s BEGIN 2 END 4")
        opened = running.register("SELECT ts FROM s BEGIN AFTER 2 END BEFORE 4")
        assert times(running.invoke(closed)) == [2, 3, 4]
        assert times(running.invoke(opened)) == [3]


def test_now_is_the_latest_event_time_seen_unless_an_instant_is_named() -> None:
    with engine("CREATE QUERY q AS SELECT ts FROM s BEGIN NOW - 1 END NOW;") as running:
        running.push("s", rows(5, 3, 4))
        assert times(running.invoke("q")) == [4, 5]
        assert times(running.invoke("q", at=3)) == [3]
        assert times(running.invoke("q", at=3.5)) == [3]
        assert times(running.invoke("q", at=99)) == []


def test_instants_of_timestamps_are_datetimes_or_text() -> None:
    text = "CREATE STREAM t (ts TIMESTAMP); CREATE QUERY q AS SELECT ts FROM t BEGIN NOW END NOW;"
    with cqc.Engine(cqc.compile(text)) as running:
        running.push("t", [{"ts": "2024-01-01T00:00:01Z"}, {"ts": "2024-01-01T00:00:02Z"}])
        for at in (datetime(2024, 1, 1, 0, 0, 1, tzinfo=UTC), "2024-01-01 00:00:01"):
            assert running.invoke("q", at=at).num_rows == 1
        with pytest.raises(RunError, match="no instant"):
            running.invoke("q", at="yesterday")


def test_a_query_without_a_window_cannot_be_asked() -> None:
    with (
        engine("CREATE QUERY q AS SELECT ts FROM s;") as running,
        pytest.raises(RunError, match="BEGIN-END"),
    ):
        running.invoke("q")


def test_before_anything_was_seen_there_are_columns_and_no_rows() -> None:
    with engine("CREATE QUERY a AS SELECT ts, x, name FROM s BEGIN 0 END NOW;") as running:
        empty = running.invoke("a")
        assert empty.num_rows == 0
        assert [str(type_) for type_ in empty.schema.types] == ["int64", "double", "string"]
        total = running.register(
            "SELECT COUNT(*) AS n, SUM(x) AS t, MAX(name) AS m FROM s BEGIN 0 END NOW"
        )
        assert running.invoke(total).to_pylist() == [{"n": 0, "t": None, "m": None}]
        grouped = running.register("SELECT k, COUNT(*) AS n FROM s BEGIN 0 END NOW GROUP BY k")
        assert running.invoke(grouped).num_rows == 0


@pytest.mark.parametrize("maintenance", ["eager", "lazy", "auto", "ready"])
@pytest.mark.parametrize("seed", range(2))
def test_any_window_of_disordered_input_is_answered_as_by_recomputing(
    maintenance: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if maintenance == "ready":  # eager, with output columns kept from the first question on
        monkeypatch.setattr("cqc.runtime.adapt.settings.READY_AFTER", -(10**9))
        maintenance = "eager"
    rng = Random(seed)
    queries = """
    CREATE QUERY listed AS SELECT ts, x FROM s WHERE k > 2 BEGIN NOW - 100 END NOW;
    CREATE QUERY totals AS SELECT COUNT(*) AS n, SUM(k) AS t, AVG(x) AS m, MIN(x) AS lo, MAX(k) AS hi
      FROM s BEGIN AFTER NOW - 300 END BEFORE NOW - 3;
    CREATE QUERY groups AS SELECT k, COUNT(*) AS n, SUM(x) AS t, MIN(ts) AS lo FROM s WHERE k <> 3
      BEGIN 50 END NOW GROUP BY k ORDER BY k;
    """
    with engine(queries, maintenance) as running:
        pushed: list[dict[str, Any]] = []
        for _ in range(30):
            latest = max((row["ts"] for row in pushed), default=0)
            count = rng.choice([1, 5, 80])
            batch = rows(*(max(0, latest + rng.randint(-20, 12)) for _ in range(count)))
            for row in batch:
                row["k"] = rng.randrange(6)
            running.push("s", batch)
            pushed += batch
            check_answers(running, pushed, rng.choice([None, latest - rng.randint(0, 200)]))


def check_answers(running: cqc.Engine, pushed: list[dict[str, Any]], at: int | None) -> None:
    now = max(row["ts"] for row in pushed) if at is None else at
    listed = [row for row in pushed if row["k"] > 2 and now - 100 <= row["ts"] <= now]
    found = running.invoke("listed", at=at).to_pylist()
    assert [row["ts"] for row in found] == sorted(row["ts"] for row in listed)
    inside = [row for row in pushed if now - 300 < row["ts"] < now - 3]
    (total,) = running.invoke("totals", at=at).to_pylist()
    assert total["n"] == len(inside)
    if inside:
        assert total["t"] == sum(row["k"] for row in inside)
        assert total["m"] == sum(row["x"] for row in inside) / len(inside)
        assert (total["lo"], total["hi"]) == (
            min(r["x"] for r in inside),
            max(r["k"] for r in inside),
        )
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in pushed:
        if row["k"] != 3 and 50 <= row["ts"] <= now:
            groups.setdefault(row["k"], []).append(row)
    assert running.invoke("groups", at=at).to_pylist() == [
        {"k": k, "n": len(g), "t": sum(r["x"] for r in g), "lo": min(r["ts"] for r in g)}
        for k, g in sorted(groups.items())
    ]


def test_a_sum_does_not_drift_while_its_window_slides() -> None:
    query = "CREATE QUERY q AS SELECT SUM(x) AS t FROM s BEGIN AFTER NOW - 2 END NOW;"
    with engine(query, "eager") as running:
        running.push("s", [{"ts": 0, "k": 0, "x": 1e17}])
        for ts in range(1, 40):
            running.push("s", [{"ts": ts, "k": 0, "x": 0.1}])
        assert running.invoke("q").to_pylist() == [{"t": 0.2}]


def test_joins_keep_combinations_with_all_tuples_inside() -> None:
    query = "CREATE QUERY q AS SELECT s.ts AS a, r.ts AS b FROM s, r WHERE s.k = r.k BEGIN NOW - 4 END NOW;"
    with engine(query) as running:
        running.push("s", rows(1, 5, 9))
        running.push("r", [{"ts": ts, "k": 1} for ts in (2, 6, 8)])
        pairs = {(row["a"], row["b"]) for row in running.invoke("q").to_pylist()}
        assert pairs == {(5, 6), (5, 8), (9, 6), (9, 8)}
        pairs = {(row["a"], row["b"]) for row in running.invoke("q", at=6).to_pylist()}
        assert pairs == {(5, 2), (5, 6)}


def test_aggregates_of_joins_with_a_cut_window_count_what_is_inside() -> None:
    query = "CREATE QUERY q AS SELECT COUNT(*) AS n, MAX(r.ts) AS m FROM s, r BEGIN 0 END NOW EVERY 1 SEC;"
    with engine(query) as running:
        running.push_batch({"s": rows(0, 1, 2), "r": [{"ts": ts, "k": 1} for ts in (0, 1, 2)]})
        running.finish()
        found = [(result.at, result.row["n"], result.row["m"]) for result in running.drain()]
        assert found == [(0, 1, 0), (1, 4, 1), (2, 9, 2)]


def test_rows_means_the_last_tuples_of_the_stream_inside_the_end() -> None:
    with engine() as running:
        running.push("s", [*rows(1, 2, k=1), *rows(3, k=2), *rows(4, 4, k=1)])
        query = running.register("SELECT ts FROM s [ROWS 3] WHERE k = 1 BEGIN 0 END NOW")
        assert times(running.invoke(query)) == [4, 4]
        assert times(running.invoke(query, at=3)) == [1, 2]
        none = running.register(
            "SELECT COUNT(*) AS n FROM s [ROWS 2] WHERE k = 1 BEGIN 0 END BEFORE NOW"
        )
        assert running.invoke(none).to_pylist() == [{"n": 1}]


def test_a_query_registered_late_answers_over_the_past() -> None:
    with engine() as running:
        running.push("s", rows(1, 2, 3))
        running.push("r", [{"ts": 2, "k": 1}])
        joined = running.register("SELECT s.ts AS ts FROM s, r WHERE s.k = r.k BEGIN 2 END NOW")
        counted = running.register("SELECT COUNT(*) AS n FROM s BEGIN 2 END NOW")
        running.push("s", rows(4))
        assert sorted(times(running.invoke(joined))) == [2, 3, 4]
        assert running.invoke(counted).to_pylist() == [{"n": 3}]


def test_push_and_pull_queries_of_one_body_do_not_mix() -> None:
    with engine(
        "CREATE QUERY push AS SELECT ts FROM s; CREATE QUERY pull AS SELECT ts FROM s BEGIN 0 END NOW;"
    ) as running:
        running.push("s", rows(1, 2))
        assert [(result.query, result.row["ts"]) for result in running.drain()] == [
            ("push", 1),
            ("push", 2),
        ]
        assert times(running.invoke("pull")) == [1, 2]


def test_retention_is_a_bound_and_says_so() -> None:
    query = "CREATE QUERY q AS SELECT ts FROM s BEGIN 0 END NOW;"
    with engine(query, settings="SET RETENTION = 10 SECONDS;") as running:
        running.push("s", rows(5, 12))
        assert times(running.invoke("q")) == [5, 12]
        assert running.warnings == ()
        running.push("s", rows(17))
        assert times(running.invoke("q")) == [12, 17]
        running.invoke("q")
        (warning,) = running.warnings
        assert "history is kept from 7 on" in warning


def test_periodic_queries_look_back_as_far_as_the_retention_however_input_is_cut() -> None:
    query = "CREATE QUERY q AS SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW EVERY 10 SEC;"
    found = []
    for size in (1, 100):
        with engine(query, settings="SET RETENTION = 15 SECONDS;") as running:
            given = rows(*range(1, 61))
            for start in range(0, len(given), size):
                running.push("s", given[start : start + size])
            running.finish()
            found.append([(result.at, result.row["n"]) for result in running.drain()])
    assert found[0] == found[1] == [(10, 10), (20, 16), (30, 16), (40, 16), (50, 16), (60, 16)]


def test_a_periodic_query_that_comes_late_says_where_its_history_begins() -> None:
    with engine("", settings="SET RETENTION = 5 SECONDS;") as running:
        for second in range(20):
            running.push("s", rows(second))
        running.register("SELECT COUNT(*) AS n FROM s BEGIN AFTER NOW - 2 END NOW EVERY 2 SEC")
        running.finish()
        found = [(result.at, result.row["n"]) for result in running.drain()]
        assert found == [(14, 1), (16, 2), (18, 2)]
        (warning,) = running.warnings
        assert "history is kept from 14 on" in warning


def test_what_retention_forgets_is_freed() -> None:
    query = "CREATE QUERY q AS SELECT k, COUNT(*) AS n FROM s BEGIN NOW - 5 END NOW GROUP BY k;"
    with engine(query, "eager", settings="SET RETENTION = 50 SECONDS;") as running:
        for start in range(0, 4000, 10):
            running.push("s", rows(*range(start, start + 10), k=start % 7))
            assert sum(row["n"] for row in running.invoke("q").to_pylist()) == 6
        assert len(running.states["s"]) < 200


def test_many_periods_over_one_stream_answer_as_each_would_alone() -> None:
    clauses = [
        f"SELECT COUNT(*) AS n, SUM(x) AS t FROM s BEGIN AFTER NOW - {length} END NOW EVERY {every} SEC"
        for every, length in ((1, 3), (2, 2), (3, 10), (7, 5), (10, 100))
    ]
    data = rows(*sorted(Random(3).choices(range(60), k=200)))

    def answers(queries: list[str], size: int) -> Counter[tuple[Any, ...]]:
        found: Counter[tuple[Any, ...]] = Counter()
        text = ";".join(f"CREATE QUERY n{clauses.index(query)} AS {query}" for query in queries)
        with engine(f"{text};") as running:
            for start in range(0, len(data), size):
                running.push("s", data[start : start + size])
            running.finish()
            for result in running.drain():
                found[result.query, result.at, *result.row.values()] += 1
        return found

    together = answers(clauses, 17)
    apart = sum((answers([clause], 200) for clause in clauses), Counter())
    assert together == apart


def test_a_periodic_query_that_leaves_is_not_asked_again() -> None:
    with engine(
        "CREATE QUERY q AS SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW EVERY 1 SEC;"
    ) as running:
        running.push("s", rows(1))
        running.unregister("q")
        running.push("s", rows(99))
        running.finish()
        assert list(running.drain()) == []


def test_what_nobody_asks_for_turns_lazy_and_back() -> None:
    query = "CREATE QUERY q AS SELECT ts FROM s WHERE k = 1 BEGIN NOW - 5 END NOW;"
    with engine(query) as running:
        (kept,) = running._pulls.kept.bodies.values()
        running.push("s", rows(*range(10)))
        kept.turn_lazy()
        running.push("s", rows(*range(10, 20)))
        assert times(running.invoke("q")) == list(range(14, 20))
        assert kept.history is None
        for _ in range(10):
            assert times(running.invoke("q")) == list(range(14, 20))
        assert kept.history is not None
        running.push("s", rows(20))
        assert times(running.invoke("q", at=17)) == list(range(12, 18))
        assert times(running.invoke("q")) == list(range(15, 21))


def test_results_and_failures_are_counted() -> None:
    query = "CREATE QUERY q AS SELECT SUM(k) AS t FROM s BEGIN 0 END NOW;"
    with engine(query) as running:
        running.push("s", [*rows(1, k=2**62), *rows(2, k=2**62)])
        assert running.invoke("q").to_pylist() == [{"t": None}]
        assert running.failed_evaluations == 1
        running.closing_invocations()
        assert running.result_counts()["q"] == 2


@pytest.mark.parametrize("seed", range(6))
def test_aggregates_of_joins_texts_and_distinct_values_at_any_instant(seed: int) -> None:
    rng = Random(seed)
    program = """
        CREATE STREAM r (ts BIGINT, k BIGINT, t STRING, x DOUBLE, WATERMARK FOR ts AS ts - INTERVAL '30' SECOND);
        CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL '30' SECOND);
        SELECT s.v % 3 AS g, COUNT(*) AS n, MIN(r.t) AS lo, MAX(r.t) AS hi, SUM(r.x) AS total,
               COUNT(DISTINCT r.t) AS texts, SUM(DISTINCT s.v) AS values, MAX(DISTINCT s.v) AS most
        FROM r, s WHERE r.k = s.k BEGIN AFTER NOW - 60 END NOW GROUP BY s.v % 3"""
    running = cqc.Engine(cqc.compile(program))
    left: list[dict[str, Any]] = []
    right: list[dict[str, Any]] = []
    for step in range(8):
        times = [10 * step + rng.randint(-15, 10) for _ in range(24)]
        left += (
            fresh := [
                {
                    "ts": ts,
                    "k": rng.randint(0, 5),
                    "t": rng.choice(["a", "b\u00e9", "z", None]),
                    "x": rng.randint(0, 9) / 10,
                }
                for ts in times[:12]
            ]
        )
        running.push("r", fresh)
        right += (
            others := [
                {"ts": ts, "k": rng.randint(0, 5), "v": rng.choice([1, 2, 5, 8, None])}
                for ts in times[12:]
            ]
        )
        running.push("s", others)
        for at in [None, *(rng.randint(-10, 100) for _ in range(4))]:
            now = max(row["ts"] for row in left + right) if at is None else at
            groups: dict[Any, list[tuple[Any, ...]]] = {}
            for a, b in itertools.product(left, right):
                if a["k"] == b["k"] and all(now - 60 < each["ts"] <= now for each in (a, b)):
                    key = None if b["v"] is None else b["v"] % 3
                    groups.setdefault(key, []).append((a["t"], a["x"], b["v"]))
            expected = {}
            for key, members in groups.items():
                texts = [t for t, _, _ in members if t is not None]
                values = {v for _, _, v in members if v is not None}
                expected[key] = (
                    len(members),
                    min(texts, default=None),
                    max(texts, default=None),
                    pytest.approx(sum(x for _, x, _ in members)),
                    len(set(texts)),
                    sum(values) if values else None,
                    max(values, default=None),
                )
            found = running.invoke("q1", at=at).to_pylist()
            assert {row["g"]: tuple(row.values())[1:] for row in found} == expected
            assert len(found) == len(expected)
