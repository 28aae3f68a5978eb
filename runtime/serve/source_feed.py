"""The program's own sources for a service: tables are read once, the files of streams are read and then followed."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.errors import RunError
from cqc.runtime.intake.typed_batch import join_taken
from cqc.runtime.run.input_plan import Planner, Positions
from cqc.runtime.sources import open_source
from cqc.runtime.sources.connections import is_connection
from cqc.runtime.sources.read_range import read_range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.compiler.meaning.catalog import Catalog, Relation
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.sources.range import Range

ROWS_PER_BATCH = 65_536  # small enough that clients do not wait long behind a micro-batch


class Carrier(Protocol):
    """Takes the ranges of a micro-batch on a way of its own, such as Spark's stream."""

    def deliver(self, ranges: list[Range]) -> list[Range]:
        """Wait for the ranges to arrive and return them. The call also says that everything delivered before counts."""

    def stop(self) -> None:
        """End every wait."""

    def close(self) -> None:
        """End it."""


class SourceFeed:
    """Reads what the WITH clauses and `--bind` name; a stream without either is fed by clients alone.

    Args:
        catalog: what is declared.
        binds: paths that are read instead of what WITH clauses name.
        positions: what was read in an earlier life.
        spool: a folder for what comes by a connection and cannot be asked for again.
        carrier: by which micro-batches come; without one they are read as soon as they are planned.

    Raises:
        RunError: when a file or folder that is named does not exist.
    """

    def __init__(
        self,
        catalog: Catalog,
        binds: Mapping[str, str],
        positions: Positions | None = None,
        spool: Path | None = None,
        carrier: Carrier | None = None,
    ) -> None:
        self._catalog = catalog
        self._carrier = carrier
        self.engine = "local" if carrier is None else "spark"
        self.notes: deque[str] = deque()  # what whoever reads should tell
        self._tables: dict[str, Path] = {}
        streams: dict[str, tuple[Relation, Path | None]] = {}
        for name, relation in catalog.relations.items():
            place = _place(relation, binds)
            if place is not None and not relation.is_stream:
                self._tables[name] = place
            elif place is not None or is_connection(relation, binds):
                streams[name] = (relation, place)
        self._planner = Planner(
            streams,
            follow=True,
            rows_per_batch=ROWS_PER_BATCH,
            positions=positions,
            spool=spool,
            warn=self.notes.append,
        )
        self._latest_us: dict[str, int] = {}
        self._failures: deque[RunError] = deque()  # of files, told one at a time

    def tables(self) -> dict[str, TypedBatch]:
        """The rows of all tables.

        Raises:
            RunError: when they cannot be read.
        """
        return {
            name: join_taken(list(open_source(self._catalog.relations[name], place)))
            for name, place in self._tables.items()
        }

    def read(self) -> tuple[dict[str, TypedBatch], list[Range]]:
        """The next micro-batch and where it comes from; nothing when there is nothing new.

        Raises:
            RunError: when a file cannot be read; it is left out until it changes, and nothing else is.
            LostSourceError: when nothing will ever come any more.
        """
        if self._failures:
            raise self._failures.popleft()
        ranges = self._planner.next_batch(self._latest_us)
        if self._carrier is not None:
            ranges = self._carrier.deliver(ranges)
        parts, read = self._read_each(ranges)
        rows = {name: join_taken(taken) for name, taken in parts.items() if taken}
        if self._failures and not read:
            raise self._failures.popleft()
        return rows, read

    def _read_each(self, ranges: list[Range]) -> tuple[dict[str, list[TypedBatch]], list[Range]]:
        """The rows of each stream, and the ranges that could be read: one bad file takes no other with it."""
        parts: dict[str, list[TypedBatch]] = {}
        read: list[Range] = []
        bad: set[tuple[str, str]] = set()
        for part in ranges:
            if (part.stream, part.path) in bad:
                continue
            try:
                taken = list(read_range(self._catalog.relations[part.stream], part))
            except RunError as error:
                bad.add((part.stream, part.path))
                self._planner.give_back(part)
                self._failures.append(error)
                continue
            parts.setdefault(part.stream, []).extend(taken)
            read.append(part)
        return parts, read

    def reached(self, latest_us: Mapping[str, int]) -> None:
        """How far streams are in event time: the one that is behind is read first."""
        self._latest_us.update(latest_us)

    def stop(self) -> None:
        """End a `read` that waits; it returns nothing."""
        if self._carrier is not None:
            self._carrier.stop()

    def close(self) -> None:
        """Let go of the files."""
        self._planner.close()
        if self._carrier is not None:
            self._carrier.close()


def _place(relation: Relation, binds: Mapping[str, str]) -> Path | None:
    bound = {fold(name): path for name, path in binds.items()}.get(fold(relation.name))
    if bound is not None:
        return Path(bound)
    declared = relation.options.get("path")
    return None if declared is None else Path(relation.folder) / declared
