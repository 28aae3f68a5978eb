"""A checkpoint writes the tuples that are new, names what counts, and gives back what it was given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.files.sealed import DamagedError
from cqc.runtime.run.durable import checkpoint as checkpoints
from cqc.runtime.run.durable.checkpoint import Checkpoint, Commit

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = (
    "SET RETENTION = 100 SECONDS; CREATE STREAM s (ts BIGINT, x STRING);"
    "CREATE QUERY q AS SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW;"
)


class Life:
    """An engine, and the folder it is committed to."""

    def __init__(self, folder: Path) -> None:
        self.engine = cqc.Engine(cqc.compile(PROGRAM))
        self.folder = folder
        self.checkpoint = Checkpoint(str(folder))
        self.number = -1

    def push(self, *seconds: int) -> None:
        self.engine.push("s", [{"ts": second, "x": f"é{second}"} for second in seconds])
        self.commit()

    def commit(self) -> None:
        self.number += 1
        snapshot = self.engine.snapshot(since=self.checkpoint.written)
        commit = Commit(self.number, snapshot.state, {}, {}, {}, {}, ended=False)
        self.checkpoint.commit(commit, snapshot.tuples)

    @property
    def files(self) -> list[str]:
        return sorted(file.name for file in (self.folder / "tuples").iterdir())

    def kept_again(self) -> list[int]:
        """The seconds that another process would find."""
        self.checkpoint.close()
        other = Checkpoint(str(self.folder))
        commit = other.last()
        assert commit is not None
        relations = cqc.compile(PROGRAM).catalog.relations
        tuples = other.snapshot(commit, relations).tuples
        other.close()
        return [us // 1_000_000 for us in tuples["s"].packet.ts_us.tolist()] if tuples else []


def test_each_commit_writes_what_has_come_since_the_last(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.push(1, 2)
    life.push(3)
    life.commit()
    assert life.files == ["000000000000-s.arrow", "000000000001-s.arrow"]
    assert life.checkpoint.written == {"s": 3}
    assert life.kept_again() == [1, 2, 3]


def test_tuples_that_the_engine_has_forgotten_are_not_given_back(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.push(1, 2)
    life.push(150)
    life.push(151)
    assert life.kept_again() == [150, 151]


def test_many_files_are_written_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "_MOST_SEGMENTS", 3)
    life = Life(tmp_path)
    for second in range(8):
        life.push(second)
    commit = life.checkpoint.last()
    assert commit is not None
    assert len(commit.segments) <= 3
    assert life.kept_again() == list(range(8))


def test_only_the_last_commits_are_kept_with_what_they_name(tmp_path: Path) -> None:
    life = Life(tmp_path)
    for second in range(6):
        life.push(second * 1000)  # each makes the engine forget those before
    assert life.checkpoint.numbers() == [5, 4, 3]
    assert len(life.files) <= 4
    life.checkpoint.close()


def test_a_folder_is_for_one_run_at_a_time(tmp_path: Path) -> None:
    first = Checkpoint(str(tmp_path))
    with pytest.raises(RunError, match="another run uses the checkpoint"):
        Checkpoint(str(tmp_path))
    first.close()
    Checkpoint(str(tmp_path)).close()


def test_a_commit_under_another_number_or_of_another_version_is_refused(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.push(1)
    commits = tmp_path / "commits"
    (commits / "000000000000.json").rename(commits / "000000000007.json")
    with pytest.raises(DamagedError, match="damaged"):
        life.checkpoint.last()
    life.checkpoint.close()
    with pytest.raises(ValueError, match="another version of cqc"):
        Commit.from_json({"format": 1})
