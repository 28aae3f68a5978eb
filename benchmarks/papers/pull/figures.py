"""The measurements, one function for each figure or table of the paper's section 5, and the aggregates it lacks.

Times are CPU time of the one thread that works. As in the paper, the whole set of queries is asked at different points in
time; the contestants take turns, and the median round of each counts.
"""

from __future__ import annotations

import math
from random import Random
from statistics import median
from time import process_time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.benchmarks.papers.pull.contestants import (
    Contestant,
    CqcContestant,
    DuckContestant,
    NumpyContestant,
    engine_with,
    feed,
)
from cqc.benchmarks.papers.pull.workload import (
    equalities,
    inequality_join,
    intervals,
    selection,
    tuples,
    window,
)
from cqc.runtime.metrics.operators import HistoryMetrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    import cqc

Row = dict[str, float]
_QUERIES = 16
_INSTANTS = 4
_DUCK_WINDOW = "AND ts > $begin AND ts <= $end"
_DUCK_JOIN_WINDOW = "AND r.ts > $begin AND r.ts <= $end AND s.ts > $begin AND s.ts <= $end"


def selections_by_window(kind: str, sizes: Sequence[int], repeats: int) -> list[Row]:
    """Figure 7: response time of selections against the window's size."""
    condition = equalities if kind == "equality" else intervals
    rng = Random(7)
    conditions = [condition(rng, 1 + at % 4) for at in range(_QUERIES)]
    streams = {"r": tuples(2 * max(sizes), seed=7)}
    return [
        _selection_row(conditions, size, streams, repeats, {"window": float(size)})
        for size in sizes
    ]


def selections_by_predicates(counts: Sequence[int], size: int, repeats: int) -> list[Row]:
    """Table 2: response time against the number of interval predicates."""
    streams = {"r": tuples(2 * size, seed=8)}
    rows = []
    for count in counts:
        rng = Random(count)
        conditions = [intervals(rng, count) for _ in range(_QUERIES)]
        rows.append(
            _selection_row(conditions, size, streams, repeats, {"predicates": float(count)})
        )
    return rows


def _selection_row(
    conditions: Sequence[str], size: int, streams: dict[str, pa.Table], repeats: int, row: Row
) -> Row:
    kept = [selection(condition, window(size)) for condition in conditions]
    plain = [selection(condition, _DUCK_WINDOW) for condition in conditions]
    contestants = [
        *_contestants(kept, plain, streams, size),
        NumpyContestant(conditions, streams, size),
    ]
    return row | _response_times(contestants, streams, size, repeats)


def joins_by_window(sizes: Sequence[int], repeats: int) -> list[Row]:
    """Figure 8: response time of two-stream inequality joins against the window's size (tuples of each stream)."""
    rows = []
    for size in sizes:
        streams = {"r": tuples(2 * size, seed=1), "s": tuples(2 * size, seed=2)}
        kept = [inequality_join(Random(at), window(size)) for at in range(8)]
        plain = [inequality_join(Random(at), _DUCK_JOIN_WINDOW) for at in range(8)]
        contestants: list[Contestant] = [
            CqcContestant("kept", "eager", kept, streams),
            DuckContestant(plain, streams, size),
        ]
        rows.append({"window": float(size)} | _response_times(contestants, streams, size, repeats))
    return rows


def aggregates_by_window(sizes: Sequence[int], repeats: int) -> list[Row]:
    """Five aggregates over a window, against its size."""
    chosen = "COUNT(*) AS n, SUM(x) AS t, AVG(x) AS m, MIN(a) AS lo, MAX(a) AS hi"
    return _aggregate_rows(f"SELECT {chosen} FROM r", "", sizes, repeats)


def groups_by_window(sizes: Sequence[int], repeats: int) -> list[Row]:
    """The same for each of sixteen groups."""
    chosen = "a % 16 AS g, COUNT(*) AS n, SUM(x) AS t, AVG(x) AS m"
    return _aggregate_rows(f"SELECT {chosen} FROM r", "GROUP BY a % 16", sizes, repeats)


def distinct_by_window(sizes: Sequence[int], repeats: int) -> list[Row]:
    """Aggregates over distinct values."""
    chosen = "COUNT(DISTINCT a) AS n, SUM(DISTINCT b) AS t, MIN(x) AS lo, MAX(x) AS hi"
    return _aggregate_rows(f"SELECT {chosen} FROM r", "", sizes, repeats)


