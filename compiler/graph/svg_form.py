"""The graph as an SVG picture, drawn here: no other program is needed to see it.

Boxes are as wide as their text, a column of boxes as its widest. Edges are curves in the gaps between columns, and go straight
through a column where `layers` left them room, so that no edge runs through a box and no text lies under another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from cqc.compiler.graph.fold_deliveries import summarise
from cqc.compiler.graph.layers import is_waypoint, layout_of
from cqc.compiler.graph.nodes import OperatorKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.graph.layers import Layout
    from cqc.compiler.graph.nodes import Edge, Operator
    from cqc.compiler.program import Program

_CHARACTER = 7.3  # the width of one at this size, generously
_PADDING = 12.0
_HEIGHT = 42.0
_ROW = 58.0
_LANE = 14.0  # an edge between two boxes
_GAP = 90.0
_MARGIN = 20.0
_LONGEST_LABEL = 44
_SAMPLE = 40.0  # the line of the legend
_FEEDBACK_MEANS = "feedback: what a join tells its inputs not to send"

_COLOURS = {
    OperatorKind.SOURCE: "#d9ead3",
    OperatorKind.VIEW: "#c9e4ca",
    OperatorKind.GROUPED_FILTER: "#cfe2f3",
    OperatorKind.SHARED_STATE: "#fff2cc",
    OperatorKind.MULTI_JOIN: "#f4cccc",
    OperatorKind.RESIDUAL: "#ead1dc",
    OperatorKind.HISTORY: "#fce5cd",
    OperatorKind.ABSENCE: "#d0e0e3",
    OperatorKind.DECIDED: "#d5dbe3",
    OperatorKind.ALERT: "#f9cb9c",
    OperatorKind.AGGREGATE: "#d9d2e9",
    OperatorKind.DELIVER: "#eeeeee",
}

_STYLE = (
    "text{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px;fill:#222}"
    ".kind{font-size:10px;fill:#666}"
    "path{fill:none;stroke:#888;stroke-width:1.2}.feedback{stroke-dasharray:4 3;stroke:#c55}"
    "rect{stroke:#777;stroke-width:1}"
)

_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
    'viewBox="0 0 {width:.0f} {height:.0f}">'
)
_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
    'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" style="fill:#888"/></marker></defs>'
)


@dataclass(frozen=True, slots=True)
class _Box:
    x: float
    y: float
    width: float
    operator: Operator
    text: str


def emit(program: Program) -> str:
    """The picture of a program; of thousands of queries, one box per group of them."""
    return render_svg(*summarise(program.graph.nodes, program.graph.edges))


def render_svg(operators: Sequence[Operator], edges: Sequence[Edge]) -> str:
    """Operators and edges as an SVG document."""
    layout = layout_of(operators, edges, _ROW, _LANE)
    boxes, columns = _place(operators, layout)
    width = max((box.x + box.width for box in boxes.values()), default=0.0) + _MARGIN
    height = max(layout.heights.values(), default=0.0) + _HEIGHT / 2 + 2 * _MARGIN
    legend: list[str] = []
    if any(edge.feedback for edge in edges):
        legend = [_legend(height)]
        width = max(width, 2 * _MARGIN + _SAMPLE + len(_FEEDBACK_MEANS) * _CHARACTER)
        height += _ROW / 2
    lines = [
        _SVG.format(width=width, height=height),
        f"<style>{_STYLE}</style>",
        _ARROW,
        f'<rect x="0" y="0" width="{width:.0f}" height="{height:.0f}" fill="white" stroke="none"/>',
        *(_way(number, edge, boxes, columns, layout) for number, edge in enumerate(edges)),
        *(_box(box) for box in boxes.values()),
        *legend,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _legend(y: float) -> str:
    """A piece of the dashed line, and what it stands for."""
    end = _MARGIN + _SAMPLE
    return (
        f'<path class="feedback" d="M{end:.1f} {y:.1f} L{_MARGIN:.1f} {y:.1f}" marker-end="url(#arrow)"/>'
        f'<text class="kind" x="{end + 8:.1f}" y="{y + 4:.1f}">{_FEEDBACK_MEANS}</text>'
    )


def _place(
    operators: Sequence[Operator], layout: Layout
) -> tuple[dict[str, _Box], dict[str, tuple[float, float]]]:
    """The boxes by operator, and for each waypoint the left and right end of its column."""
    by_id = {operator.id: operator for operator in operators}
    boxes: dict[str, _Box] = {}
    columns: dict[str, tuple[float, float]] = {}
    x = _MARGIN
    for layer in layout.layers:
        own = [by_id[id_] for id_ in layer if not is_waypoint(id_)]
        longest = max(len(text) for each in own for text in (_label(each), _kind(each)))
        width = longest * _CHARACTER + 2 * _PADDING
        for operator in own:
            y = _MARGIN + layout.heights[operator.id] - _HEIGHT / 2
            boxes[operator.id] = _Box(x, y, width, operator, _label(operator))
        columns |= {id_: (x, x + width) for id_ in layer if is_waypoint(id_)}
        x += width + _GAP
    return boxes, columns


def _label(operator: Operator) -> str:
    label = operator.label
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 3] + "..."


def _kind(operator: Operator) -> str:
    kind: str = operator.kind.value
    if operator.kind is OperatorKind.DELIVER and operator.queries == 1:
        return kind
    queries = "1 query" if operator.queries == 1 else f"{operator.queries:,} queries"
    return f"{kind}, {queries}"


def _text(text: str) -> str:
    """A text inside an element. Quoted names may hold control characters, which XML cannot."""
    return escape(_NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text))


_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _box(box: _Box) -> str:
    middle = box.x + box.width / 2
    return (
        f'<g><title>{_text(box.operator.label)}</title><rect x="{box.x:.1f}" y="{box.y:.1f}" '
        f'width="{box.width:.1f}" height="{_HEIGHT:.0f}" rx="5" fill="{_COLOURS[box.operator.kind]}"/>'
        f'<text class="kind" x="{middle:.1f}" y="{box.y + 16:.1f}" text-anchor="middle">'
        f"{_text(_kind(box.operator))}</text>"
        f'<text x="{middle:.1f}" y="{box.y + 32:.1f}" text-anchor="middle">{_text(box.text)}</text></g>'
    )


def _way(
    number: int,
    edge: Edge,
    boxes: Mapping[str, _Box],
    columns: Mapping[str, tuple[float, float]],
    layout: Layout,
) -> str:
    """An edge: curves in the gaps, straight through the columns between; feedback leaves below the middle and returns there."""
    source, target = boxes[edge.source], boxes[edge.target]
    backward = target.x < source.x
    side = _HEIGHT * (0.8 if edge.feedback else 0.5)
    start = (source.x if backward else source.x + source.width, source.y + side)
    end = (target.x + target.width if backward else target.x, target.y + side)
    bend = -_GAP / 2 if backward else _GAP / 2
    x, y = start
    drawn = [f"M{x:.1f} {y:.1f}"]
    for waypoint in reversed(layout.routes[number]) if backward else layout.routes[number]:
        left, right = columns[waypoint]
        enter, leave = (right, left) if backward else (left, right)
        height = _MARGIN + layout.heights[waypoint]
        drawn.append(_curve(x, y, enter, height, bend))
        drawn.append(f"L{leave:.1f} {height:.1f}")
        x, y = leave, height
    drawn.append(_curve(x, y, *end, bend))
    kind = ' class="feedback"' if edge.feedback else ""
    return f'<path{kind} d="{" ".join(drawn)}" marker-end="url(#arrow)"/>'


def _curve(x: float, y: float, to_x: float, to_y: float, bend: float) -> str:
    return f"C{x + bend:.1f} {y:.1f} {to_x - bend:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
