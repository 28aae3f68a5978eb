"""The graph as a Mermaid flowchart, for Markdown pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.graph.fold_deliveries import summarise
from cqc.compiler.graph.nodes import OperatorKind

if TYPE_CHECKING:
    from cqc.compiler.program import Program

_BRACKETS = {
    OperatorKind.SOURCE: ("([", "])"),
    OperatorKind.VIEW: ("[/", "/]"),
    OperatorKind.GROUPED_FILTER: ("[\\", "/]"),
    OperatorKind.SHARED_STATE: ("[(", ")]"),
    OperatorKind.MULTI_JOIN: ("{{", "}}"),
    OperatorKind.RESIDUAL: (">", "]"),
    OperatorKind.HISTORY: ("[(", ")]"),
    OperatorKind.ABSENCE: ("((", "))"),
    OperatorKind.AGGREGATE: ("[[", "]]"),
    OperatorKind.DECIDED: ("[[", "]]"),
    OperatorKind.ALERT: ("(((", ")))"),
    OperatorKind.DELIVER: ("[", "]"),
}


def emit(program: Program) -> str:
    """The flowchart; feedback edges are dotted and say so."""
    operators, edges = summarise(program.graph.nodes, program.graph.edges)
    numbers = {operator.id: f"n{at}" for at, operator in enumerate(operators)}
    lines = ["flowchart LR"]
    for operator in operators:
        before, after = _BRACKETS[operator.kind]
        text = f"{operator.kind.value}<br/>{_escaped(operator.label)}"
        lines.append(f'  {numbers[operator.id]}{before}"{text}"{after}')
    for edge in edges:
        arrow = "-.->|feedback|" if edge.feedback else "-->"
        lines.append(f"  {numbers[edge.source]} {arrow} {numbers[edge.target]}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    for raw, entity in (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(raw, entity)
    return text.replace("#", "#35;") if "#" in text else text
