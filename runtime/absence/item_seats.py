"""Bodies over one stream whose tuples a join filters anyway, and what is noted of them: the lineage beside the stored tuples.

The rows that wait for a partner, and the combinations that would be one, are mostly asked for with the same conditions on the stream:

    A WHERE A.x > 5 AND NOT EXISTS (B with the key of A)      rows: A.x > 5          marks: A.x > 5, same key

So the join's filter has answered already which tuples wait. A body of this kind sits at no filter of its own: its seat is an item of
the join's seat, and its rows are the tuples whose lineage has the slot's bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from cqc.compiler.graph.nodes import Body
    from cqc.compiler.meaning.absence import Pattern
    from cqc.runtime.lineage.matches import Seat


@dataclass(slots=True, eq=False)
class ItemSeat:
    """The place of such a body: an item (in host order) of a seat at a join."""

    body: Body
    join_seat: Seat
    position: int
    results: int = 0  # they are counted where the rows are decided
    seconds: float = 0.0  # the join's

    @property
    def source(self) -> Hashable:
        return self.join_seat.source, self.position

    @property
    def key(self) -> int:
        return self.join_seat.slot_number

    @property
    def slot_number(self) -> int:
        return self.join_seat.slot_number


def item_filtered_alike(pattern: Pattern, mark: Pattern) -> int | None:
    """Which item of a join that marks a pattern is the pattern's only one, under the same conditions; None: there is none."""
    if len(pattern.items) > 1 or len(mark.items) == 1 or pattern.items[0] not in mark.items:
        return None
    own, at = pattern.query, mark.items.index(pattern.items[0])
    is_alike = own.filters[0] == mark.query.filters[at] and not own.residuals
    return at if is_alike and own.items[0].relation.is_stream else None
