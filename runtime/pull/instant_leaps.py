"""A row so far after the others that a query with EVERY would answer for hours about the time between, in which nothing was.

A run ends there with one sentence that names the row, before it answers. Many instants that are due at once are no mistake
as long as rows are among them: what counts is the longest time without a row.

    EVERY 1 SEC, a row of 2094 after those of today: two thousand million instants, all of them without a row
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.errors import RunError
from cqc.runtime.pull.pull_window import show_instant
from cqc.runtime.sinks.json_text import json_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.pull.every_schedule import Due
    from cqc.runtime.state.shared_state import SharedState

_SHOWN_CHARACTERS = 200


def check_leap(due: Due, states: Sequence[SharedState], type_: ColumnType, most: int) -> None:
    """See that no query answers about too long a time without a row.

    Args:
        due: a query and its instants.
        states: the kept tuples of its streams.
        type_: of its event times.
        most: so many instants one after the other may be without a row.

    Raises:
        RunError: when there are more, with the row that came after them.
    """
    if (due.last_us - due.first_us) // due.every_us + 1 <= most:
        return
    begin_us = due.first_us - due.every_us
    times = np.concatenate([_times(state) for state in states])
    inside = np.unique(times[(times > begin_us) & (times < due.last_us)])
    end_us = times[times >= due.last_us].min(initial=due.last_us + due.every_us)
    edges = np.concatenate(([begin_us], inside, [end_us]))
    longest = int(np.diff(edges).argmax())
    from_us, until_us = int(edges[longest]), int(edges[longest + 1])
    instants = (until_us - from_us - 1) // due.every_us
    if instants <= most:
        return
    raise leap_error(due, (from_us, until_us), _row_from(until_us, states), type_, most)


def leap_error(
    due: Due, gap_us: tuple[int, int], row: str, type_: ColumnType, most: int
) -> RunError:
    """The sentence for a time without a row that is too long; the row after it is the one that is named."""
    instants = (gap_us[1] - gap_us[0] - 1) // due.every_us
    before, after = (show_instant(us, type_) for us in gap_us)
    return RunError(
        f"query {due.name} would answer {instants:,} instants between {before} and {after}, where no row is, "
        f"because of {row}: see whether that row is right; "
        f"--max-instants allows more than {most:,}, SET MAX_AHEAD keeps stray rows out"
    )


def _times(state: SharedState) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return state.ts_at(np.arange(state.first, state.head, dtype=np.int64))


def _row_from(us: int, states: Sequence[SharedState]) -> str:
    """The first row at or after an instant, in words."""
    found: tuple[int, SharedState, int] | None = None
    for state in states:
        times = _times(state)
        later = np.flatnonzero(times >= us)
        if len(later):
            at = int(later[times[later].argmin()])
            if found is None or times[at] < found[0]:
                found = int(times[at]), state, state.first + at
    if found is None:
        return "a row that is no longer kept"
    _, state, position = found
    names = [column.name for column in state.relation.columns]
    text = json_rows(names, state.rows(np.array([position])), 1)[0].as_py()
    return row_words(state.relation.name, text)


def row_words(stream: str, text: str) -> str:
    """A row, given as JSON, in words."""
    short = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
    return f"the row {short} of {stream}"
