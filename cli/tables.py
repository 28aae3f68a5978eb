"""Aligned tables for a terminal, from texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def aligned(
    titles: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
) -> list[str]:
    """Header, rule and rows; `right` says which columns are aligned to the right."""
    # The sink's tables know about wide and control characters; loaded here because they bring the runtime with them.
    from cqc.runtime.sinks.table import render_table

    columns = [[row[at] for row in rows] for at in range(len(titles))]
    return render_table(titles, columns, right)


def cell(value: Any) -> str:
    """A JSON value as a person reads it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
