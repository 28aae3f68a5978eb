"""Tokens as they are written: keywords in upper case, names as they are, one space or none in front.

`SELECT x+1` gives out a column named `x+1`. Written as `x + 1` it would have another name, so the tokens of such an output
stay as they are: a gap between two of them becomes one space, and where there is none there will be none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cqc.compiler.syntax import tree as syntax
from cqc.compiler.syntax.tokens import COMPARISON, NAME, NUMBER, PARAMETER, STRING, UNIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.format.comments import Commented

_NO_SPACE_BEFORE = frozenset({",", ")", "]", ".", "::"})
_NO_SPACE_AFTER = frozenset({"(", "[", ".", "::", "~"})
_OPERAND_ENDS = frozenset(
    {NAME, NUMBER, PARAMETER, STRING, UNIT, ")", "]", "END", "NULL", "TRUE", "FALSE", "NOW"}
)


@dataclass(slots=True)
class Word:
    """One token of formatted text.

    `depth` counts the brackets and CASEs around it; `connects` marks AND and OR; `glued` says that nothing may come between
    it and the word before.
    """

    text: str
    kind: str
    is_name: bool
    space: bool
    depth: int
    connects: bool
    glued: bool
    before: list[str]
    after: list[str]

    @property
    def ends_line(self) -> bool:
        """Whether nothing can follow on the same line."""
        return any(comment.startswith("--") or "\n" in comment for comment in self.after)


def words_of(commented: Commented, statement: syntax.Statement) -> list[Word]:
    """The words of a statement, which tell names and calls apart."""
    names, calls = _names_and_calls(statement)
    named_by_text = _named_by_text(statement)
    tokens = commented.tokens
    words: list[Word] = []
    nesting = _Nesting()
    for at, (kind, text, start) in enumerate(
        zip(tokens.kinds, tokens.texts, tokens.starts, strict=True)
    ):
        comments = commented.inside.get(at)
        is_name = (
            start in names or kind == NAME
        )  # what is no name in the tree is a field of a STRUCT
        depth, connects = nesting.enter(kind, is_name)
        output = named_by_text.holding(start)
        space = _has_space(words, kind, text, start, calls, tokens.starts)
        inside = output is not None and start > output.start
        if inside:
            space = start > tokens.ends[at - 1]
        words.append(
            Word(
                text=_written(kind, text, is_name or output is not None),
                kind=kind,
                is_name=is_name,
                space=space,
                depth=depth,
                connects=connects,
                glued=inside and not space,
                before=comments.before if comments else [],
                after=comments.after if comments else [],
            )
        )
    return words


def _names_and_calls(statement: syntax.Statement) -> tuple[set[int], set[int]]:
    """Where names are, and which of them are the names of called functions."""
    names: set[int] = set()
    calls: set[int] = set()
    for node in syntax.nodes_of(statement):
        if isinstance(node, syntax.Name) and (node.text or node.quoted):
            names.add(node.span.start)
        elif isinstance(node, syntax.Call):
            calls.add(node.name.span.start)
        elif isinstance(node, syntax.SecretValue):
            calls.add(node.place.span.start)
        elif isinstance(node, syntax.TableFunction):
            calls.update(word.span.start for word in node.words)
    return names, calls


class _Places:
    """Spans in the order of the text, asked about places in the same order."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._spans = iter(spans)
        self._next = next(self._spans, None)

    def holding(self, place: int) -> Span | None:
        """The span around a place that is not before the last one asked about."""
        while self._next is not None and self._next.end <= place:
            self._next = next(self._spans, None)
        return self._next if self._next is not None and self._next.start <= place else None


def _named_by_text(statement: syntax.Statement) -> _Places:
    """Where the outputs are whose source text is their name."""
    if not isinstance(statement, syntax.CreateQuery | syntax.CreateView):
        return _Places(())
    outputs = list(_outputs(statement.select))
    items = (item for item in outputs if isinstance(item, syntax.SelectItem))
    return _Places(
        item.expression.span
        for item in items
        if item.name is None and syntax.plain_column(item) is None
    )


def _outputs(select: syntax.Select) -> Iterator[syntax.SelectItem | syntax.Star]:
    """The outputs of a query and of all queries in it, in the order of the text."""
    for entry in select.entries:
        yield from _outputs(entry.query)
    for branch in (select, *select.union):
        yield from branch.outputs
        for item in branch.items:
            if item.query is not None:
                yield from _outputs(item.query)
        if branch.alert is not None:
            yield from branch.alert.per


def _written(kind: str, text: str, stays: bool) -> str:
    if stays:
        return text
    if kind == UNIT and len(text) == 1:
        return text.lower()
    if kind == COMPARISON:
        return {"!=": "<>", "==": "="}.get(text, text)
    return text if kind in (NUMBER, STRING, PARAMETER) else text.upper()


def _has_space(
    words: list[Word], kind: str, text: str, start: int, calls: set[int], starts: list[int]
) -> bool:
    if not words:
        return False
    previous = words[-1]
    if kind in _NO_SPACE_BEFORE or (previous.kind in _NO_SPACE_AFTER and not previous.is_name):
        return False
    if kind == "(" and (starts[len(words) - 1] in calls or previous.kind == "CAST"):
        return False
    if kind == UNIT and len(text) == 1 and previous.kind == NUMBER:
        return False
    if previous.kind in ("-", "+") and _is_sign(words):
        return kind in ("-", "+")  # two minus signs in a row would begin a comment
    return True


def _is_sign(words: list[Word]) -> bool:
    """Whether the last word, a plus or minus, has no left operand."""
    if len(words) < 2:
        return True
    before = words[-2]
    return not (before.is_name or before.kind in _OPERAND_ENDS)


class _Nesting:
    """How deep words are inside brackets and CASE, and which ANDs belong to a BETWEEN."""

    def __init__(self) -> None:
        self.depth = 0
        self.cases: list[int] = []
        self.betweens: list[int] = []

    def enter(self, kind: str, is_name: bool) -> tuple[int, bool]:
        """The depth of the next word, and whether it is an AND or OR between conditions."""
        if is_name:
            return self.depth, False
        if kind in (")", "]"):
            self.depth -= 1
        elif kind == "END" and self.cases:
            self.depth = self.cases.pop()
        depth = self.depth
        if kind in ("(", "["):
            self.depth += 1
        elif kind == "CASE":
            self.cases.append(self.depth)
            self.depth += 1
        elif kind == "BETWEEN":
            self.betweens.append(depth)
        elif kind == "AND" and self.betweens and self.betweens[-1] == depth:
            self.betweens.pop()
            return depth, False
        return depth, kind in ("AND", "OR")
