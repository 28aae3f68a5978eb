"""Compile every kernel once, so that no run and no test pays for it: `python -m cqc.runtime.warm`.

Kernels are compiled for the machine on first use and kept next to their source. A module with kernels, or one that uses them
all, has a function `warm` that calls them on a few rows of each layout that occurs; this is the list of those modules.

A kernel that is kept is used again until its own file changes, even when a kernel of another file that became part of it has
changed. So everything kept is dropped here when any file has changed since the last time.
"""

from __future__ import annotations

from hashlib import sha256
from importlib import import_module
from pathlib import Path

MODULES = (
    "cqc.runtime.event_time",
    "cqc.runtime.lineage",
    "cqc.runtime.operators.arrival",
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
    "cqc.runtime.operators.through_route",
    "cqc.runtime.operators.theta_lists",
    "cqc.runtime.operators.scan_lane",
    "cqc.runtime.aggregate_tree",
    "cqc.runtime.group_slots",
    "cqc.runtime.history",
    "cqc.runtime.partials",
)


def forget_stale(folder: Path) -> None:
    """Drop the compiled kernels of a folder of sources when one of the sources is not what it was."""
    digest = sha256()
    for source in sorted(folder.rglob("*.py")):
        digest.update(source.read_bytes())
    stamp = folder / "__pycache__" / "kernels.stamp"
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    for kept in (*folder.rglob("*.nbi"), *folder.rglob("*.nbc")):
        kept.unlink(missing_ok=True)
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(digest.hexdigest())


def warm() -> None:
    """Compile the kernels of all modules."""
    forget_stale(Path(__file__).parent)
    for name in MODULES:
        import_module(name).warm()


if __name__ == "__main__":
    warm()
