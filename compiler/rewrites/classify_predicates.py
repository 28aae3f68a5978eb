"""Sort the conditions of a query by what can answer them.

- attribute: one item only; becomes the item's formula, answered by grouped filters;
- window: event times of two items; becomes limits for the time bounds;
- equi-join: `A.x = B.y`, answered by a hash index;
- theta join: linear in one column of each of two items, answered by a predicate list;
- residual: everything else, evaluated on combinations that survive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import Comparison, Expression, Query
from cqc.compiler.meaning.normal import ALWAYS, EquiJoin, Formula, Residual, ThetaJoin
from cqc.compiler.rewrites.attribute_formulas import conjoin, formula_of
from cqc.compiler.rewrites.join_conditions import equi_join, theta_join
from cqc.compiler.rewrites.mentioned_items import item_mask, items_of
from cqc.compiler.rewrites.window_conditions import window_condition, window_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.time_bounds import TimeLimit


@dataclass(slots=True)
class Classes:
    """The conditions of a query by class."""

    attributes: list[list[Formula]]  # by item
    equi_joins: list[EquiJoin] = field(default_factory=list)
    theta_joins: list[ThetaJoin] = field(default_factory=list)
    residuals: list[Residual] = field(default_factory=list)
    limits: list[TimeLimit] = field(default_factory=list)

    def filters(self) -> tuple[Formula, ...]:
        """One formula per item."""
        return tuple(
            [
                ALWAYS if not parts else parts[0] if len(parts) == 1 else conjoin(parts)
                for parts in self.attributes
            ]
        )


def classify_predicates(query: Query, conditions: Sequence[Expression]) -> Classes:
    """Classify conditions with NOT pushed down and AND split. Their conjunction is what the classes say together."""
    classes = Classes([[] for _ in query.items])
    if len(query.items) == 1:
        classes.attributes[0] = [formula_of(condition) for condition in conditions]
        return classes
    for condition in conditions:
        mask = item_mask(condition)
        if mask & (mask - 1) == 0:  # one item, or none: then the first item answers for it
            item = max(mask.bit_length() - 1, 0)
            classes.attributes[item].append(formula_of(condition))
        elif isinstance(condition, Comparison):
            _classify_comparison(query, condition, mask, classes)
        else:
            classes.residuals.append(Residual(condition, items_of(mask)))
    return classes


def _classify_comparison(query: Query, condition: Comparison, mask: int, classes: Classes) -> None:
    window = window_condition(condition, query.items)
    if window is not None:
        classes.limits.extend(window.limits)
        if not window.exact:
            classes.residuals.append(Residual(condition, items_of(mask)))
    elif (equal := equi_join(condition)) is not None:
        classes.limits.extend(window_limits(condition, query.items))
        if equal not in classes.equi_joins:
            classes.equi_joins.append(equal)
    elif (theta := theta_join(condition)) is not None:
        classes.theta_joins.append(theta)
    else:
        classes.residuals.append(Residual(condition, items_of(mask)))
