"""Compile every kernel once, so that no run and no test pays for it: `python -m cqc.runtime.warm`.

Kernels are compiled for the machine on first use and kept next to their source. A module with kernels, or one that uses them
all, has a function `warm` that calls them on a few rows of each layout that occurs; this is the list of those modules.

A kernel that is kept is used again until its own file changes, even when a kernel of another file that became part of it has
changed. So everything kept is dropped here when any file has changed since the last time, and nothing is done when none has.
"""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

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
    "cqc.runtime.expressions.rounding",
    "cqc.runtime.columns.bytes.text_bytes",
    "cqc.runtime.lineage.bitmaps",
    "cqc.runtime.join.execute.fused_insert",
    "cqc.runtime.join.execute.demand_join",
    "cqc.runtime.filter.visit_order",
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


def digest_of(folder: Path) -> str:
    """What the kernels of a folder of sources are made of: the sources, Numba and Python."""
    digest = sha256(f"{version('numba')} {sys.version}".encode())
    for source in sorted(folder.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def forget(folder: Path) -> None:
    """Drop the compiled kernels of a folder of sources."""
    for kept in (*folder.rglob("*.nbi"), *folder.rglob("*.nbc")):
        kept.unlink(missing_ok=True)


def warm(folder: Path = Path(__file__).parent, modules: Sequence[str] = MODULES) -> bool:
    """Compile the kernels of all modules, if they are not what they were the last time; whether that was so."""
    stamp, digest = folder / "__pycache__" / "kernels.stamp", digest_of(folder)
    is_elsewhere = "NUMBA_CACHE_DIR" in os.environ  # then what is here says nothing
    if not is_elsewhere and stamp.exists() and stamp.read_text() == digest:
        return False
    if not is_elsewhere:
        forget(folder)
    for name in modules:
        import_module(name).warm()
    if not is_elsewhere:
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(digest)
    return True


if __name__ == "__main__":
    warm()
