"""Where each query is answered when the work is spread over partitions, why, and what crosses the network for it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from cqc.compiler.graph.partitioning import place
from cqc.compiler.wording.expressions import name_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cqc.compiler.graph.partitioning import Axis, Group
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.program import Program

_MOST_NAMES = 8


def emit(program: Program, partitions: int, weights: Mapping[str, float] | None = None) -> str:
    """The explanation for `--distribute` with so many partitions."""
    nodes = list(program.graph.queries.values())
    placement = place(nodes, partitions, weights)
    relations = program.catalog.relations
    lines = [f"Distributed over {partitions:,} {'partition' if partitions == 1 else 'partitions'}"]
    if placement.stateless:
        lines.append(f"  where tuples are read: {_names(placement.stateless)}")
        lines.append("    nothing crosses the network but results")
    for group in placement.groups:
        lines += [f"  {line}" for line in _group(group, relations)]
    tables = [each for each in relations.values() if not each.is_stream]
    if tables:
        shown = ", ".join(name_text(each.name) for each in tables)
        lines.append(f"  tables on every executor: {shown}")
    return "\n".join(lines) + "\n"


def _group(group: Group, relations: Mapping[str, Relation]) -> Iterator[str]:
    cells = "one cell" if group.cells == 1 else f"{group.cells:,} cells"
    yield f"in {cells}: {_names(group.queries)}"
    yield f"  because {group.reason}"
    for axis in group.axes:
        yield f"  {_axis(axis, relations)}"
    for stream in sorted(group.streams):
        yield f"  {name_text(relations[stream].name)}: {_travel(group, stream)}"


def _axis(axis: Axis, relations: Mapping[str, Relation]) -> str:
    if axis.dealt is not None:
        return f"{axis.size:,} places, {name_text(relations[axis.dealt].name)} dealt out in turn"
    columns = [
        f"{name_text(relations[stream].name)}.{name_text(relations[stream].columns[column].name)}"
        for stream, column in axis.columns
    ]
    return f"{axis.size:,} places by hash of {' = '.join(columns)}"


def _travel(group: Group, stream: str) -> str:
    """What crosses the network of a stream."""
    which = "every tuple" if stream in group.whole else "tuples that pass the filters"
    copies = group.copies(stream)
    if group.cells == 1:
        return f"{which}, to one place"
    return f"{which}, to {'one cell' if copies == 1 else f'{copies:,} cells'} each"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(name_text(name) for name in islice(names, _MOST_NAMES))
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown
