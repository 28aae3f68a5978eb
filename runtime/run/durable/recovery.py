"""Where a run goes on: at its last commit, or, where that is damaged, at the one before it.

Going back by a commit does the micro-batch after it again. That is right only when nothing of it is lost and nothing of it stays:
the input it had read must still be there, and what it wrote must be such that it can be cut off. Files of results can, what was
printed cannot; Parquet files can as long as nobody has taken them away. Else the run does not start, and says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler.meaning.source_formats import FILES
from cqc.runtime.errors import RunError
from cqc.runtime.files.sealed import ADVICE, DamagedError, EarlierVersionError
from cqc.runtime.notices import say
from cqc.runtime.sinks.parquet_batches import check_shown
from cqc.runtime.sinks.printed import check_printed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.engine.snapshot import StreamTuples
    from cqc.runtime.run.durable.checkpoint import Checkpoint, Commit
    from cqc.runtime.run.input_plan import Positions
    from cqc.runtime.sources.range import Range


@dataclass(frozen=True, slots=True)
class Recovered:
    """Where a run begins; `commit` is None for one that is new."""

    commit: Commit | None
    tuples: dict[str, StreamTuples] = field(default_factory=dict)
    positions: Positions = field(default_factory=dict)


def recover(
    checkpoint: Checkpoint,
    relations: Mapping[str, Relation],
    check: Callable[[Commit], None],
    *,
    may_go_back: bool,
) -> Recovered:
    """Read the last commit that can be used, with everything it names.

    Args:
        checkpoint: the folder.
        relations: the streams of the program.
        check: sees that a commit belongs to the program.
        may_go_back: whether the one before the last will do.

    Raises:
        RunError: when there is a commit and none can be used.
    """
    numbers = checkpoint.numbers()
    if not numbers:
        return Recovered(None, {}, checkpoint.positions(None))
    try:
        return _read(checkpoint, numbers[0], relations, check)
    except EarlierVersionError:
        raise
    except DamagedError as damage:
        if not may_go_back or numbers[1:2] != [numbers[0] - 1]:
            raise
        found = _one_before(checkpoint, numbers[0], relations, check, damage)
        checkpoint.go_back(numbers[0])
        say(
            f"note: {damage_of(damage)}; going on from the commit before it, "
            f"micro-batch {numbers[0]} is done again"
        )
        return found


def _read(
    checkpoint: Checkpoint,
    number: int,
    relations: Mapping[str, Relation],
    check: Callable[[Commit], None],
) -> Recovered:
    commit = checkpoint.commit_of(number)
    check(commit)
    checkpoint.keep_those_before(number)
    tuples = checkpoint.snapshot(commit, relations).tuples
    return Recovered(commit, tuples, checkpoint.positions(commit))


def _one_before(
    checkpoint: Checkpoint,
    number: int,
    relations: Mapping[str, Relation],
    check: Callable[[Commit], None],
    damage: DamagedError,
) -> Recovered:
    try:
        found = _read(checkpoint, number - 1, relations, check)
        assert found.commit is not None
        _check_input(checkpoint.ranges_of(number))
        check_shown(checkpoint.folder, number)
        for known in found.commit.outputs.values():
            if not known.path:
                check_printed(checkpoint.folder / "printing", known.length)
    except DamagedError as other:
        if other.path == damage.path:
            raise
        raise _no_way(damage, damage_of(other)) from other
    except RunError as other:
        raise _no_way(damage, str(other).partition(":")[0]) from other
    return found


def _check_input(ranges: Iterable[Range]) -> None:
    """See that what a micro-batch read can be read again."""
    for part in ranges:
        if part.format not in FILES:
            continue
        path = Path(part.path)
        size = path.stat().st_size if path.is_file() else -1
        if size < (part.stop or 0 if part.format != "parquet" else 0):
            raise RunError(f"what it had read of {path} is not there any more")


def damage_of(damage: DamagedError) -> str:
    """What is wrong, without what to do."""
    return f"{damage.path} {damage.why}"


def _no_way(damage: DamagedError, why: str) -> RunError:
    return RunError(
        f"{damage_of(damage)}, and the run cannot go back to the commit before it ({why}): {ADVICE}"
    )
