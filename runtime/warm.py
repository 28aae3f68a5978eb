"""Compile every kernel once, so that no run and no test pays for it: `python -m cqc.runtime.warm`.

Kernels are compiled for the machine on first use and kept next to their source. A module with kernels, or one that uses them
all, has a function `warm` that calls them on a few rows of each layout that occurs; this is the list of those modules.

A kernel that is kept is used again until its own file changes, even when a kernel of another file that became part of it has
changed. So those whose file imports something that has changed since the last time, directly or not, are dropped and compiled again
(`kernel_sources`); the others stay.
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.runtime.kernel_sources import digest_of, digests_of, kept_of

if TYPE_CHECKING:
    from collections.abc import Sequence

MODULES = (
    "cqc.runtime.absence.decided_rows",
    "cqc.runtime.absence.guard_entries",
    "cqc.runtime.absence.targets",
    "cqc.runtime.absence.tuple_bits",
    "cqc.runtime.absence.waiting_bits",
    "cqc.runtime.state.audiences",
    "cqc.runtime.windows.recent_times",
    "cqc.runtime.alerts.alert_kernels",
    "cqc.runtime.intake.far_ahead",
    "cqc.runtime.networks.addresses",
    "cqc.runtime.receivers.copy_text",
    "cqc.runtime.columns.bytes.decimal_text",
    "cqc.runtime.columns.bytes.digests",
    "cqc.runtime.columns.bytes.double_text",
    "cqc.runtime.columns.bytes.fixed_times",
    "cqc.runtime.columns.bytes.instant_text",
    "cqc.runtime.columns.bytes.json_paths",
    "cqc.runtime.columns.bytes.letter_case",
    "cqc.runtime.columns.bytes.translated",
    "cqc.runtime.columns.bytes.urls",
    "cqc.runtime.columns.event_time",
    "cqc.runtime.columns.repeated_text",
    "cqc.runtime.expressions.edit_distance",
    "cqc.runtime.expressions.nested.collection_functions",
    "cqc.runtime.expressions.nested.lists",
    "cqc.runtime.expressions.rounding",
    "cqc.runtime.columns.bytes.digit_texts",
    "cqc.runtime.columns.bytes.text_bytes",
    "cqc.runtime.lineage.bitmaps",
    "cqc.runtime.join.execute.fused_insert",
    "cqc.runtime.join.execute.demand_join",
    "cqc.runtime.filter.visit_order",
    "cqc.runtime.filter.known_texts",
    "cqc.runtime.filter.literal_search",
    "cqc.runtime.filter.packet_hits",
    "cqc.runtime.filter.bits.interval_sweep",
    "cqc.runtime.filter.text_index",
    "cqc.runtime.filter.text_numbers",
    "cqc.runtime.filter.grouped_filter",
    "cqc.runtime.state.hash_chains",
    "cqc.runtime.join.membership.item_filter",
    "cqc.runtime.join.execute.results",
    "cqc.runtime.join.tree.tree_join",
    "cqc.runtime.state.lanes",
    "cqc.runtime.state.text_numbers",
    "cqc.runtime.state.key_table",
    "cqc.runtime.join.execute.flat_join",
    "cqc.runtime.state.shared_state",
    "cqc.runtime.join.step.fused_probe",
    "cqc.runtime.join.step.theta_lists",
    "cqc.runtime.state.scan_lane",
    "cqc.runtime.pull.aggregate.aggregate_tree",
    "cqc.runtime.pull.aggregate.group_slots",
    "cqc.runtime.pull.history.result_history",
    "cqc.runtime.pull.aggregate.partials",
    "cqc.runtime.pull.over.partitions",
    "cqc.runtime.sources.formats.json_rows",
)


_ALL = ""  # all sources in one: where that is the same, nobody looks further


def warm(
    folder: Path = Path(__file__).parent,
    modules: Sequence[str] = MODULES,
    package: str = "cqc.runtime",
) -> list[str]:
    """Compile the kernels that are not what they were the last time; the listed modules for which that was done."""
    if "NUMBA_CACHE_DIR" in os.environ:  # then what is here says nothing
        return _warm(modules)
    stamp = folder / "__pycache__" / "kernels.stamp"
    before, whole = _stamped(stamp), digest_of(folder)
    if before.get(_ALL) == whole:
        return []
    now = {_ALL: whole, **digests_of(folder, package)}
    for module, kept in kept_of(folder, package):
        if module not in now or now[module] != before.get(module):
            kept.unlink(missing_ok=True)
    changed = _warm([each for each in modules if now.get(each) != before.get(each)])
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(json.dumps(now))
    return changed


def _warm(modules: Sequence[str]) -> list[str]:
    for name in modules:
        import_module(name).warm()
    return list(modules)


def _stamped(stamp: Path) -> dict[str, str]:
    """What the kernels that are kept were made of; nothing where that is not known."""
    try:
        found = json.loads(stamp.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


if __name__ == "__main__":
    warm()
