"""The functions that the compiler calls and no query can name: instants of event times, and matches with a pattern per row.

Those that queries name are in `expressions/`, by family.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import INSTANT, MATCH_CALLS
from cqc.runtime.columns.event_time import instants
from cqc.runtime.expressions.patterns.like_patterns import match_each

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.meaning.bound import PatternKind
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.arithmetic import Outcome
    from cqc.runtime.expressions.kernel import Kernel


def _instant(column: Column) -> Outcome:
    """Event times of tuples that were taken always have an instant."""
    return instants(column)[0], None


def _match_call(kind: PatternKind) -> Callable[..., Outcome]:
    def call(texts: Column, patterns: Column, escape: Column) -> Outcome:
        return match_each(kind, texts.values, patterns.values, escape.values.as_py())

    return call


UNNAMED_KERNELS: dict[str, Kernel] = {
    INSTANT: _instant,
    **{name: _match_call(kind) for name, kind in MATCH_CALLS.items()},
}
