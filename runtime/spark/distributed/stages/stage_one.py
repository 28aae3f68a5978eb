"""Stage one: what happens to rows where they are read.

A task types its rows, rejects what does not fit and drops what is late by the clocks of the header; answers the queries over one
stream; and packs the tuples that joins and pull queries want, one blob for each cell. The engine is the one that every run uses,
made once in each worker process.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cqc.compiler import Program
from cqc.compiler.functions.registered import adopt
from cqc.compiler.graph.graph import Graph
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.engine.engine import Engine
from cqc.runtime.intake.typed_batch import Intake, join_taken
from cqc.runtime.spark.distributed.messages.spec import Change, Layout, opened
from cqc.runtime.spark.distributed.stages.routing import Router
from cqc.runtime.spark.distributed.stages.wire import Output, StreamPart, pack_tuples
from cqc.runtime.spark.rows.row_spans import gaps_of, spans_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from cqc.compiler.graph.partitioning import Group
    from cqc.compiler.meaning.catalog import Catalog
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.spark.distributed.messages.spec import Header, Spec

Row = tuple[
    int, int, bytes
]  # the key of a cell, the origin that orders rows of one cell, and a blob


def bare_program(catalog: Catalog) -> Program:
    """A program without queries; an engine over it takes queries that were compiled elsewhere."""
    return Program(catalog, Graph(), ())


class StageOne:
    """Takes the rows of one task after another, in one worker process.

    Args:
        spec: what to do.
        asks: looked at while it works: what it says is why the work has to stop.
    """

    def __init__(self, spec: Spec, asks: Callable[[], str] | None = None) -> None:
        self._spec = spec
        adopt(spec.functions)
        self.relations = spec.catalog.relations
        self.intakes = {name: Intake(relation) for name, relation in self.relations.items()}
        self._layout = Layout(spec.shuffle_partitions)
        self._routers: list[Router] = []
        self._queries: dict[str, NormalQuery] = {}
        self._group_of: dict[str, int] = {}
        self._gaps: dict[str, int] | None = None  # between rows, as queries with EVERY allow them
        self._applied = 0
        self._engine = Engine(
            bare_program(spec.catalog),
            strategy=spec.strategy,
            keep_past=False,
            collect=spec.collect,
        )
        self._engine.watch.asks = asks
        for name, taken in spec.tables.items():
            self._engine.push_typed({name: taken})
        for group in spec.groups:
            self._add_group(group)
            for name in group.queries:
                self._add(name, spec.queries[name], group)
        for name in spec.stateless:
            self._add(name, spec.queries[name], None)

    def knows(self, header: Header) -> bool:
        """Whether the queries of the header are those in force here, or more of them."""
        return self._applied <= len(header.changes)

    def routers(self, header: Header) -> list[Router]:
        """By group, who sends tuples to its cells."""
        self._apply(header)
        return self._routers

    def run(
        self,
        header: Header,
        origin: int,
        rows: Iterable[tuple[str, TypedBatch]],
        *,
        ticks: bool,
        controls: int = 0,
        tasks: int | None = None,
    ) -> Iterator[Row]:
        """What a task sends on.

        Args:
            header: of the micro-batch.
            origin: orders what several tasks send.
            rows: rows of streams (folded names).
            ticks: tell cells that wait for time to pass; one task of a micro-batch does.
            controls: how many rows of the control source the task has heard.
            tasks: how many tasks the micro-batch has, where that is known.
        """
        self._apply(header)
        output = Output(
            origin, controls=controls, ended=header.ended, batch=header.batch, tasks=tasks
        )
        self._listen(output)
        failures = self._engine.failed_evaluations
        before = {} if self._spec.collect else self._engine.result_counts()
        sent: dict[int, dict[str, Packet]] = {}
        for name, packet in self._packets(header, rows, output):
            for router in self._routers:
                if name in router.group.streams:
                    number = router.group.number
                    for cell, chosen in router.route(name, packet, origin, output.load):
                        key = self._layout.key(number, cell)
                        whole = len(chosen) == len(packet)
                        sent.setdefault(key, {})[name] = packet if whole else packet.take(chosen)
            self._engine.push_packets({name: packet})
        for blocks in self._engine.drain_blocks():
            output.blocks += blocks
        output.counts = count_results(self._engine, output, before, collect=self._spec.collect)
        output.failures = self._engine.failed_evaluations - failures
        output.faults = self._engine.faults.take()
        waiting = dict.fromkeys(self._waiting_cells(header) if ticks else ())
        for key, packets in sent.items():
            waiting.pop(key, None)
            blob = pack_tuples(packets)
            output.tuples_sent += sum(map(len, packets.values()))
            output.bytes_sent += len(blob)
            yield key, origin, blob
        for key in waiting:
            yield key, origin, b""
        yield self._layout.result_key(origin), origin, output.pack()

    def _packets(
        self, header: Header, rows: Iterable[tuple[str, TypedBatch]], output: Output
    ) -> Iterator[tuple[str, Packet]]:
        """One packet a stream, without what is rejected or late; what becomes of the rows is counted."""
        takings: dict[str, list[TypedBatch]] = {}
        for name, taken in rows:
            takings.setdefault(name, []).append(taken)
        if self._gaps is None:
            self._gaps = gaps_of(self._queries.values(), self._spec.most_instants)
        gaps = self._gaps
        for name in self.relations:
            if name not in takings:
                continue
            taken = join_taken(takings[name])
            line = self._engine.lines[name]
            line.start_over(header.clocks[name].watermark_us)
            packet = line.accept(taken)
            output.streams[name] = StreamPart(
                line.count.read,
                line.count.late,
                line.count.rejected,
                line.count.reasons,
                line.clock.first_us,
                line.clock.largest_us,
                int(taken.ts_us.max()) if len(taken) else None,
                nulled=line.count.nulled,
                absent=line.count.absent,
                sample=line.count.sample,
            )
            if len(packet) and name in gaps:
                spans = spans_of(packet, line.relation, gaps[name])
                output.streams[name].spans = spans
            if len(packet):
                yield name, packet

    def _listen(self, output: Output) -> None:
        """Keep rows that are left out, for those who want them."""
        self._engine.on_left_out(
            (lambda relation, some: output.rejects.append((fold(relation.name), some)))
            if self._spec.tells_rejects
            else None,
            (lambda relation, packet: output.late.append((fold(relation.name), packet)))
            if self._spec.tells_late
            else None,
        )

    def _waiting_cells(self, header: Header) -> Iterator[int]:
        """The cells that must hear of this micro-batch also when no tuple comes to them."""
        asked = {self._group_of.get(ask.query) for ask in header.asks}
        for router in self._routers:
            number = router.group.number
            names = [name for name, group in self._group_of.items() if group == number]
            queries = [self._queries[name] for name in names]
            wakes = header.ended or header.closing or number in asked
            if wakes or any(_waits(query) for query in queries):
                for cell in range(router.group.cells):
                    yield self._layout.key(number, cell)

    def _apply(self, header: Header) -> None:
        """Let queries come and go as the header says."""
        for text in header.changes[self._applied :]:
            change = Change.from_text(text)
            if change.spread is not None:
                self._routers[change.spread.group].spread(change.spread)
            elif change.normal is not None:
                if change.group is not None and change.group.number == len(self._routers):
                    self._add_group(change.group)
                adopt(opened(change.functions, self._spec.key))
                self._add(change.name, change.normal, change.group)
            else:
                self._remove(change.name)
            self._applied += 1

    def _add_group(self, group: Group) -> None:
        self._layout.add(group)
        self._routers.append(Router(group, keeps_all=group.number == self._spec.keeps_past))

    def _add(self, name: str, query: NormalQuery, group: Group | None) -> None:
        self._gaps = None
        self._queries[name] = query
        if group is None:
            self._engine.register_compiled(query)
        else:
            self._group_of[name] = group.number
            self._routers[group.number].add(query, group)

    def _remove(self, name: str) -> None:
        self._gaps = None
        query = self._queries.pop(name)
        number = self._group_of.pop(name, None)
        if number is None:
            self._engine.unregister(name)
        else:
            self._routers[number].remove(query)


def count_results(
    engine: Engine, output: Output, before: dict[str, int], *, collect: bool
) -> Counter[str]:
    """Results by query that were found since `before`."""
    counts: Counter[str] = Counter()
    if collect:
        for block in output.blocks:
            counts[block.query] += len(block)
    else:
        for name, number in engine.result_counts().items():
            if number > before.get(name, 0):
                counts[name] = number - before.get(name, 0)
    return counts


def _waits(query: NormalQuery) -> bool:
    """Whether results of a query come with time and not with a tuple."""
    if query.patterns or query.decided is not None or query.alert is not None:
        return True
    if query.pull is not None:
        return query.pull.every_us is not None
    if any(item.relation.made_by is not None for item in query.items):
        return True
    return any(item.rows is not None for item in query.items)
