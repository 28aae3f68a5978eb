"""What is left of a query whose rows depend on what is not there: ordinary queries, and guards between them.

A combination with some items NULL is a combination of the others. So for each set of items that can be present together there
is a *pattern*: an ordinary query over these items alone, with NULL written for the columns of the others. A combination of a
pattern is a result when all its *guards* let it pass. A guard watches some of the tuples (`over`) and is marked by the
combinations of other patterns that hold the same tuples: a negated one lets pass what no mark has reached when its last instant is
over, the other one what a mark has reached.

    A LEFT JOIN B ON c        pattern {A, B}: c
                              pattern {A}, with a negated guard over A, marked by pattern {A, B}: c

A mark may have guards of its own: then it counts once they let it pass.

Where nothing says how long ago a partner may have been (`WINDOW o.ts < n.ts`), a guard has *keys*: its mark is a pattern of the
item inside alone, and what is kept of it is the smallest event time of each value of the keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.normal import NormalQuery


@record
class Guard:
    """`reach[j][i]`: how long after the i-th watched tuple one of the j-th item inside can come, None where nothing says so.

    It is twice the microseconds, less one where the bound is open: a watermark w has passed the bound when 2w is greater. The last
    instant of some tuples is the largest over j of the smallest over i. `streams` are the folded names of the streams inside,
    whose watermarks decide; a guard without any is decided at once.
    """

    negated: bool
    over: tuple[int, ...]  # positions among the items of its pattern
    marks: tuple[Pattern, ...]
    reach: tuple[tuple[int | None, ...], ...]
    streams: tuple[str, ...]
    is_join: bool  # of an outer join, whose matched combinations are another pattern
    # For each item inside: a watched tuple, its window column, and how long after the value one can come, as in `reach`.
    ends: tuple[tuple[tuple[int, int, int], ...], ...] = ()
    keys: tuple[KeyPair, ...] | None = None


@record
class KeyPair:
    """`outer = inner`: over the items of the pattern, and over the one item of the mark."""

    outer: Expression
    inner: Expression


@record
class Pattern:
    """Combinations of some items of a query. `items` are their numbers in the whole query, in the order of `query.items`."""

    query: NormalQuery
    items: tuple[int, ...]
    guards: tuple[Guard, ...]


def all_patterns(patterns: tuple[Pattern, ...]) -> Iterator[Pattern]:
    """Patterns with those that mark their guards, each before what it marks."""
    for pattern in patterns:
        for guard in pattern.guards:
            yield from all_patterns(guard.marks)
        yield pattern


def decode_us(reach: int) -> int:
    """The microseconds of a bound in `Guard.reach`."""
    return (reach + 1) >> 1
