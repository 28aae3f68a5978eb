"""A checkpoint: a folder from which a run goes on after a crash, with no result lost and none repeated.

After each micro-batch everything the next one depends on is written: first the tuples it added, then one small file that
names them and holds the rest (counters, clocks, the queries in force, which input is done, how long the output is). That file
appears by renaming, which is all or nothing: it is the moment at which a micro-batch counts. Whatever was written for a
micro-batch that never came to count is cut off or written over when the run starts again.

    DIR/commits/000000000007.json      the seventh micro-batch counts
    DIR/commits/000000000007.ranges    what it read
    DIR/tuples/000000000007-b.arrow    what it added to stream B

All of it is sealed (`sealed.py`): a file that is damaged is noticed. The last few commits are kept with what they name, so
that a run can go back by one of them where its results can go back too (`recovery.py`).
"""

from __future__ import annotations

import fcntl
import urllib.parse
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqc.compiler.graph.derive import is_derived
from cqc.runtime.engine.snapshot import EngineState, Snapshot, StreamTuples
from cqc.runtime.errors import RunError
from cqc.runtime.files.private_files import open_private, private_folder
from cqc.runtime.files.sealed import (
    DamagedError,
    read_sealed_json,
    write_sealed_json,
)
from cqc.runtime.run.durable.position_book import PositionBook
from cqc.runtime.run.durable.tuple_files import Segment, read_segments, write_segment
from cqc.runtime.sinks.growing import Known
from cqc.runtime.sources.range import Range

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.run.input_plan import Planner, Positions

FORMAT = 2
_KEPT = 3  # commits that are left in the folder
_MOST_SEGMENTS = 64  # of one stream, before they are written as one


@dataclass(frozen=True, slots=True)
class Commit:
    """What counts after micro-batch `number`."""

    number: int
    engine: EngineState
    schema: dict[
        str, list[list[str]]
    ]  # stream -> its columns, to tell another program's checkpoint
    positions: Positions
    latest_us: dict[str, int]
    outputs: dict[str, Known]  # what each file of results is
    ended: bool
    segments: list[Segment] = field(default_factory=list)
    firsts: dict[str, int] = field(default_factory=dict)  # the first position that is retained
    base: str = ""  # the file with the places of the input that `positions` lacks
    sinks: dict[str, Any] = field(default_factory=dict)  # what waits for them (`sink_delivery`)

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Commit:
        given = dict(data)
        if given.pop("format") != FORMAT:
            raise ValueError("another version of cqc has written it")
        given["outputs"] = {name: Known(**known) for name, known in given["outputs"].items()}
        given["engine"] = EngineState.from_json(given["engine"])
        given["segments"] = [Segment(**segment) for segment in given["segments"]]
        return Commit(**given)


