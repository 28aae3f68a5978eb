"""One run of Teddies' join in one setting, with the windows full before the clock starts.

The windows are filled in the engine's own way, whatever the setting: at 256 partners a probe, one tuple at a time, that would
take far longer than what is measured.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import cqc
from cqc.benchmarks.harness.strategies import Strategy, Timed
from cqc.runtime.adapt.packet_size import Packets
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.execute.metaqueues import MetaQueues
from cqc.runtime.metrics.operators import JoinMetrics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler import Program
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.metrics.operators import OperatorMetrics
    from cqc.runtime.metrics.parts import QueueMetrics

HISTORIES = ("R", "S", "T", "R S", "S T")


def run_setting(
    program: Program,
    batches: Sequence[Mapping[str, TypedBatch]],
    packet: int | None,
    instructions: int = 0,
) -> Timed:
    """CPU time of the micro-batches after the first; `instructions` are added to every routing decision."""
    strategy = Strategy(join="flat", feedback="off")
    engine = cqc.Engine(program, strategy=strategy, collect=False, keep_past=False)
    engine.push_typed(batches[0])
    engine.packets.update({name: Packets(packet) for name in engine.states})
    for join in {join for name in engine.states for join in engine.circuit.joins_of(name)}:
        assert isinstance(join.executor, FlatJoin)
        queues = MetaQueues()
        queues.one_at_a_time = packet == 1
        if instructions:
            queues.on_decision = partial(count_to, instructions)
        join.executor.renew_queues(queues)
    before = sum(engine.result_counts().values())
    started = time.process_time()
    for batch in batches[1:]:
        engine.push_typed(batch)
    seconds = time.process_time() - started
    return Timed(seconds, sum(engine.result_counts().values()) - before, engine.measure())


def count_to(instructions: int) -> None:
    """The paper's dummy instructions: each adds one to a counter."""
    counter = 0
    while counter < instructions:
        counter += 1


def occupancies(operators: Sequence[OperatorMetrics]) -> dict[str, float]:
    """The rows of a train, on average, by history: the streams that its rows have met, in whatever order."""
    trains = dict.fromkeys(HISTORIES, 0)
    rows = dict.fromkeys(HISTORIES, 0)
    for queue in queues_of(operators):
        history = " ".join(sorted(queue.met))
        trains[history] = trains.get(history, 0) + queue.trains
        rows[history] = rows.get(history, 0) + queue.rows
    return {name: rows[name] / trains[name] for name in HISTORIES if trains[name]}


def decisions(operators: Sequence[OperatorMetrics]) -> int:
    """How many trains were routed."""
    return sum(queue.trains for queue in queues_of(operators))


def queues_of(operators: Sequence[OperatorMetrics]) -> list[QueueMetrics]:
    """The metaqueues of all joins."""
    joins = [each for each in operators if isinstance(each, JoinMetrics)]
    return [queue for join in joins for queue in join.queues]
