"""What CREATE ALERT says beside its query: the life cycle of an alert, and the texts that go with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import Expression, Output

FIELDS = ("state", "severity", "key", "since", "count")
"""What `alert` of a result has beside the texts of WITH."""

PENDING = "pending"
"""The one name in WITH that is a switch and no text."""


@record
class Text:
    """A text of WITH: pieces of it, and between them the numbers of outputs that stand in braces.

    '{room} is at {temperature}' over SELECT room, temperature has the pieces ('', ' is at ', '') and the outputs (0, 1).
    """

    name: str
    pieces: tuple[str, ...]
    outputs: tuple[int, ...]


@record
class Alert:
    """The clauses of an alert; durations in microseconds, None where the clause was left out.

    `of_view`: rows of a view have no order of arrival, so good ones come first, then the values of the SELECT list decide.
    """

    severity: str | None
    keys: tuple[Output, ...]
    hold_us: int | None
    clear: Expression | None
    keep_us: int | None
    once_us: int | None
    no_data_us: int | None
    texts: tuple[Text, ...]
    tells_pending: bool
    of_view: bool
