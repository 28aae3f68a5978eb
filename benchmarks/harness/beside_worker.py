"""The rows of `beside`, measured in one tree: reads names of rows from standard input, and prints what each one costs.

This file is also run by the Python of an older tree, whose folders may have other names, so it imports nothing of the project
at the top, and looks for each benchmark where either tree has it.
"""

from __future__ import annotations

import importlib
import json
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Costs = dict[str, float]  # by name of the row; less is better
_SECOND_US = 1_000_000


def benchmark(name: str) -> Any:
    """A module of the benchmarks, wherever this tree keeps it."""
    for room in ("engine.", "papers.", "harness.", ""):
        try:
            return importlib.import_module(f"cqc.benchmarks.{room}{name}")
        except ModuleNotFoundError as error:
            if not str(error.name).startswith("cqc.benchmarks"):
                raise
    raise SystemExit(f"this tree has no benchmark {name}")


def joins(mode: str, count: str, tuples: str, rate: str) -> Costs:
    """`cqc bench joins`: three streams, window of 10 s."""
    workload, feed = benchmark("joins.workload"), benchmark("arrow_feed")
    tables = _join_tables(int(tuples), int(rate))
    program = workload.program(workload.make_queries(int(count), 10))
    return _fed(feed, program, tables, mode)


@lru_cache(maxsize=2)
def _join_tables(tuples: int, rate: int) -> Any:
    workload, feed = benchmark("joins.workload"), benchmark("arrow_feed")
    return feed.tables_of(workload.make_streams(tuples, rate, 10))


def theta(kind: str, mode: str, count: str, tuples: str) -> Costs:
    """`cqc bench theta`: comparisons across streams, half of them of common shapes."""
    workload, feed = benchmark("theta.workload"), benchmark("arrow_feed")
    one_list = kind == "list"
    queries = workload.one_list(int(count)) if one_list else workload.make_queries(int(count), 50)
    return _fed(feed, workload.program(queries), _theta_tables(int(tuples)), mode)


@lru_cache(maxsize=2)
def _theta_tables(tuples: int) -> Any:
    workload, feed = benchmark("theta.workload"), benchmark("arrow_feed")
    return feed.tables_of(workload.make_streams(tuples, 100))


def _fed(feed: Any, program: str, tables: Any, mode: str) -> Costs:
    fed = feed.Feed(program, deliver=mode == "rows")
    warm = feed.batches_of(feed.beginning(tables), _SECOND_US)
    return {"": fed.measure(feed.batches_of(tables, _SECOND_US), warm)["cpu_s"]}


def jit(setting: str, *contestants: str) -> Costs:
    """`cqc bench jit`: one hour of stream time, each contestant once."""
    figures, measuring = benchmark("jit.figures"), benchmark("jit.measure")
    clique, batches = _clique(figures, setting)
    return {each: measuring.measure(clique, batches, each)["cpu_s"] for each in contestants}


@lru_cache(maxsize=4)
def _clique(figures: Any, setting: str) -> Any:
    from dataclasses import replace

    clique = replace(getattr(figures, setting), hours=1.0)
    return clique, clique.batches(60.0)


def filters(part: str, count: str) -> Costs:
    """`cqc bench filters --quick` without its peers."""
    measuring = benchmark("filters.measure")
    if part == "text":
        return _text_rules(measuring, int(count))
    if part == "live":
        found = measuring.live(int(count))
        return {name: found[name] for name in found if name != "queries"}
    sizes = {"1000": 100_000, "10000": 50_000, "100000": 20_000}
    found = measuring.by_size(int(count), 1, sizes[count])
    return {name: 1 / found[name] for name in ("dense", "selective", "selective, ranges only")}


def _text_rules(measuring: Any, rules: int) -> Costs:
    import time

    import pyarrow as pa

    contestants, workload = measuring.c, measuring.w
    arrays = [pa.array(column) for column in workload.texts(1_000)]
    ours = contestants.TextFilter(workload.text_rules(rules), workload.TEXT_COLUMNS)
    packet = contestants.text_packet(arrays)
    ours.count(packet)
    started = time.process_time()
    for _ in range(5):
        ours.count(packet)
    return {"": time.process_time() - started}


def pull(part: str) -> Costs:
    """`cqc bench pull --quick`, the figures of this engine alone."""
    figures = benchmark("pull.figures")
    parts: dict[str, Callable[[], Any]] = {
        "equality": lambda: figures.selections_by_window("equality", [1024, 8192], 2),
        "interval": lambda: figures.selections_by_window("interval", [1024, 8192], 2),
        "joins": lambda: figures.joins_by_window([128], 2),
        "rates": lambda: figures.arrival_rates([16, 64], 8_192, 64),
        "late": lambda: figures.late_joins([512]),
        "aggregates": lambda: figures.aggregates_by_window([1 << 15], 2),
        "groups": lambda: figures.groups_by_window([1 << 15], 2),
        "distinct": lambda: figures.distinct_by_window([1 << 15], 2),
        "periodic": lambda: figures.periodic([100], 5_000),
    }
    costs: Costs = {}
    for row in parts[part]():
        key, *measured = row
        for name in measured:
            if name not in ("rows", "answers", "DuckDB", "NumPy", "NumPy by hand"):
                figure = 1 / row[name] if part == "rates" else row[name]
                costs[f"{row[key]:,.0f} {name}"] = figure
    return costs


def main() -> None:
    """Answer one row after the other until the input ends."""
    rows: dict[str, Callable[..., Costs]] = {"joins": joins, "theta": theta, "jit": jit, "filters": filters, "pull": pull}  # fmt: skip
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(rows[name](*arguments)), flush=True)


if __name__ == "__main__":
    main()
