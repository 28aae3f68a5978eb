"""Leave out what only follows from a mistake in the syntax.

A statement with a mistake is bound as it was probably meant, so that one run reports what is wrong with its meaning too.
Where the guess itself is what the binder stumbles over, the user has heard enough:

    WHERE s || 'a' = 'b'       `||` is not an operator; read as OR, it would take conditions and not texts
    WHERE n MISSING            AND or OR is missing; read so, MISSING would be a column that is not there
    SELECT now() FROM s        there is no call of NOW; without its brackets it would stand where it has no meaning
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.diagnostics.source import Span

_TYPES = (*range(40, 51), 66)  # codes about the types of operands, values and outputs
_NAMES = range(30, 37)  # codes about names that nothing has, and calls with too many arguments
_OF_NAMES = ("CQ005", "CQ016")  # mistakes after which what was read as a name may be none
_NO_EVENT_TIME = 22
_NEVER_MATCHES = 90
_NOW_OUT_OF_PLACE = 57


def without_follow_ons(
    mistakes: Sequence[Diagnostic], found: Sequence[Diagnostic]
) -> list[Diagnostic]:
    """The diagnostics found in what the mistakes left, without those that a mistake explains."""
    if not mistakes:
        return list(found)
    return [each for each in found if not any(_explains(mistake, each) for mistake in mistakes)]


def _explains(mistake: Diagnostic, found: Diagnostic) -> bool:
    number = int(found.code.removeprefix("CQ"))
    if number == _NO_EVENT_TIME:
        return _in_one_statement(found.span, mistake.span)
    if number == _NOW_OUT_OF_PLACE:
        return mistake.code == "CQ018" and _touch(mistake.span, found.span)
    if number in _NAMES and mistake.code not in _OF_NAMES:
        return False
    return number in (*_NAMES, *_TYPES, _NEVER_MATCHES) and _touch(mistake.span, found.span)


def _touch(one: Span, other: Span) -> bool:
    """Whether two places overlap or are next to each other."""
    same = one.source is other.source
    return same and one.start <= other.end + 1 and other.start <= one.end + 1


def _in_one_statement(one: Span, other: Span) -> bool:
    """Whether the second place is in the declaration that begins with the first."""
    same = one.source is other.source and one.start <= other.start
    return same and ";" not in one.source.text[one.start : other.start]
