"""The measurements of `cqc bench filters`, printed as JSON: `python -m cqc.benchmarks.engine.filters.measure [--quick]`.

Runs in the environment of the peers, so that all contestants share one process and one clock: CPU time of the whole process,
all threads. Contestants take turns; a figure is the median of its turns. A slow contestant gets fewer tuples, and every
contestant's counts on the tuples that all have are compared.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import pyarrow as pa

from cqc.benchmarks.engine.filters import contestants as c
from cqc.benchmarks.engine.filters import workload as w
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.filter.match_source import MatchSource
from cqc.runtime.filter.packet_index import aligned_rows
from cqc.runtime.lineage.bit_rows import BLOCK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Figures = dict[str, Any]
_BATCH = 10_000


def timed(turns: int, tasks: dict[str, Callable[[], int]]) -> dict[str, float]:
    """Tuples per CPU second of each task, which returns how many tuples it did; a first turn does not count."""
    rates: dict[str, list[float]] = {name: [] for name in tasks}
    for turn in range(turns + 1):
        for name, task in tasks.items():
            started = time.process_time()
            done = task()
            spent = time.process_time() - started
            if turn:
                rates[name].append(done / spent)
    return {name: statistics.median(found) for name, found in rates.items()}


def batches_of(numbers: Any, size: int) -> list[Any]:
    """A table of numbers as micro-batches."""
    return [numbers[:, at : at + size] for at in range(0, numbers.shape[1], size)]


def run_batches(count: Callable[[Any], Any], batches: Sequence[Any], tuples: int) -> int:
    """Give some micro-batches to a contestant."""
    for batch in batches:
        count(batch)
    return tuples


def check_equal(answers: dict[str, Any]) -> None:
    """Every contestant must have counted the same."""
    first, *others = answers.items()
    for name, counts in others:
        if not np.array_equal(first[1], counts):
            raise SystemExit(f"{name} and {first[0]} disagree")


def with_peers(queries: int, turns: int, *, doubles: bool, quick: bool) -> Figures:
    """This engine and its peers on dense queries."""
    made = w.dense_queries(queries, doubles=doubles)
    ours = c.GroupedFilter(made, doubles=doubles)
    numbers = w.tuples(100_000 if quick else 1_000_000, doubles=doubles)
    batches = batches_of(numbers, _BATCH)
    packets = [c.packet_of(batch) for batch in batches]
    polars = c.PolarsSelect(made)
    duck: c.DuckStatement | c.DuckJoin = c.DuckJoin(made)
    if queries <= 1_000:
        duck = c.DuckStatement(list(map(c.sql_condition, made)))
    numpy, per_tuple = c.NumpyPerQuery(made), c.PerTuple(made)
    part = numbers[:, : _BATCH if queries <= 1_000 else 1_000]
    table = _table(part)
    few = 20_000_000 // queries // _BATCH or 1
    single = max(10, 300_000 // queries)
    large = numbers[:, :100_000]
    check_equal(
        {
            "cqc": ours.count(packets[0]),
            "Polars": polars.count(batches[0]),
            "NumPy": numpy.count(batches[0]),
        }
    )
    check_equal({"cqc": ours.count(c.packet_of(part)), "DuckDB": duck.count(table)})
    check_equal(
        {
            "cqc": ours.count(c.packet_of(numbers[:, :single])),
            "per tuple": per_tuple.count(numbers[:, :single]),
        }
    )
    rates = timed(
        turns,
        {
            "cqc": lambda: run_batches(ours.count, packets, numbers.shape[1]),
            "Polars": lambda: run_batches(polars.count, batches[:few], few * _BATCH),
            "Polars, batches of 100,000": lambda: run_batches(
                polars.count, [large], large.shape[1]
            ),
            "DuckDB": lambda: run_batches(duck.count, [table], part.shape[1]),
            "NumPy per query": lambda: run_batches(numpy.count, batches[:1], _BATCH),
            "per tuple (CACQ)": lambda: run_batches(per_tuple.count, [numbers[:, :single]], single),
        },
    )
    return {"queries": queries, "doubles": doubles, **rates}


def _table(batch: Any) -> Any:
    return pa.table({f"c{at}": values for at, values in enumerate(batch)})


def by_size(queries: int, turns: int, tuples: int) -> Figures:
    """This engine alone: dense and selective queries in micro-batches of 10,000, and the rows of the dense ones."""
    packets = [c.packet_of(batch) for batch in batches_of(w.tuples(tuples), _BATCH)]
    makers = {"dense": w.dense_queries, "selective": w.selective_queries}
    if queries < 1_000_000:  # they cost what dense ones cost, and registering them takes minutes
        makers["selective, ranges only"] = w.ranged_queries
    found: Figures = {"queries": queries, "tuples": tuples}
    tasks: dict[str, Callable[[], int]] = {}
    for name, make in makers.items():
        ours = c.GroupedFilter(make(queries))
        counted = int(ours.count(packets[0]).sum())
        found[f"{name}: match"] = counted / len(packets[0]) / queries
        found[f"{name}: bytes a query"] = ours.filters.measure().bytes / queries
        tasks[name] = _counting(ours, packets, tuples)
        if name == "dense":
            found["kernel"] = kernel(ours, queries, turns)
    return found | timed(turns, tasks)


def _counting(ours: c.GroupedFilter, packets: Sequence[Any], tuples: int) -> Callable[[], int]:
    return lambda: run_batches(ours.count, packets, tuples)


def kernel(ours: c.GroupedFilter, queries: int, turns: int) -> Figures:
    """Rows of bits written for dense queries, beside a plain fill of the same memory: bytes per CPU second."""
    packet = c.packet_of(w.tuples(BLOCK))
    lineage = ours.filters.match(packet)
    rows = aligned_rows(queries)

    def write() -> int:
        assert isinstance(lineage.source, MatchSource)
        lineage.source.write_rows(rows)
        return rows.nbytes

    def fill() -> int:
        rows.fill(7)
        return rows.nbytes

    rates = timed(turns, {"write": write, "fill": fill})
    return {"queries": queries, "tuples": BLOCK, **rates}


def text(rules: int, turns: int, tuples: int) -> Figures:
    """Rules of contains, startswith and endswith over text columns."""
    made = w.text_rules(rules)
    arrays = [pa.array(column) for column in w.texts(tuples)]
    ours, packet = c.TextFilter(made, w.TEXT_COLUMNS), c.text_packet(arrays)
    duck = c.DuckStatement(list(map(c.sql_rule, made)))
    table = pa.table({f"c{at}": array for at, array in enumerate(arrays)})
    check_equal({"cqc": ours.count(packet), "DuckDB": duck.count(table)})
    rates = timed(
        turns,
        {
            "cqc": lambda: run_batches(ours.count, [packet] * 5, 5 * tuples),
            "DuckDB": lambda: run_batches(duck.count, [table], tuples),
        },
    )
    return {"rules": rules, **rates}


def live(queries: int) -> Figures:
    """Registering and removing while many run, and one tuple through all of them."""
    made = w.dense_queries(queries + 200)
    ours = c.GroupedFilter(made[:queries])
    one = c.packet_of(w.tuples(1))
    ours.count(one)
    formulas = [c.formula_of(query, ColumnType.BIGINT) for query in made[queries:]]
    slots = range(queries, queries + len(formulas))

    def change() -> None:
        for slot, formula in zip(slots, formulas, strict=True):
            ours.filters.add(slot, formula)
        for slot in slots:
            ours.filters.remove(slot)

    def change_and_match() -> None:
        ours.filters.add(queries, formulas[0])
        ours.count(one)

    def undo() -> None:
        ours.filters.remove(queries)

    changing = _median_seconds(change, 5) / len(formulas)
    registering = _median_seconds(change_and_match, 9, after=undo)
    undo_and_match = _median_seconds(lambda: ours.count(one), 21)
    return {
        "queries": queries,
        "add and remove": changing,
        "register, then one tuple": registering,
        "one tuple": undo_and_match,
    }


def _median_seconds(
    task: Callable[[], object], turns: int, after: Callable[[], object] | None = None
) -> float:
    spent = []
    for _ in range(turns):
        started = time.process_time()
        task()
        spent.append(time.process_time() - started)
        if after is not None:
            after()
    return statistics.median(spent)


def measure(*, quick: bool, alone: bool) -> dict[str, Any]:
    """Everything, or without the peers."""
    turns = 3 if quick else 5
    sizes: tuple[tuple[int, int], ...] = ((1_000, 100_000), (10_000, 50_000), (100_000, 20_000))
    running: tuple[int, ...] = (1_000, 10_000)
    if not quick:
        sizes = ((1_000, 500_000), (10_000, 200_000), (100_000, 50_000), (1_000_000, 10_000))
        running = (1_000, 10_000, 100_000)
    peers = [(count, doubles) for doubles in (False, True) for count in (1_000, 10_000)]
    return {
        "peers": [
            with_peers(count, turns, doubles=doubles, quick=quick)
            for count, doubles in ([] if alone else peers)
        ],
        "sizes": [by_size(count, turns, tuples) for count, tuples in sizes],
        "text": None if alone else text(2_000, turns, 1_000 if quick else 10_000),
        "live": [live(count) for count in running],
    }


if __name__ == "__main__":
    print(json.dumps(measure(quick="--quick" in sys.argv, alone="--alone" in sys.argv)))
