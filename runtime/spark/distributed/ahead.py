"""Rows far ahead of their stream in a distributed run (`SET MAX_AHEAD`).

Whether a row counts depends on all rows of its stream before it (`intake/far_ahead`), and the tasks of a micro-batch read their ranges at
the same time. So the driver reads the ranges too, in their order, before it gives them to the tasks. Nearly always all rows count, and
that is all. Else the driver decides, and what counts of that stream goes with the micro-batch: tasks count and reject what they read of
it as ever, and leave its tuples out.

    {"skips": ["s"], "rows": {"s": {"blob": "QVJST1cx...", "rejects": [["ts is more than 1 day ahead of s", {"ts": ...}]]}}}
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.columns.columns import cut
from cqc.runtime.intake.typed_batch import Intake, Reject, TypedBatch, join_taken
from cqc.runtime.sources.read_range import read_range
from cqc.runtime.spark.distributed.stages.wire import pack_tuples, unpack_tuples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.stream_input import StreamInput
    from cqc.runtime.sources.range import Range

Decided = dict[str, Any]  # as JSON has it; nothing when all rows count
Aside = dict[
    str, tuple[str, list[int]]
]  # by stream, the rows that wait and how much company each had


class AheadReader:
    """The driver's part: reads what a micro-batch will read.

    Args:
        lines: of the streams, by folded name; their guards know who waits.
    """

    def __init__(self, lines: Mapping[str, StreamInput]) -> None:
        self._lines = lines
        self._strays: dict[
            str, list[Reject]
        ] = {}  # of an earlier start, to be told with the next micro-batch

    def decide(
        self, ranges: Sequence[Range], latest_us: Mapping[str, int | None], *, ended: bool
    ) -> Decided:
        """What becomes of the rows of a micro-batch.

        Args:
            ranges: what it reads.
            latest_us: the latest event time of each stream before it.
            ended: the input has ended with it.
        """
        skips, rows = [], {}
        for name, line in self._lines.items():
            strays = self._strays.pop(name, [])
            mine = [part for part in ranges if part.stream == name]
            counts: TypedBatch | None = None
            if line.guard is not None and mine:
                taken = [each for part in mine for each in read_range(line.relation, part)]
                whole = join_taken(taken) if taken else None
                if whole is not None and not line.guard.all_count(whole, latest_us.get(name)):
                    counts, found = line.guard.sort_out(whole, latest_us.get(name))
                    strays += found
                    skips.append(name)
            if line.guard is not None and ended:
                strays += line.guard.end()
            if counts is not None or strays:
                rows[name] = _packed(name, counts or Intake(line.relation).take([]), strays)
        return {"skips": skips, "rows": rows} if rows else {}

    def saved(self) -> Aside:
        """The rows that wait, for a checkpoint."""
        guarded = {name: line for name, line in self._lines.items() if line.guard is not None}
        return {name: line.saved_aside() for name, line in guarded.items() if len(line.guard or ())}

    def restore(self, aside: Mapping[str, Sequence[Any]]) -> None:
        """Let those wait that `saved` told of; where nothing is set aside any more, they are rejected with the next micro-batch."""
        for name, (text, company) in aside.items():
            line = self._lines.get(name)
            if line is not None:
                told, line.on_reject = line.on_reject, self._keep_strays
                line.restore_aside(text, company)
                line.on_reject = told

    def _keep_strays(self, relation: Relation, rejects: list[Reject]) -> None:
        self._strays[fold(relation.name)] = rejects

    def waiting(self) -> dict[str, int]:
        """How many rows of each stream wait."""
        return {name: len(line.guard or ()) for name, line in self._lines.items() if line.is_stream}


def rows_with(
    decided: Decided, relations: Mapping[str, Relation], rows: Iterator[tuple[str, TypedBatch]]
) -> Iterator[tuple[str, TypedBatch]]:
    """A task's part: the rows that it read without those that the driver decided about."""
    skips = decided.get("skips", ())
    for name, taken in rows:
        if name in skips:
            columns = tuple(cut(column, 0, 0) for column in taken.columns)
            yield name, TypedBatch(columns, taken.ts_us[:0], taken.read, taken.rejects)
        else:
            yield name, taken
    for name, given in decided.get("rows", {}).items():
        blob = base64.b64decode(given["blob"])
        packet = unpack_tuples([blob], relations, 0)[name]
        rejects = [Reject(*each) for each in given["rejects"]]
        yield name, TypedBatch(tuple(packet.columns), packet.ts_us, 0, rejects)


def _packed(name: str, counts: TypedBatch, strays: list[Reject]) -> Decided:
    blob = base64.b64encode(pack_tuples({name: counts.packet(0)})).decode("ascii")
    return {"blob": blob, "rejects": [[each.reason, each.row] for each in strays]}
