"""Which token or statement a comment belongs to.

A comment on the line of a token stays after that token; one on a line of its own stays before the token that follows.
What stands between two statements belongs to the next one, and what follows a statement on its line stays there. So a
comment finds its place again when formatted text is formatted once more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.compiler.syntax.tokens import comments_in

if TYPE_CHECKING:
    from cqc.compiler.syntax.tokens import Tokens


@dataclass(slots=True)
class TokenComments:
    """The comments around one token: on lines of their own before it, and on its line after it."""

    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Remark:
    """A comment outside statements, on lines of its own."""

    text: str
    follows_blank: bool


@dataclass(slots=True)
class Commented:
    """A statement with its comments: those before it, those of each token, and those after it on its line."""

    tokens: Tokens
    follows_blank: bool = False
    before: list[Remark] = field(default_factory=list)
    inside: dict[int, TokenComments] = field(default_factory=dict)
    after: list[str] = field(default_factory=list)

    def at(self, token: int) -> TokenComments:
        return self.inside.setdefault(token, TokenComments())


class CommentReader:
    """Walks through tokens and comments side by side, in the order of the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.comments = comments_in(text)
        self.next = 0
        self.end = 0  # of the last thing that was passed, semicolons aside

    def read(self, statements: list[Tokens]) -> tuple[list[Commented], list[Remark]]:
        """Every statement with its comments, and the remarks after the last one."""
        result: list[Commented] = []
        for tokens in statements:
            remarks = self._remarks(tokens.starts[0], result)
            statement = Commented(tokens, self._blank_before(tokens.starts[0]), remarks)
            self._inside(statement)
            result.append(statement)
        return result, self._remarks(len(self.text), result)

    def _remarks(self, until: int, earlier: list[Commented]) -> list[Remark]:
        """The comments up to a place between statements; those on the line of an earlier statement go to it."""
        remarks: list[Remark] = []
        while self.next < len(self.comments) and self.comments[self.next][0] < until:
            start, end = self.comments[self.next]
            same_line = "\n" not in self.text[self.end : start]
            blank = self._blank_before(start)
            comment = self._take()
            if same_line and remarks:
                remarks[-1].text += f" {comment}"
            elif same_line and earlier:
                earlier[-1].after.append(comment)
            else:
                remarks.append(Remark(comment, blank and bool(remarks or earlier)))
            self.end = end
        return remarks

    def _inside(self, statement: Commented) -> None:
        tokens = statement.tokens
        self.end = tokens.ends[0]
        for token in range(1, len(tokens.starts)):
            self._between(statement, token)
            self.end = tokens.ends[token]

    def _between(self, statement: Commented, token: int) -> None:
        """The comments right before a token: on the line of the one before, or on lines of their own."""
        own_line = False
        while (
            self.next < len(self.comments)
            and self.comments[self.next][0] < statement.tokens.starts[token]
        ):
            start, end = self.comments[self.next]
            same_line = "\n" not in self.text[self.end : start]
            comment = self._take()
            if not same_line:
                own_line = True
                statement.at(token).before.append(comment)
            elif own_line:
                statement.at(token).before[-1] += f" {comment}"
            else:
                statement.at(token - 1).after.append(comment)
            self.end = end

    def _take(self) -> str:
        start, end = self.comments[self.next]
        self.next += 1
        return self.text[start:end].rstrip()

    def _blank_before(self, start: int) -> bool:
        """Whether an empty line is between the last thing and this place."""
        lines = self.text[self.end : start].split("\n")
        return any(not line.strip() for line in lines[1:-1])
