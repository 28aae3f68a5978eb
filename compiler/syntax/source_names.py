"""Names that outputs have by their source text."""

from __future__ import annotations

import re

_FOLDED = re.compile(
    r"""('(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*`) | (?:\s | --[^\n]* | /\*.*?\*/)+""",
    re.VERBOSE | re.DOTALL,
)


def source_name(text: str) -> str:
    """The name of an expression without AS.

    Example:
        source_name("a   +  b") == "a + b"
    """
    return _FOLDED.sub(lambda match: match.group(1) or " ", text)
