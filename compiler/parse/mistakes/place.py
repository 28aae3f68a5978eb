"""The place where a statement stopped making sense, and what a mistake there is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.diagnostics.source import Span
from cqc.compiler.syntax.tables import END, Failure, accepted, first_misfit, states_after
from cqc.compiler.syntax.tokens import words

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.syntax.tokens import Tokens

CLAUSES = words("WHERE WINDOW MAXWINDOW BEGIN EVERY GROUP HAVING ORDER LIMIT")

_FAR = 40


@record
class Mistake:
    """A recognised mistake; `mended` is the statement as it was probably meant, None when nobody can say."""

    diagnostic: Diagnostic
    mended: Tokens | None = None


@record
class Place:
    """Token number `at` of a statement does not fit (the number after the last: the statement ends too early)."""

    tokens: Tokens
    at: int
    expected: frozenset[str]
    states: list[
        int
    ]  # of the parser, before the token before the place: no mistake is mended further back

    @classmethod
    def of(cls, tokens: Tokens, failure: Failure) -> Place:
        states = states_after(tokens.kinds[: max(failure.at - 1, 0)])
        return cls(tokens, failure.at, failure.expected, states)

    @property
    def is_end(self) -> bool:
        return self.at >= len(self.tokens.kinds)

    @property
    def can_end(self) -> bool:
        """Whether the tokens before the place are a whole statement."""
        return END in self.expected

    def kind(self, offset: int = 0) -> str:
        """The kind of the token so far from the place, or nothing where there is none."""
        at = self.at + offset
        return self.tokens.kinds[at] if 0 <= at < len(self.tokens.kinds) else ""

    def text(self, offset: int = 0) -> str:
        at = self.at + offset
        return self.tokens.texts[at] if 0 <= at < len(self.tokens.texts) else ""

    def span(self, offset: int = 0) -> Span:
        """The place of a token; at the end of the statement, the spot after its last token."""
        return span_at(self.tokens, self.at + offset)

    def found(self) -> str:
        """What stands at the place, for a message."""
        if self.is_end:
            return "the end of the statement"
        text = self.text()
        return f"`{text}`" if len(text) <= 40 and "\n" not in text else f"`{text[:30]}...`"

    def replaced(self, kind: str, text: str, offset: int = 0) -> Tokens:
        return self.tokens.replaced(self.at + offset, 1, [kind], [text])

    def inserted(self, kind: str, text: str) -> Tokens:
        return self.tokens.replaced(self.at, 0, [kind], [text])

    def removed(self, offset: int = 0) -> Tokens:
        return self.tokens.replaced(self.at + offset, 1, [], [])

    def expected_before(self) -> frozenset[str]:
        """What could stand in place of the token before."""
        return accepted(self.states)

    def reach(self, mended: Tokens) -> int:
        """How many tokens make sense when the statement is mended so; one more than there are when all do."""
        start = max(self.at - 1, 0)
        # Far beyond the place nothing more is learned about it, and a statement may have thousands of tokens.
        rest = mended.kinds[start : self.at + _FAR]
        whole = start + len(rest) == len(mended.kinds)
        misfit = first_misfit(list(self.states), [*rest, END] if whole else rest)
        return len(mended.kinds) + 1 if misfit is None else start + misfit


def span_at(tokens: Tokens, at: int) -> Span:
    """The place of token number `at`; past the last one, the spot where the next token would be."""
    if at < len(tokens.starts):
        return Span(tokens.source, tokens.starts[at], tokens.ends[at])
    end = tokens.ends[-1] if tokens.ends else tokens.end
    return Span(tokens.source, end, end)
