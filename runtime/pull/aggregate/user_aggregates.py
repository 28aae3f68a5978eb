"""Aggregates that users registered: `init`, `update`, `merge` and `finish` in Python, row by row.

A user's code is called as it is for functions (`expressions/user_functions.py`): it never sees NULL, what it raises is NULL for its group,
counted and told with its place, and an answer of another type is a failure too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.functions.registered import user_functions
from cqc.runtime.errors import RunError
from cqc.runtime.expressions.user_functions import Failure, answers, note, user_array

if TYPE_CHECKING:
    from cqc.compiler.functions.registered import UserFunction
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.pull.aggregate.row_aggregates import Rows

_AT_ONCE = 1024  # rows of a group that are folded before they are merged with those before


def user_groups(rows: Rows) -> tuple[Column, int]:
    """The value of each group, and how many failed."""
    function = user_functions().get(rows.aggregate.user)
    if function is None or function.steps is None:
        raise RunError(f"the aggregate {rows.aggregate.user} is not registered in this process")
    order = np.lexsort((rows.time(), rows.groups))
    sizes = np.bincount(rows.groups, minlength=rows.count)
    stops = np.cumsum(sizes).tolist()
    values = [_listed(column, order) for column in rows.values]
    made: list[Any] = []
    failed, start = 0, 0
    for stop in stops:
        with Failure() as failure:
            made.append(_finished(function, [each[start:stop] for each in values]))
        if failure.error is not None:
            note(function, 1, failure.error)
            made.append(None)
            failed += 1
        start = stop
    column, wrong = answers(function, made)
    return column, failed + wrong


def _listed(column: Column, order: Any) -> list[Any]:
    """Python's values in an order; times are NumPy's, as functions have them."""
    array = user_array(column)[order]
    return list(array) if array.dtype.kind == "M" else list(array.tolist())


def _finished(function: UserFunction, values: list[list[Any]]) -> Any:
    steps = function.steps
    assert steps is not None
    state = _folded(steps, [each[:_AT_ONCE] for each in values])
    for start in range(_AT_ONCE, len(values[0]), _AT_ONCE):
        later = _folded(steps, [each[start : start + _AT_ONCE] for each in values])
        state = steps.merge(state, later)
    return steps.finish(state)


def _folded(steps: Any, values: list[list[Any]]) -> Any:
    state = steps.init()
    update = steps.update
    for row in zip(*values, strict=True):
        state = update(state, *row)
    return state
