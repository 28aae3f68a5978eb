"""What helps while one types: names that can follow, the colours of words, and what is wrong so far.

A statement is looked at as if it ended where the typing is. What is wrong at its very end is not shown: it is only not there yet.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.lexers import Lexer

from cqc.cli.shell.commands import HELP, WORDS
from cqc.cli.shell.entered_text import is_command, is_whole
from cqc.compiler.diagnostics.diagnostic import CompileError, Severity, printable
from cqc.compiler.functions.registry import function_names
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.syntax.tokens import CONTEXTUAL, RESERVED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples

    from cqc.cli.shell.session import Names, Session
    from cqc.compiler.diagnostics.diagnostic import Diagnostic

STYLE = {
    "keyword": "ansiblue bold",
    "text": "ansigreen",
    "number": "ansicyan",
    "comment": "ansibrightblack",
    "function": "ansimagenta",
    "mistake": "underline ansired",
    "bottom-toolbar": "noreverse ansired",
    "bottom-toolbar.hint": "noreverse ansibrightblack",
}
_KEYWORDS = RESERVED | CONTEXTUAL
_PIECE = re.compile(
    r"(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))|(?P<text>'(?:[^']|'')*'?)|(?P<word>[^\W\d]\w*)|(?P<number>\d[\w.]*)|.",
    re.DOTALL,
)
_AFTER_FROM = re.compile(r"\b(?:from|join)\s+(?:[^()]*,\s*)?\w*$", re.IGNORECASE)
_CLAUSE = re.compile(r"\b(?:where|window|begin|group|on)\b", re.IGNORECASE)
_WORD_BEFORE = re.compile(r"(?:(\w+)\.)?(\w*)$")


class NameCompleter(Completer):
    """Commands after a backslash; columns after `alias.`; else columns, streams, functions and keywords."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        """What may follow the text before the cursor."""
        del event
        before = document.text_before_cursor
        names = self._session.names()
        if is_command(before):
            yield from _of_a_command(before.lstrip(), names)
            return
        found = _WORD_BEFORE.search(before)
        assert found is not None  # it matches nothing, too
        qualifier, word = found[1], found[2]
        if qualifier is not None:
            yield from _matching(word, _columns_of(qualifier, document.text, names), "column")
            return
        if not word:
            return
        after_from = _AFTER_FROM.search(before)
        if after_from is not None and not _CLAUSE.search(after_from[0]):
            yield from _matching(word, names.columns, "stream or table")
            return
        relations = _relations_in(document.text, names)
        columns = [each for name in relations or names.columns for each in names.columns[name]]
        yield from _matching(word, dict.fromkeys(columns), "column")
        yield from _matching(word, names.columns, "stream or table")
        yield from _matching(word, function_names(), "function")
        yield from _matching(word, sorted(_KEYWORDS), "")


def _of_a_command(before: str, names: Names) -> Iterator[Completion]:
    word, space, rest = before.partition(" ")
    if not space:
        for usage, what in HELP.items():
            if usage.startswith(word):
                yield Completion(usage.split()[0], -len(word), display=usage, display_meta=what)
    elif word in WORDS:
        given = rest.rpartition(" ")[2]
        yield from _matching(given, [*names.columns, *names.queries], "")


def _matching(word: str, names: Iterable[str], meta: str) -> Iterator[Completion]:
    for name in names:
        if fold(name).startswith(fold(word)) and name != word:
            text = name.lower() if not meta and word.islower() else name
            yield Completion(text, -len(word), display_meta=meta)


def _columns_of(qualifier: str, text: str, names: Names) -> tuple[str, ...]:
    """The columns of a stream or table, by its name or by the alias that the text gives it."""
    for name, columns in names.columns.items():
        alias = rf"\b{re.escape(name)}\b(?:\s*\[[^]]*\])?(?:\s+AS)?\s+{re.escape(qualifier)}\b"
        if fold(name) == fold(qualifier) or re.search(alias, text, re.IGNORECASE):
            return columns
    return ()


def _relations_in(text: str, names: Names) -> list[str]:
    words = {fold(word) for word in re.findall(r"\w+", text)}
    return [name for name in names.columns if fold(name) in words]


class Mistakes:
    """What is wrong with the text that is being typed, found once for each text."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._text = ""
        self._found: list[Diagnostic] = []

    def of(self, text: str) -> list[Diagnostic]:
        """The mistakes that do not come of the text not being finished."""
        if text != self._text:
            self._text = text
            self._found = self._look(text)
        return self._found

    def _look(self, text: str) -> list[Diagnostic]:
        if is_command(text) or not text.strip():
            return []
        whole = is_whole(text)
        try:
            found = self._session.diagnose(text)
        except CompileError:  # of what was declared before; said when it was
            return []
        end = len(text.rstrip())
        return [
            each
            for each in found
            if each.severity is Severity.ERROR and (whole or each.span.end < _last_word(text, end))
        ]


def _last_word(text: str, end: int) -> int:
    """Where the word begins that is being typed."""
    found = re.search(r"[\w.'\"]*$", text[:end])
    return end if found is None else found.start()


class StatementLexer(Lexer):
    """Colours words by what they are, and underlines mistakes."""

    def __init__(self, mistakes: Mistakes) -> None:
        self._mistakes = mistakes

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """The lines of the text in pieces of one style."""
        text = document.text
        styles = [""] * len(text)
        if not is_command(text):
            for found in _PIECE.finditer(text):
                style = _style_of(found)
                if style:
                    styles[found.start() : found.end()] = [style] * (found.end() - found.start())
            for mistake in self._mistakes.of(text):
                for at in range(mistake.span.start, min(mistake.span.end, len(text))):
                    styles[at] = "class:mistake"
        lines = text.split("\n")
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line) + 1)

        def line_at(number: int) -> StyleAndTextTuples:
            if number >= len(lines):
                return []
            start = starts[number]
            return [(styles[start + at], each) for at, each in enumerate(lines[number])]

        return line_at


def _style_of(found: re.Match[str]) -> str:
    kind = found.lastgroup
    if kind in ("comment", "text", "number"):
        return f"class:{kind}"
    if kind != "word":
        return ""
    word = found["word"]
    if word.upper() in _KEYWORDS:
        return "class:keyword"
    return "class:function" if fold(word) in _FUNCTIONS else ""


_FUNCTIONS = frozenset(function_names())


def toolbar(mistakes: list[Diagnostic], whole: bool) -> StyleAndTextTuples:
    """The line below the prompt: the first mistake and its hint, or what is awaited."""
    if not mistakes:
        waiting = "" if whole else "a statement ends with ;"
        return [("class:bottom-toolbar.hint", f" {waiting}")]
    first = mistakes[0]
    parts: StyleAndTextTuples = [("", f" {first.code}: {printable(first.message)}")]
    if first.hint:
        parts.append(("class:bottom-toolbar.hint", f"  {printable(first.hint)}"))
    return parts
