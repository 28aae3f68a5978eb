"""Values without a field: `ANY COLUMN` where the language has it, else the columns one by one.

Which columns a stream has is known when all rules are converted, so the second form is a mark until then.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from cqc.compiler.meaning.catalog import fold
from cqc.importers.program_text import identifier, text
from cqc.importers.spoken import is_spoken

if TYPE_CHECKING:
    from cqc.importers.streams import Stream, Streams

_PROBE = "SELECT a FROM s WHERE ANY COLUMN ILIKE '%x%' OR ANY COLUMN RLIKE 'x'"
_EDGE = "\ue000"  # a character of private use, which no rule should hold
_MARK = re.compile(
    f"{_EDGE}([^{_EDGE}]*){_EDGE}([^{_EDGE}]*){_EDGE}([^{_EDGE}]*){_EDGE}", re.DOTALL
)


@cache
def _has_any_column() -> bool:
    return is_spoken(_PROBE)


def any_column(word: str, pattern: str, stream: Stream) -> str:
    """The condition that some column matches a pattern, by LIKE, ILIKE or RLIKE."""
    if _has_any_column():
        return f"ANY COLUMN {word} {text(pattern)}"
    return f"{_EDGE}{stream.name}{_EDGE}{word}{_EDGE}{text(pattern)}{_EDGE}"


def without_marks(program: str, streams: Streams) -> str:
    """The text of a rule with the columns that its streams have in the end."""

    def written(match: re.Match[str]) -> str:
        columns = streams.found[fold(match[1])].fields.values()
        return (
            "(" + " OR ".join(f"{identifier(each)} {match[2]} {match[3]}" for each in columns) + ")"
        )

    return _MARK.sub(written, program)
