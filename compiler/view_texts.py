"""Which views a query reads, directly and through others, with their texts.

Most queries of a large program read none, and their texts do not have to be parsed to see that: no word of them begins a view's name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cqc.compiler.bind.statements.bind_program import names_read
from cqc.compiler.diagnostics.source import SourceFile
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.parse.parser import parse
from cqc.compiler.syntax.tree import CreateQuery, CreateView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.compiler.meaning.catalog import Relation

_WORD = re.compile(r"\w+")


class ViewTexts:
    """The views of a program, by folded name, with what each of them reads."""

    def __init__(self, views: Mapping[str, Relation]) -> None:
        self._texts: dict[str, str] = {}
        self._read: dict[str, list[str]] = {}
        for name, relation in views.items():
            view = relation.view
            if view is not None and view.declaration is not None:
                self._texts[name] = view.declaration.span.text
                self._read[name] = self._views_among(names_read(view.declaration.select), views)
        words = [_WORD.search(name) for name in self._texts]
        self._has_odd_names = None in words
        self._words = {word.group() for word in words if word is not None}

    def read_by(self, text: str) -> dict[str, str]:
        """The texts of the views that a query reads, by folded name."""
        if not self._has_odd_names and self._words.isdisjoint(_WORD.findall(fold(text))):
            return {}
        waiting: list[str] = []
        for statement in parse(SourceFile("<view>", text))[0].statements:
            if isinstance(statement, CreateQuery | CreateView):
                waiting += self._views_among(names_read(statement.select), self._texts)
        found: dict[str, str] = {}
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = self._texts[name]
                waiting += self._read[name]
        return found

    @staticmethod
    def _views_among(names: set[str], views: Mapping[str, object]) -> list[str]:
        return [name for name in names if name in views]