def _aggregate_rows(select: str, group: str, sizes: Sequence[int], repeats: int) -> list[Row]:
    streams = {"r": tuples(max(sizes) + max(sizes) // 8, seed=9)}
    rows = []
    for size in sizes:
        kept = [f"{select} {window(size)} {group}".strip()] * 8
        plain = [f"{select} WHERE ts > $begin AND ts <= $end {group}".strip()] * 8
        contestants = _contestants(kept, plain, streams, size)
        rows.append({"window": float(size)} | _response_times(contestants, streams, size, repeats))
    return rows


def _contestants(
    kept: Sequence[str], plain: Sequence[str], streams: dict[str, pa.Table], size: int
) -> list[Contestant]:
    return [
        CqcContestant("kept", "eager", kept, streams),
        CqcContestant("NoMat", "lazy", kept, streams),
        DuckContestant(plain, streams, size),
    ]


def _response_times(
    contestants: Sequence[Contestant], streams: dict[str, pa.Table], size: int, repeats: int
) -> Row:
    """Seconds a query of each contestant, and the mean number of rows; their answers must agree in size."""
    latest = len(streams["r"]) - 1
    queries = range(len(contestants[0].queries))
    counts = [[each.ask(query, latest).num_rows for query in queries] for each in contestants]
    if any(count != counts[0] for count in counts):
        raise AssertionError(f"the contestants disagree: {counts}")
    seconds: dict[str, list[float]] = {each.name: [] for each in contestants}
    for _ in range(repeats):
        for each in contestants:
            started = process_time()
            for back in range(_INSTANTS):
                for query in queries:
                    each.ask(query, latest - back * size // 64)
            asked = _INSTANTS * len(queries)
            seconds[each.name].append((process_time() - started) / asked)
    times = {name: median(values) for name, values in seconds.items()}
    return times | {"rows": float(np.mean(counts[0]))}


def arrival_rates(counts: Sequence[int], tuple_count: int, most_unshared: int) -> list[Row]:
    """Figure 9: tuples a second against the number of standing interval selections."""
    streams = {"r": tuples(tuple_count, seed=11)}
    rows = []
    for count in counts:
        rng = Random(count)
        conditions = [intervals(rng, 1 + at % 4) for at in range(count)]
        pulls = [selection(condition, window(1000)) for condition in conditions]
        pushes = [selection(condition, "") for condition in conditions]
        row = {"queries": float(count)}
        row["kept, shared"] = _rate(engine_with(pulls, "eager"), streams)
        row["lazy"] = _rate(engine_with(pulls, "lazy"), streams)
        row["push"] = _rate(engine_with(pushes), streams)
        if count <= most_unshared:
            row["kept, unshared"] = _rate(engine_with(pulls, "eager", sharing=False), streams)
        rows.append(row)
    return rows


def _rate(engine: cqc.Engine, streams: dict[str, pa.Table]) -> float:
    """Tuples a second, after a first micro-batch that compiles what is not compiled yet."""
    warm = {name: table.slice(0, 1024) for name, table in streams.items()}
    rest = {name: table.slice(1024) for name, table in streams.items()}
    feed(engine, warm, 1024)
    started = process_time()
    feed(engine, rest, 1024, drain=True)
    return sum(map(len, rest.values())) / (process_time() - started)


def late_joins(sizes: Sequence[int]) -> list[Row]:
    """Figure 11: a join over tuples that are there: all of them probe at once (composite), or each by itself (separate).

    Composite is a query registered late, over the past of both streams. Separate is the same query over the past of one
    stream, with the other stream's tuples coming one by one.
    """
    return [_late_join(size) for size in sizes]


def _late_join(size: int) -> Row:
    streams = {"r": tuples(size, seed=3), "s": tuples(size, seed=4)}
    query = inequality_join(Random(0), window(size))
    together = engine_with([])
    feed(together, streams)
    together.unregister(
        together.register(inequality_join(Random(1), window(size)))
    )  # loads kernels
    started = process_time()
    found = together.invoke(together.register(query)).num_rows
    composite = process_time() - started
    apart = engine_with([query], "eager")
    feed(apart, {"s": streams["s"]})
    started = process_time()
    feed(apart, {"r": streams["r"]}, 1)
    same = apart.invoke("p0").num_rows
    separate = process_time() - started
    if found != same:
        raise AssertionError(f"the joins disagree: {found} and {same}")
    return {"past": size, "composite": composite, "separate": separate, "rows": found}


def periodic(counts: Sequence[int], tuple_count: int) -> list[Row]:
    """Periodic averages of different periods and lengths over one stream, all on one tree."""
    streams = {"r": tuples(tuple_count, seed=12)}
    idle = engine_with([f"SELECT COUNT(*) AS n FROM r {window(10)}"], "eager")
    started = process_time()
    feed(idle, streams, 1024)
    arrival = process_time() - started  # what the tuples themselves cost
    rows = []
    for count in counts:
        rng = Random(count)
        queries = [
            f"SELECT COUNT(*) AS n, AVG(x) AS m FROM r {window(rng.randint(10, tuple_count))} "
            f"EVERY {rng.randint(tuple_count // 100, tuple_count // 10)} SEC"
            for _ in range(count)
        ]
        engine = engine_with(queries)
        started = process_time()
        feed(engine, streams, 1024, drain=True)
        engine.finish()
        seconds = process_time() - started - arrival
        answers = sum(engine.result_counts().values())
        (history,) = (each for each in engine.measure() if isinstance(each, HistoryMetrics))
        if history.trees != 1:
            raise AssertionError(f"there are {history.trees} trees")
        rows.append(
            {"queries": float(count), "answers": float(answers), "answer": seconds / answers}
        )
    return rows


def drift(steps: int) -> list[Row]:
    """A sum over large and tiny numbers as its window slides: how far it is from the exact one.

    This engine, and a sum that adds what enters the window and subtracts what leaves it.
    """
    rng = np.random.default_rng(13)
    values = np.where(rng.random(steps) < 0.01, 1e12, 1.0) * rng.random(steps)
    length, at = 100, np.arange(steps)
    engine = engine_with([f"SELECT SUM(x) AS t FROM r {window(length)}"], "eager")
    zeros = dict.fromkeys(("a", "b", "c", "d"), np.zeros(steps, np.int64))
    feed(engine, {"r": pa.table({"ts": at, **zeros, "x": values})})
    sliding, rows = 0.0, []
    marks = set(np.linspace(steps // 8, steps - 1, 8).astype(int).tolist())
    for now in range(steps):
        sliding += values[now] - (values[now - length] if now >= length else 0.0)
        if now in marks:
            exact = math.fsum(values[max(now - length + 1, 0) : now + 1])
            found = engine.invoke("p0", at=now).column("t")[0].as_py()
            rows.append(
                {
                    "slides": float(now),
                    "this engine": abs(found - exact) / exact,
                    "adding and subtracting": abs(sliding - exact) / exact,
                }
            )
    return rows
