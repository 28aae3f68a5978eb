"""The program's own sources for a service: tables are read once, the files of streams are read and then followed."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.intake.typed_batch import join_taken
from cqc.runtime.run.input_plan import Planner, Positions
from cqc.runtime.run.range_feed import RangeFeed, read_ranges
from cqc.runtime.sources.connections import is_connection, open_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.meaning.catalog import Catalog, Relation
    from cqc.runtime.errors import RunError
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.run.driver import MicroBatch
    from cqc.runtime.run.range_feed import Carrier
    from cqc.runtime.sources.range import Range

ROWS_PER_BATCH = 65_536  # small enough that clients do not wait long behind a micro-batch


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
        self._tables: dict[str, Path | None] = {}
        streams: dict[str, tuple[Relation, Path | None]] = {}
        for name, relation in catalog.relations.items():
            place = _place(relation, binds)
            connected = place is None and is_connection(relation, binds)
            if not relation.is_stream and (place is not None or connected):
                self._tables[name] = place
            elif place is not None or (connected and not _is_own_endpoint(relation)):
                streams[name] = (relation, place)
        self.from_files = frozenset(
            name for name, (_, place) in streams.items() if place is not None
        )
        self._planner = Planner(
            streams,
            follow=True,
            rows_per_batch=ROWS_PER_BATCH,
            positions=positions,
            spool=spool,
            warn=self.notes.append,
        )
        self._feed = RangeFeed(self, carrier)
        self._reached_us: dict[str, int] = {}
        self._failures: deque[RunError] = deque()  # of files, told one at a time

    def tables(self) -> dict[str, TypedBatch]:
        """The rows of all tables.

        Raises:
            RunError: when they cannot be read.
        """
        return {
            name: join_taken(list(open_table(self._catalog.relations[name], place)))
            for name, place in self._tables.items()
        }

    def next_batch(self) -> MicroBatch | None:
        """The next micro-batch; None when there is nothing new.

        Raises:
            RunError: when a file cannot be read; it is left out until it changes, and nothing else is.
            LostSourceError: when nothing will ever come any more.
        """
        if self._failures:
            raise self._failures.popleft()
        batch = self._feed.next_batch(self._reached_us)
        if batch is not None and batch.ranges:
            return batch
        if self._failures:
            raise self._failures.popleft()
        return None

    def next_ranges(self) -> list[Range]:
        """What the next micro-batch reads."""
        return self._planner.next_batch(self._reached_us)

    def read(self, ranges: Sequence[Range]) -> MicroBatch:
        """The rows of the ranges that can be read: one bad file takes no other with it."""
        return read_ranges(self._catalog.relations, ranges, self._leave_out)

    def awaits_more(self) -> bool:
        """Files are followed."""
        return True

    def _leave_out(self, part: Range, error: RunError) -> None:
        self._planner.give_back(part)
        self._failures.append(error)

    def reached(self, latest_us: Mapping[str, int]) -> None:
        """How far streams are in event time: the one that is behind is read first."""
        self._reached_us.update(latest_us)

    def stop(self) -> None:
        """End a `next_batch` that waits; it returns nothing."""
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


def _is_own_endpoint(relation: Relation) -> bool:
    """Whether clients send the rows of a stream to the service itself, which takes those of every stream."""
    options = relation.options
    return options["format"].lower() == "http" and "port" not in options
