"""A checkpoint: a folder from which a run goes on after a crash, with no result lost and none repeated.

After each micro-batch everything the next one depends on is written: first the tuples it added, then one small file that
names them and holds the rest (counters, clocks, the queries in force, which input is done, how long the output is). That file
appears by renaming, which is all or nothing: it is the moment at which a micro-batch counts. Whatever was written for a
micro-batch that never came to count is cut off or written over when the run starts again.

    DIR/commits/000000000007.json      the seventh micro-batch counts
    DIR/tuples/000000000007-b.arrow    what it added to stream B
"""

from __future__ import annotations

import fcntl
import json
import os
import urllib.parse
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cqc.runtime.engine_state import EngineState, stream_states
from cqc.runtime.errors import RunError
from cqc.runtime.position_book import PositionBook
from cqc.runtime.segments import Segment, read_segments, write_segment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.catalog import Relation
    from cqc.runtime.engine import Engine
    from cqc.runtime.packet import Packet
    from cqc.runtime.plan import Planner, Positions
    from cqc.runtime.range import Range

FORMAT = 1
_KEPT = 2  # commits that are left in the folder
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
    outputs: dict[str, int]  # how long each file of results is
    ended: bool
    segments: list[Segment] = field(default_factory=list)
    firsts: dict[str, int] = field(default_factory=dict)  # the first position that is retained
    base: str = ""  # the file with the places of the input that `positions` lacks

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, **asdict(self)}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Commit:
        given = dict(data)
        if given.pop("format") != FORMAT:
            raise ValueError("it was written by another version")
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
        self._whole = (
            True  # the next commit writes all tuples: their positions are those of this process
        )
        try:
            self._commits.mkdir(parents=True, exist_ok=True)
            self._tuples.mkdir(exist_ok=True)
            self._lock = (self.folder / "lock").open("w", encoding="utf-8")
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

    def last(self) -> Commit | None:
        """The last micro-batch that counts; None for a folder that is new.

        Raises:
            RunError: when it cannot be read.
        """
        try:
            files = sorted(self._commits.glob("*.json"))
            if not files:
                return None
            return Commit.from_json(json.loads(files[-1].read_text(encoding="utf-8")))
        except OSError as error:
            raise self._cannot("read", error) from error
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(
                f"the checkpoint {self.folder} cannot be read ({error}): remove it to begin again"
            ) from error

    def tuples(self, commit: Commit, relations: Mapping[str, Relation]) -> dict[str, Packet]:
        """The retained tuples of a commit, by folded stream name.

        Raises:
            RunError: when they cannot be read.
        """
        found = {}
        for name in commit.engine.lines.keys() & relations.keys():
            own = [segment for segment in commit.segments if segment.stream == name]
            try:
                packet = read_segments(
                    self._tuples, relations[name], own, commit.firsts.get(name, 0)
                )
            except (OSError, pa.ArrowInvalid) as error:
                reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
                raise RunError(
                    f"the checkpoint {self.folder} cannot be read ({reason}): remove it to begin again"
                ) from error
            if packet is not None:
                found[name] = packet
        return found

    def positions(self, commit: Commit | None) -> Positions:
        """How far the input was read.

        Raises:
            RunError: when that cannot be read.
        """
        try:
            if commit is not None:
                self._book = PositionBook(self.folder, commit.base, commit.positions)
        except (OSError, ValueError) as error:
            raise RunError(
                f"the checkpoint {self.folder} cannot be read ({error}): remove it to begin again"
            ) from error
        return self._book.before

    def note(self, ranges: Sequence[Range]) -> None:
        """Remember that ranges were read, for the next commit."""
        self._book.note(ranges)

    def commit(self, commit: Commit, engine: Engine, planner: Planner | None = None) -> None:
        """Make a micro-batch count.

        Args:
            commit: what it leaves.
            engine: its state.
            planner: how far the input was read; None when somebody else knows that.

        Raises:
            RunError: when it cannot be written; then it does not count.
        """
        try:
            segments, firsts = self._write_tuples(commit.number, engine)
            if planner is not None:
                self._book.settle(commit.number, planner, _write_whole)
            written = Commit(
                **{
                    **{name: getattr(commit, name) for name in Commit.__slots__},
                    "segments": segments,
                    "firsts": firsts,
                    "positions": self._book.recent,
                    "base": self._book.base,
                }
            )
            _write_whole(self._commits / f"{commit.number:012d}.json", written.to_json())
            self._tidy(commit.number)
        except OSError as error:
            raise self._cannot("write", error) from error

    def _write_tuples(self, number: int, engine: Engine) -> tuple[list[Segment], dict[str, int]]:
        firsts = {}
        for name, state in stream_states(engine).items():
            firsts[name] = state.first
            own = [
                each
                for each in self._segments.get(name, [])
                if each.start + each.count > state.first
            ]
            if self._whole or len(own) >= _MOST_SEGMENTS:
                own = []
            start = own[-1].start + own[-1].count if own else state.first
            if state.head > start:
                file = f"{number:012d}-{urllib.parse.quote(name, safe='')}.arrow"
                if any(each.file == file for each in self._segments.get(name, [])):
                    file = (
                        f"{file.removesuffix('.arrow')}-end.arrow"  # the other is named by a commit
                    )
                own = [*own, write_segment(self._tuples, file, name, state, start)]
            self._segments[name] = own
        self._whole = False
        return [segment for own in self._segments.values() for segment in own], firsts

    def _tidy(self, number: int) -> None:
        """Remove what no commit that is kept names."""
        self._book.tidy(number - _KEPT)
        named = {segment.file for own in self._segments.values() for segment in own}
        for file in self._commits.glob("*.json"):
            if int(file.stem) <= number - _KEPT:
                file.unlink(missing_ok=True)
        oldest = f"{number - _KEPT:012d}"
        for file in self._tuples.iterdir():
            if file.name not in named and file.name < oldest:
                file.unlink(missing_ok=True)

    def _cannot(self, what: str, error: OSError) -> RunError:
        return RunError(f"cannot {what} the checkpoint {self.folder}: {error.strerror or error}")


def _write_whole(path: Path, data: dict[str, Any]) -> None:
    """Write a file that is there whole or not at all, also after the power fails."""
    aside = path.with_suffix(".part")
    with aside.open("w", encoding="utf-8") as file:
        json.dump(data, file)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