class Checkpoint:
    """The folder of one run.

    Raises:
        RunError: when the folder cannot be made, or another run uses it.
    """

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self._commits = self.folder / "commits"
        self._tuples = self.folder / "tuples"
        self._segments: dict[str, list[Segment]] = {}
        self._book = PositionBook(self.folder)
        self._read: list[Range] = []  # since the last commit
        self._named: dict[int, set[str]] = {}  # the files that each commit names which is kept
        self._whole = (
            True  # the next commit writes all tuples: their positions are those of this process
        )
        try:
            private_folder(self.folder, own=False)
            private_folder(self._commits)
            private_folder(self._tuples)
            self._lock = open_private(self.folder / "lock", "wb")
        except OSError as error:
            raise self._cannot("write", error) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.close()
            raise RunError(f"another run uses the checkpoint {folder} at this moment") from error

    def close(self) -> None:
        """Let another run use the folder."""
        self._lock.close()

    def numbers(self) -> list[int]:
        """The micro-batches of which there is a commit, the last one first.

        Raises:
            RunError: when the folder cannot be read, or its commits have gone.
        """
        try:
            found = sorted((int(file.stem) for file in self._commits.glob("*.json")), reverse=True)
            if not found and any(
                not file.name.startswith("0" * 12) for file in self._tuples.iterdir()
            ):
                raise DamagedError(
                    self._commits, "is empty, although tuples of later commits exist"
                )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise RunError(f"cannot read the checkpoint {self.folder}: {reason}") from error
        return found

    def last(self) -> Commit | None:
        """The last micro-batch that counts; None for a folder that is new.

        Raises:
            RunError: when it cannot be read.
        """
        numbers = self.numbers()
        return self.commit_of(numbers[0]) if numbers else None

    def commit_of(self, number: int) -> Commit:
        """The commit of a micro-batch.

        Raises:
            DamagedError: when it is damaged.
        """
        path = self._file(number)
        try:
            commit = Commit.from_json(read_sealed_json(path))
            if commit.number != number:
                raise ValueError("it is of another micro-batch")
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedError(path, f"is not what it should be ({error})") from error
        self._named[number] = _files_of(commit)
        return commit

    def keep_those_before(self, number: int) -> None:
        """Know what the commits before one name, so that it is kept as long as they are."""
        for each in self.numbers():
            if each < number and each not in self._named:
                try:
                    self.commit_of(each)
                except DamagedError:
                    self._named[each] = set()

    def ranges_of(self, number: int) -> list[Range]:
        """What a micro-batch had read.

        Raises:
            DamagedError: when that is not known any more.
        """
        path = self._file(number).with_suffix(".ranges")
        return [Range(**each) for each in read_sealed_json(path)]

    def go_back(self, number: int) -> None:
        """Let a commit count no more: one that is damaged."""
        file = self._file(number)
        try:
            if file.exists():
                file.replace(file.with_suffix(".damaged"))
        except OSError as error:
            raise self._cannot("write", error) from error

    def snapshot(self, commit: Commit, relations: Mapping[str, Relation]) -> Snapshot:
        """The engine as it was at a commit, as far as its streams are still declared.

        Raises:
            DamagedError: when they are not what was written.
        """
        found: dict[str, StreamTuples] = {}
        for name in commit.engine.lines:
            if name not in relations and not is_derived(name):
                continue
            own = [segment for segment in commit.segments if segment.stream == name]
            first = commit.firsts.get(name, 0)
            packet = read_segments(self._tuples, relations.get(name), own, first)
            if packet is not None:
                found[name] = StreamTuples(first, first, packet)
        return Snapshot(commit.engine, found)

    @property
    def written(self) -> dict[str, int]:
        """By stream, the position up to which tuples are in files that the next commit can name."""
        if self._whole:
            return {}
        return {
            name: own[-1].start + own[-1].count
            for name, own in self._segments.items()
            if 0 < len(own) < _MOST_SEGMENTS
        }

    def positions(self, commit: Commit | None) -> Positions:
        """How far the input was read.

        Raises:
            DamagedError: when that cannot be read.
        """
        if commit is not None:
            self._book = PositionBook(self.folder, commit.base, commit.positions)
        return self._book.before

    def note(self, ranges: Sequence[Range]) -> None:
        """Remember that ranges were read, for the next commit."""
        self._read += ranges
        self._book.note(ranges)

    def commit(
        self, commit: Commit, tuples: Mapping[str, StreamTuples], planner: Planner | None = None
    ) -> None:
        """Make a micro-batch count.

        Args:
            commit: what it leaves.
            tuples: of the engine's snapshot since `written`.
            planner: how far the input was read; None when somebody else knows that.

        Raises:
            RunError: when it cannot be written; then it does not count.
        """
        try:
            segments, firsts = self._write_tuples(commit.number, tuples)
            if planner is not None:
                self._book.settle(commit.number, planner, _write_whole)
            self._write_ranges(commit.number)
            written = Commit(
                **{
                    **{name: getattr(commit, name) for name in Commit.__slots__},
                    "segments": segments,
                    "firsts": firsts,
                    "positions": self._book.recent,
                    "base": self._book.base,
                }
            )
            self._named[commit.number] = _files_of(written)
            _write_whole(self._file(commit.number), written.to_json())
            self._tidy(commit.number)
        except OSError as error:
            raise self._cannot("write", error) from error

    def _write_tuples(
        self, number: int, tuples: Mapping[str, StreamTuples]
    ) -> tuple[list[Segment], dict[str, int]]:
        written = self.written
        for name, each in tuples.items():
            before = self._segments.get(name, [])
            own = [part for part in before if part.start + part.count > each.first]
            if name not in written:
                own = []
            if len(each.packet):
                file = f"{number:012d}-{urllib.parse.quote(name, safe='')}.arrow"
                if any(part.file == file for part in before):  # it is named by a commit
                    file = f"{file.removesuffix('.arrow')}-end.arrow"
                own = [*own, write_segment(self._tuples, file, name, each.packet, each.start)]
            self._segments[name] = own
        self._whole = False
        firsts = {name: each.first for name, each in tuples.items()}
        return [segment for own in self._segments.values() for segment in own], firsts

    def _write_ranges(self, number: int) -> None:
        """What the micro-batch read: not needed to go on, so nobody waits until it is on the disk."""
        path = self._file(number).with_suffix(".ranges")
        write_sealed_json(path, [asdict(each) for each in self._read], durably=False)
        self._read = []

    def _tidy(self, number: int) -> None:
        """Remove what no commit that is kept names."""
        oldest = number - _KEPT + 1
        self._named = {each: files for each, files in self._named.items() if each >= oldest}
        named = set().union(*self._named.values())
        self._book.tidy(named)
        for file in self._commits.iterdir():
            if not file.stem.isdigit() or int(file.stem) < oldest:
                file.unlink(missing_ok=True)
        for file in self._tuples.iterdir():
            if file.name not in named and file.name < f"{number:012d}":
                file.unlink(missing_ok=True)

    def _file(self, number: int) -> Path:
        return self._commits / f"{number:012d}.json"

    def _cannot(self, what: str, error: OSError) -> RunError:
        return RunError(f"cannot {what} the checkpoint {self.folder}: {error.strerror or error}")


def _files_of(commit: Commit) -> set[str]:
    return {commit.base, *(segment.file for segment in commit.segments)}


def _write_whole(path: Path, data: dict[str, Any]) -> None:
    """Write a file that is there whole or not at all, also after the power fails."""
    write_sealed_json(path, data)
