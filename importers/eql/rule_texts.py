"""Files of EQL: queries as text, and detection rules of Elastic in TOML and JSON."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cqc.importers.eql.parse import EqlError
from cqc.importers.rule_files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENDINGS = (".eql", ".toml", ".json", ".ndjson")
LANGUAGE = "eql"


@dataclass(frozen=True)
class RuleText:
    """A query and what is kept of its rule."""

    query: str
    texts: dict[str, str]
    description: str
    path: Path

    @property
    def title(self) -> str:
        return self.texts["title"]


def rule_texts(path: Path) -> Iterator[RuleText | EqlError]:
    """The rules of a file, or why one of them is none.

    Raises:
        EqlError: when the file cannot be read.
    """
    try:
        written = read_text(path)
    except UnicodeDecodeError as error:
        raise EqlError("it is not UTF-8") from error
    if path.suffix.lower() not in ENDINGS[1:]:
        yield RuleText(written, {"title": path.stem}, "", path)
        return
    for found in _objects(path, written):
        yield _rule(found, path)


def _objects(path: Path, written: str) -> list[Any]:
    """The objects of a file: one, an array of them, or one a line."""
    try:
        if path.suffix.lower() == ".toml":
            return [tomllib.loads(written)]
        if path.suffix.lower() == ".ndjson":
            return [json.loads(line) for line in written.splitlines() if line.strip()]
        found = json.loads(written)
    except ValueError as error:
        raise EqlError(f"it cannot be read: {' '.join(str(error).split())}") from error
    return found if isinstance(found, list) else [found]


def _rule(found: Any, path: Path) -> RuleText | EqlError:
    rule = found.get("rule", found) if isinstance(found, dict) else None
    if isinstance(rule, dict) and isinstance(rule.get("attributes"), dict):
        rule = rule["attributes"] | {"rule_id": rule.get("id")}
    if not isinstance(rule, dict) or not isinstance(rule.get("query"), str):
        return EqlError("it is no detection rule: it has no query")
    title = str(rule.get("name") or path.stem)
    language = rule.get("language", rule.get("type", LANGUAGE))
    if language != LANGUAGE:
        return EqlError(f"{title}: its language is {language}, not EQL")
    texts = {
        "title": title,
        "id": str(rule.get("rule_id") or rule.get("id") or ""),
        "level": str(rule.get("severity") or ""),
        "tags": _listed(rule.get("tags")),
        "author": _listed(rule.get("author")),
    }
    return RuleText(rule["query"], texts, str(rule.get("description") or ""), path)


def _listed(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
