"""Which statements a text holds, and whether the last one is whole: a statement ends with `;`, a command of the shell with its line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.syntax.tokens import tokenize

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cqc.compiler.diagnostics.diagnostic import Diagnostic

RUNNING_ONLY = "CQ107"

WORDS = {"help": "\\?", "exit": "\\q", "quit": "\\q"}  # that people type without a backslash
_OPENING = ("'", '"', "`", "/*")


def typed_mistakes(found: Iterable[Diagnostic], source: SourceFile) -> list[Diagnostic]:
    """The mistakes of what is being typed: not those of other texts, nor that SHOW wants a running engine, which the shell has."""
    return [each for each in found if each.span.source is source and each.code != RUNNING_ONLY]


def is_command(text: str) -> bool:
    r"""Whether a text is a command of the shell, such as `\d`, and no statement."""
    return text.lstrip().startswith("\\") or text.strip().rstrip(";").lower() in WORDS


def is_whole(text: str) -> bool:
    """Whether nothing more is awaited: a command, nothing at all, or statements of which the last has its `;`."""
    if is_command(text) or not text.strip():
        return True
    found = tokenize(SourceFile("<shell>", text))
    if any(text.startswith(_OPENING, at) for at in found.strange):
        return False  # a text or comment that is still open may hold anything
    return not found.statements or found.statements[-1].end < len(text)


def split_statements(text: str) -> list[str]:
    """The statements of a text, each without its `;`.

    Example:
        >>> split_statements("SELECT 'a;b' FROM s; -- done")
        ["SELECT 'a;b' FROM s"]
    """
    found = tokenize(SourceFile("<shell>", text))
    return [text[tokens.starts[0] : tokens.end].rstrip() for tokens in found.statements]
