"""A query with outer joins or EXISTS in words: its patterns, what must be missing or there, and when that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.absence import decode_us
from cqc.compiler.wording.expressions import duration_text, name_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cqc.compiler.meaning.absence import Guard, Pattern
    from cqc.compiler.meaning.normal import NormalQuery

    Facts = Callable[[NormalQuery], Iterator[tuple[str, str]]]


def absence_facts(query: NormalQuery, facts: Facts) -> Iterator[tuple[str, str]]:
    """What is delivered, pattern by pattern; `facts` are those of an ordinary query."""
    for pattern in query.patterns:
        yield from _pattern(pattern, "rows", facts, "")
    yield from (fact for fact in facts(query.patterns[0].query) if fact[0] == "asks")
    yield "delivers", ", ".join(name_text(output.name) for output in query.outputs)


def _pattern(pattern: Pattern, name: str, facts: Facts, margin: str) -> Iterator[tuple[str, str]]:
    yield name, margin + " x ".join(name_text(item.alias) for item in pattern.query.items)
    for kind, text in facts(pattern.query):
        if kind not in ("delivers", "asks", "keeps"):
            yield "", f"{margin}  {kind:<10} {text}"
    for guard in pattern.guards:
        yield from _guard(guard, pattern, facts, f"{margin}  ")


def _guard(guard: Guard, pattern: Pattern, facts: Facts, margin: str) -> Iterator[tuple[str, str]]:
    aliases = [name_text(item.alias) for item in pattern.query.items]
    watched = ", ".join(aliases[at] for at in guard.over) or "everything"
    word = "without" if guard.negated else "with"
    is_asked = pattern.query.pull is not None
    when = "" if is_asked else f"; {_when(guard, aliases)}"
    yield "", f"{margin}{word} a match of {watched}{when}"
    for mark in guard.marks:
        yield from _pattern(mark, "", facts, f"{margin}  ")


def _when(guard: Guard, aliases: list[str]) -> str:
    """When it is known that there is none."""
    if not guard.streams:
        return "decided at once"
    bounds = []
    for row in guard.reach:
        known = [
            f"{duration_text(abs(decode_us(us)))} {'after' if us > -1 else 'before'} {aliases[guard.over[at]]}"
            for at, us in enumerate(row)
            if us is not None
        ]
        bounds.append(known[0] if len(known) == 1 else f"the least of {', '.join(known)}")
    last = " or ".join(dict.fromkeys(bounds))
    streams = " and ".join(guard.streams)
    return f"decided when the watermark of {streams} is past {last}"
