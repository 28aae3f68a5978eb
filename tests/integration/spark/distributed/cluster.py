"""The stages of a distributed run in this process: tasks, cells and a driver as on Spark, without a JVM.

What travels is packed and unpacked as on Spark, and workers forget what they hold at random, so cells are rebuilt from what is
durable of them.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.cases.cells import to_datetime
from cqc.runtime.cases.executor import row_of
from cqc.runtime.columns.convert.arrow_out import to_arrow
from cqc.runtime.deliver.results import results_of
from cqc.runtime.intake.typed_batch import Intake
from cqc.runtime.sinks.protocol import shape_of_query
from cqc.runtime.spark.distributed.coordinator import Coordinator
from cqc.runtime.spark.distributed.coordinator_state import CoordinatorState
from cqc.runtime.spark.distributed.messages.spec import Header, Layout, Spec, digest
from cqc.runtime.spark.distributed.stages.cell import Cells
from cqc.runtime.spark.distributed.stages.stage_one import StageOne
from tests.language.executors import plain, shown, time_us

if TYPE_CHECKING:
    from collections.abc import Iterable

    import cqc
    from cqc.compiler.meaning.bound import Query
    from cqc.runtime.deliver.results import ResultBlock
    from tests.language.executors import Inputs, Timed
    from tests.support.oracle.scalars import Row


class MemoryStore:
    """What is durable of a cell, in memory."""

    def __init__(self) -> None:
        self.text: str | None = None
        self.kept: dict[int, bytes] = {}

    def record(self) -> str | None:
        return self.text

    def set_record(self, text: str) -> None:
        self.text = text

    def entries(self) -> Iterable[tuple[int, bytes]]:
        return reversed(self.kept.items())

    def put(self, batch: int, blob: bytes) -> None:
        self.kept[batch] = blob

    def remove(self, batch: int) -> None:
        del self.kept[batch]


class Cluster:
    """A driver, two workers and what is durable."""

    def __init__(
        self,
        program: cqc.Program,
        partitions: int,
        seed: int,
        *,
        tables: dict[str, Any] | None = None,
        keep_past: bool = True,
        strategy: Strategy | None = None,
        collect: bool = True,
        forgets: bool = True,
        max_instants: int | None = None,
    ) -> None:
        self.program = program
        self.forgets = forgets
        self.random = random.Random(seed)
        self.coordinator = Coordinator(
            program,
            partitions,
            strategy=strategy or Strategy(),
            keep_past=keep_past,
            max_instants=max_instants,
        )
        self.coordinator.skew.least = 8
        self.intakes = {name: Intake(each) for name, each in program.catalog.relations.items()}
        taken = {name: self.intakes[name].take(rows) for name, rows in (tables or {}).items()}
        packed = self.coordinator.spec(taken, collect=collect, shuffle_partitions=3).pack()
        self.specs = [Spec.unpack(packed, digest(packed)) for _ in range(2)]
        self.ones = [StageOne(spec) for spec in self.specs]
        self.twos = [Cells(spec) for spec in self.specs]
        self.stores: dict[int, MemoryStore] = {}
        self.batch = 0
        self.blocks: list[list[ResultBlock]] = []
        self.answers: dict[int, ResultBlock] = {}

    def run(self, rows: list[tuple[str, dict[str, object]]], **how: Any) -> None:
        """One micro-batch, its rows spread over some tasks."""
        header = Header.from_json(self.coordinator.header(self.batch, **how).to_json())
        tasks = self.random.randint(1, 3)
        cuts = sorted(self.random.randint(0, len(rows)) for _ in range(tasks - 1))
        sent: dict[int, list[tuple[int, bytes]]] = {}
        for task, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(rows)], strict=True)):
            worker = self.random.randrange(2)
            taken = [
                (fold(name), self.intakes[fold(name)].take([row])) for name, row in rows[start:stop]
            ]
            for key, origin, blob in self.ones[worker].run(header, task, taken, ticks=task == 0):
                sent.setdefault(key, []).append((origin, blob))
        layout = Layout(3)
        for group in self.coordinator._chooser.groups:
            layout.add(group)
        found: list[bytes] = []
        for key, blobs in sent.items():
            place = layout.place_of(key)
            self.random.shuffle(blobs)
            if place is None:
                found += [blob for _, blob in blobs]
                continue
            cells = self.twos[self.random.randrange(2) if self.forgets else 0]
            if self.forgets and self.random.random() < 0.3:
                cells.forget()
            store = self.stores.setdefault(key, MemoryStore())
            found.append(cells.process(place, header, blobs, store).pack())
        self.random.shuffle(found)
        findings = self.coordinator.take(found, self.batch)
        text = json.dumps(self.coordinator.state.to_json())
        self.coordinator.state = CoordinatorState.from_json(json.loads(text))
        self.blocks.append(findings.blocks)
        self.answers.update(findings.answers)
        self.batch += 1


class ClusterExecutor:
    """Runs `.cqt` cases on a cluster of cells in this process."""

    def __init__(
        self, program: cqc.Program, partitions: int, seed: int, *, keep_past: bool = True
    ) -> None:
        self.program = program
        self.partitions = partitions
        self.seed = seed
        self.keep_past = keep_past
        self.queries = {query.name: query for query in program.queries}
        self.tables: dict[str, list[dict[str, object]]] = {}
        self.cluster: Cluster | None = None
        self.largest = [1, 2, 4, 1000][seed % 4]

    def started(self) -> Cluster:
        if self.cluster is None:
            self.cluster = Cluster(
                self.program,
                self.partitions,
                self.seed,
                tables=self.tables,
                keep_past=self.keep_past,
            )
        return self.cluster

    def push(self, inputs: Inputs) -> None:
        relations = self.program.catalog.relations
        waiting = []
        for name, row in inputs:
            if relations[fold(name)].is_stream:
                waiting.append((name, self.named(name, row)))
            else:
                self.tables.setdefault(fold(name), []).append(self.named(name, row))
        cluster = self.started()
        while waiting:
            size = cluster.random.randint(1, self.largest)
            cluster.run(waiting[:size])
            del waiting[:size]

    def named(self, name: str, row: Row) -> dict[str, object]:
        columns = self.program.catalog.relations[fold(name)].declared
        return {
            column.name: shown(value, column.type)
            for column, value in zip(columns, row, strict=True)
        }

    def register(self, text: str) -> Query:
        query = self.program.bind_one(text)
        cluster = self.started()
        handle = cluster.coordinator.register(text, None, cluster.batch)
        self.queries[handle.name] = query
        return query

    def unregister(self, name: str) -> None:
        cluster = self.started()
        cluster.coordinator.unregister(name, cluster.batch)

    def invoke(self, name: str, at_us: int | None) -> list[Row]:
        cluster = self.started()
        numeric = shape_of_query(self.queries[name]).time_type is not ColumnType.TIMESTAMP
        at = None if at_us is None else at_us / 1e6 if numeric else to_datetime(at_us)
        ask = cluster.coordinator.ask(name, at)
        cluster.run([], asks=(ask,))
        block = cluster.answers.pop(ask.number)
        columns = [to_arrow(column).to_pylist() for column in block.own_columns()]
        return [tuple(map(plain, row)) for row in zip(*columns, strict=True)]

    def results(self) -> dict[str, list[Timed]]:
        cluster = self.started()
        cluster.run([], ended=True)
        found: dict[str, list[Timed]] = {name: [] for name in self.queries}
        for blocks in cluster.blocks:
            for result in results_of(blocks):
                time = result.ts if result.at is None else result.at
                found[result.query].append((time_us(time), row_of(result)))
        return found
