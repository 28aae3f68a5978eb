"""Words to lines of at most 100 columns, comments included.

What fits on a line stays on one. A longer list is broken after commas and before AND and OR, and only a single thing that
is itself too long is broken anywhere. A comment that ends its line breaks it wherever it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cqc.compiler.format.words import Word

WIDTH = 100


class Lines:
    """Lines being written. `indent` is where lines go on that had to be broken."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.current = ""
        self.is_empty = True  # nothing but indentation on the current line
        self.indent = 0

    def start(self, text: str, indent: int) -> None:
        """Begin a new line with some text; what does not fit goes on at `indent`."""
        self.finish()
        self.current, self.is_empty, self.indent = text, not text.strip(), indent

    def finish(self) -> None:
        """End the current line."""
        if not self.is_empty:
            self.done.append(self.current)
        self.current, self.is_empty = "", True

    def break_line(self, depth: int = 0) -> None:
        self.finish()
        self.current = " " * (self.indent + 2 * depth)

    def put(self, word: Word, depth: int = 0) -> None:
        """Write a word on the current line, with the comments around it."""
        for comment in word.before:
            self.break_line(depth)
            self.current += comment
            self.is_empty = False
        if word.before:
            self.break_line(depth)
        space = " " if word.space and not self.is_empty and not self.current.endswith(" ") else ""
        self.current += space + word.text
        self.is_empty = False
        for comment in word.after:
            self.current += ("  " if comment.startswith("--") else " ") + comment
        if word.ends_line:
            self.break_line(depth)

    def fits(self, words: Sequence[Word]) -> bool:
        """Whether all these words go on the current line."""
        if any(word.before for word in words) or any(word.ends_line for word in words[:-1]):
            return False
        return len(self.current) + width_of(words) <= WIDTH

    def write(self, words: Sequence[Word], base_depth: int = 0) -> None:
        """Write words, broken where they must be."""
        if self.fits(words):
            for word in words:
                self.put(word)
            return
        for chunk in chunks_of(words):
            depth = max(chunk[0].depth - base_depth, 0)
            if not self.is_empty and len(self.current) + width_of(chunk) > WIDTH:
                self.break_line(depth)
            for word in chunk:
                if (
                    not self.is_empty
                    and word.space
                    and len(self.current) + width_of([word]) > WIDTH
                ):
                    self.break_line(max(word.depth - base_depth, 0))
                self.put(word, max(word.depth - base_depth, 0))


def width_of(words: Sequence[Word]) -> int:
    """The columns that words take on a line; comments at its end do not count."""
    width = 0
    for word in words:
        width += len(word.text) + word.space
        width += sum(1 + len(comment) for comment in word.after if not word.ends_line)
    return width


def chunks_of(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Words that belong on one line: a list is broken after commas, a condition before AND and OR."""
    chunk: list[Word] = []
    for word in words:
        follows_comma = bool(chunk) and chunk[-1].kind == ","
        if chunk and (word.connects or follows_comma) and not word.glued:
            yield chunk
            chunk = []
        chunk.append(word)
    if chunk:
        yield chunk


def split_at_connectives(words: Sequence[Word]) -> list[list[Word]]:
    """A condition as the operands of its outermost AND or OR chain, each with the AND or OR before it."""
    if not words:
        return []
    lowest = words[0].depth
    outer = [word for word in words if word.connects and word.depth == lowest]
    operator = "OR" if any(word.kind == "OR" for word in outer) else "AND"
    operands: list[list[Word]] = [[]]
    for word in words:
        if word.connects and word.depth == lowest and word.kind == operator and operands[-1]:
            operands.append([])
        operands[-1].append(word)
    return operands
