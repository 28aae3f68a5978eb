"""A holder of one query, for tests that push rows at it by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

import cqc
from cqc.compiler.graph.graph import Graph
from cqc.runtime.columns.columns import Column, from_python, to_python
from cqc.runtime.windows.decided_plan import DecidedPlan
from cqc.runtime.windows.decided_queries import holder_of

if TYPE_CHECKING:
    from cqc.runtime.windows.holder import Holder

DECLARED = "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT);"
SECOND = 1_000_000
Row = tuple[int, str | None, int | None]


class Held:
    """Takes rows (event time in seconds, k, x), and gives decided rows with their times in seconds."""

    def __init__(self, text: str, settings: str = "") -> None:
        program = cqc.compile(DECLARED + settings + text)
        graph = Graph()
        self.node = graph.add(program.normal("q1")).query
        self.begin()

    def begin(self) -> None:
        self.plan = DecidedPlan(self.node)
        self.holder: Holder = holder_of(self.plan)

    def take(self, *rows: Row) -> None:
        types = [column.type for column in self.node.items[0].relation.columns]
        columns = [from_python(type_, [row[at] for row in rows]) for at, type_ in enumerate(types)]

        def column(place: tuple[int, int]) -> Column:
            return columns[place[1]]

        ts_us = np.array([row[0] * SECOND for row in rows], np.int64)
        self.holder.take(self.plan.rows(ts_us, column))

    def decide(self, watermark: int) -> list[tuple[object, ...]]:
        us = watermark if abs(watermark) > 2**60 else watermark * SECOND
        found = []
        for each in self.holder.decide(us):
            values = [to_python(column) for column in each.columns]
            times = (each.times_us // SECOND).tolist()
            found += list(zip(times, *values, strict=True))
        return found

    def restart(self) -> None:
        """Go on from what a checkpoint would hold."""
        state = json.loads(json.dumps(self.holder.save()))
        self.begin()
        self.holder.load(state)
