"""The graph as JSON: `Graph.to_json`, readable by line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cqc.compiler.program import Program

_MOST_INDENTED = 100  # queries; more is read by programs only


def emit(program: Program) -> str:
    """The document that docs/graph-json.md describes."""
    text = program.graph.to_json()
    if len(program.graph.queries) > _MOST_INDENTED:
        return text + "\n"
    return json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"
