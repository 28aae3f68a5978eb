"""One join node of a few queries over three small streams, fed row by row: for tests of a part of it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler import compile as compile_program
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.physical.executors import Flat
from cqc.runtime.columns.columns import from_python
from cqc.runtime.columns.packet import Packet
from cqc.runtime.join.choice.build_join import build_join
from cqc.runtime.join.execute.join_node import push_packet
from cqc.runtime.state.shared_state import SharedState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.graph.nodes import Body
    from cqc.compiler.physical.executors import Executor
    from cqc.runtime.join.choice.build_join import JoinOptions
    from cqc.runtime.join.execute.results import JoinResults
    from cqc.runtime.lineage.matches import Found

SECOND = 1_000_000
STREAMS = "".join(
    f"CREATE STREAM {name} (ts BIGINT, k BIGINT, l BIGINT, v DOUBLE);" for name in "abc"
)
PAIR = "SELECT a.k AS x FROM a, b WHERE a.k = b.k MAXWINDOW 5 SEC;"
CHAIN = "SELECT a.k AS x FROM a, b, c WHERE a.k = b.k AND b.l = c.l MAXWINDOW 5 SEC;"
TRIANGLE = (
    "SELECT a.k AS x FROM a, b, c WHERE a.k = b.k AND b.l = c.l AND a.l = c.k MAXWINDOW 5 SEC;"
)
TYPES = (ColumnType.BIGINT, ColumnType.BIGINT, ColumnType.BIGINT, ColumnType.DOUBLE)
Row = tuple[int, int | None, int | None, float | None]  # seconds, k, l, v


class SmallNode:
    """All queries of a text at one node, in the order in which they are written."""

    def __init__(
        self, text: str, executor: Executor | None = None, options: JoinOptions | None = None
    ) -> None:
        program = compile_program(STREAMS + text)
        self.states = {name: SharedState(each) for name, each in program.catalog.relations.items()}
        self.bodies: list[Body] = list(program.graph.bodies.values())
        first = self.bodies[0]
        assert first.host is not None
        self.join = build_join(first.host, executor or Flat(), self.states, options, first)
        self.seats = []
        for body in self.bodies:
            assert body.host is not None
            if not self.join.serves(body.host):
                self.join.take(body.host)
            self.seats.append(self.join.add(body))

    def push(self, name: str, rows: Sequence[Row], *, more: bool = False) -> list[Found]:
        """Push rows of a stream; what was found."""
        return push_packet(
            self.states[name], [self.join], packet_of(rows), keep_all=True, more=more
        )


def packet_of(rows: Sequence[Row]) -> Packet:
    """Rows as a packet."""
    times = [SECOND * row[0] for row in rows]
    columns = [from_python(TYPES[at], [row[at] for row in rows]) for at in range(1, 4)]
    ts_us = np.array(times, np.int64)
    return Packet((from_python(TYPES[0], times), *columns), ts_us, np.arange(len(rows)))


def found_positions(found: Sequence[Found | JoinResults]) -> list[tuple[int, ...]]:
    """The positions of the combinations, sorted."""
    return sorted(
        tuple(int(of_item[row]) for of_item in each.positions)
        for each in found
        for row in range(len(each))
    )


def assert_can_all(kind: type, protocol: type) -> None:
    """Whatever a protocol asks for is there, with the same parameters."""
    asked = {name for name in vars(protocol) if not name.startswith("_")}
    assert asked <= {name for name, _ in inspect.getmembers(kind)}
    for name in asked:
        wanted, own = getattr(protocol, name), getattr(kind, name)
        if inspect.isfunction(wanted):
            parameters = [inspect.signature(each).parameters for each in (own, wanted)]
            assert list(parameters[0].items()) == list(parameters[1].items())
