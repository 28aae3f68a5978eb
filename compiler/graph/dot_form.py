"""The graph in Graphviz's language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.graph.fold_deliveries import summarise
from cqc.compiler.graph.nodes import OperatorKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cqc.compiler.graph.nodes import Edge, Operator
    from cqc.compiler.program import Program

_SHAPES = {
    OperatorKind.SOURCE: "cds",
    OperatorKind.VIEW: "parallelogram",
    OperatorKind.GROUPED_FILTER: "invtrapezium",
    OperatorKind.SHARED_STATE: "cylinder",
    OperatorKind.MULTI_JOIN: "hexagon",
    OperatorKind.RESIDUAL: "note",
    OperatorKind.HISTORY: "folder",
    OperatorKind.ABSENCE: "octagon",
    OperatorKind.AGGREGATE: "house",
    OperatorKind.DECIDED: "component",
    OperatorKind.ALERT: "doubleoctagon",
    OperatorKind.DELIVER: "box",
}


def emit(program: Program) -> str:
    """The picture of a program; of thousands of queries, one box per group of them."""
    return render_dot(*summarise(program.graph.nodes, program.graph.edges))


def render_dot(operators: Iterable[Operator], edges: Iterable[Edge]) -> str:
    """Operators and edges as a digraph; feedback edges are dashed and say so."""
    lines = ["digraph cqc {", "  rankdir=LR;", '  node [fontname="sans-serif", fontsize=11];']
    for operator in operators:
        label = _quoted(f"{operator.kind.value}\n{operator.label}")
        lines.append(f"  {_quoted(operator.id)} [shape={_SHAPES[operator.kind]}, label={label}];")
    for edge in edges:
        style = (
            " [style=dashed, constraint=false, label=feedback, fontsize=9]" if edge.feedback else ""
        )
        lines.append(f"  {_quoted(edge.source)} -> {_quoted(edge.target)}{style};")
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
