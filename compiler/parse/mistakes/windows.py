"""Windows as other dialects write them: `WINDOW TUMBLING (SIZE 1 MINUTE)`, `FROM TABLE(TUMBLE(...))`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.suggest import window_hint
from cqc.compiler.parse.mistakes.place import Mistake, span_at
from cqc.compiler.parse.mistakes.punctuation import open_brackets

if TYPE_CHECKING:
    from cqc.compiler.parse.mistakes.place import Place


_OURS = frozenset({"TUMBLE", "HOP", "SESSION"})


def foreign_window(place: Place) -> Mistake | None:
    """A word such as TUMBLE just here, or before the bracket that we are in. Nobody can say what the rest should be."""
    for at in _candidates(place):
        word = place.tokens.texts[at]
        hint = window_hint(word)
        if hint is not None and word.upper() in _OURS:
            span = span_at(place.tokens, at)
            return Mistake(make("CQ130", span, function=word.upper(), hint=hint))
        if hint is not None:
            what = f"`{word.upper()}(...)`"
            return Mistake(make("CQ018", span_at(place.tokens, at), what=what, hint=hint))
    return None


def _candidates(place: Place) -> list[int]:
    """The tokens before brackets at the place: `TUMBLE (` where it begins, and where it is still open."""
    kinds = place.tokens.kinds
    opened = open_brackets(kinds[: place.at])[-1:]
    near = [at for at in range(place.at, place.at + 3) if at < len(kinds) and kinds[at] == "("]
    before = [at - 1 for at in (*opened, *near) if at > 0]
    # WINDOW begins a clause, and a condition may be in brackets; it is meant as a function where no clause can begin.
    return [
        at
        for at in before
        if kinds[at] != "WINDOW" or (at == place.at and "WINDOW" not in place.expected)
    ]
