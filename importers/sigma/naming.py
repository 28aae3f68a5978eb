"""What a rule's query is called, and what is kept of the rule beside its condition."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from cqc.importers.program_text import comment, plain_name

if TYPE_CHECKING:
    from collections.abc import Iterable

SHORT_ID = 8


def query_names(rules: Iterable[Any]) -> dict[int, str]:
    """A name for each rule, by its `id()`: the title in lower case with `_`, made unique by the rule's id."""
    rules = list(rules)
    titles = [plain_name(rule.title or "") or "rule" for rule in rules]
    often = Counter(titles)
    names: dict[int, str] = {}
    taken: set[str] = set()
    for rule, title in zip(rules, titles, strict=True):
        for candidate in _candidates(title, rule, is_unique=often[title] == 1):
            if candidate not in taken:
                names[id(rule)] = candidate
                taken.add(candidate)
                break
    return names


def _candidates(title: str, rule: Any, *, is_unique: bool) -> Iterable[str]:
    if is_unique or rule.id is None:
        yield title
    if rule.id is not None:
        text = plain_name(str(rule.id))
        yield f"{title}_{text[:SHORT_ID]}"
        yield f"{title}_{text}"
    number = 2
    while True:
        yield f"{title}_{number}"
        number += 1


def kept_texts(rule: Any) -> dict[str, str]:
    """What the WITH of a rule's query says."""
    return {
        "title": _line(rule.title),
        "id": _line(rule.id),
        "level": "" if rule.level is None else rule.level.name.lower(),
        "status": "" if rule.status is None else rule.status.name.lower(),
        "tags": ", ".join(str(tag) for tag in rule.tags),
        "author": _line(rule.author),
    }


def heading(rule: Any) -> str:
    """The comment above a rule's statements."""
    texts = kept_texts(rule)
    lines = [texts["title"]]
    lines += [f"{key}: {texts[key]}" for key in ("id", "level", "status", "tags") if texts[key]]
    if rule.description:
        lines.append(_line(rule.description))
    source = getattr(rule.source, "path", None)
    if source is not None:
        lines.append(f"from {source.name}")
    return comment(lines)


def _line(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())
