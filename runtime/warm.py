"""Compile every kernel once, so that no run and no test pays for it: `python -m cqc.runtime.warm`.

Kernels are compiled for the machine on first use and kept next to their source. A module with kernels, or one that uses them
all, has a function `warm` that calls them on a few rows of each layout that occurs; this is the list of those modules.
"""

from __future__ import annotations

from importlib import import_module

MODULES = (
    "cqc.runtime.event_time",
    "cqc.runtime.lineage",
    "cqc.runtime.operators.demand_join",
    "cqc.runtime.operators.filter_route",
    "cqc.runtime.operators.grouped_filter",
    "cqc.runtime.operators.hash_chains",
    "cqc.runtime.operators.item_filter",
    "cqc.runtime.operators.join_results",
    "cqc.runtime.operators.join_tree",
    "cqc.runtime.operators.lanes",
    "cqc.runtime.operators.multi_join",
    "cqc.runtime.operators.shared_state",
    "cqc.runtime.operators.theta_lists",
    "cqc.runtime.operators.scan_lane",
    "cqc.runtime.aggregate_tree",
    "cqc.runtime.group_slots",
    "cqc.runtime.history",
    "cqc.runtime.partials",
)


def warm() -> None:
    """Compile the kernels of all modules."""
    for name in MODULES:
        import_module(name).warm()


if __name__ == "__main__":
    warm()
