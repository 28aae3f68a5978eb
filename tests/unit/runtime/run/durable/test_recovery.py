"""Where a run goes on: at its last commit, or at the one before where the last is damaged and may be done again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.durable.checkpoint import Checkpoint
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.run.durable.recovery import recover

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.run.durable.recovery import Recovered

PROGRAM = cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT); CREATE QUERY q AS SELECT x FROM s;")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The checkpoint of a run that has read three rows, one by one."""
    (tmp_path / "s.csv").write_text("ts,x\n1,1\n2,2\n3,3\n")
    options = RunOptions(
        binds={"s": str(tmp_path / "s.csv")},
        out=str(tmp_path / "out.jsonl"),
        checkpoint=str(tmp_path / "state"),
        rows_per_batch=1,
    )
    run = DurableRun(PROGRAM, options)
    run.read_tables()
    for _ in range(3):
        run.process(run.next_ranges())
    run.close()
    return tmp_path / "state"


def recovered(folder: Path, *, may_go_back: bool = True) -> Recovered:
    checkpoint = Checkpoint(str(folder))
    try:
        relations = PROGRAM.catalog.relations
        return recover(checkpoint, relations, lambda commit: None, may_go_back=may_go_back)
    finally:
        checkpoint.close()


def spoil(folder: Path, number: int) -> None:
    path = folder / "commits" / f"{number:012d}.json"
    path.write_bytes(path.read_bytes()[:-5])


def test_a_new_folder_has_nothing_to_go_on_from(tmp_path: Path) -> None:
    found = recovered(tmp_path)
    assert (found.commit, found.tuples, found.positions) == (None, {}, {})


def test_it_goes_on_from_the_last_commit(folder: Path) -> None:
    commit = recovered(folder).commit
    assert commit is not None
    assert (commit.number, commit.engine.lines["s"].read) == (2, 3)


def test_a_damaged_one_is_left_for_the_one_before_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil(folder, 2)
    commit = recovered(folder).commit
    assert commit is not None
    assert (commit.number, commit.engine.lines["s"].read) == (1, 2)
    assert "micro-batch 2 is done again" in capsys.readouterr().err
    assert not (folder / "commits" / "000000000002.json").exists()


def test_nothing_goes_back_where_that_is_not_possible(folder: Path) -> None:
    spoil(folder, 2)
    with pytest.raises(RunError, match=r"000000000002\.json"):
        recovered(folder, may_go_back=False)
    (folder.parent / "s.csv").unlink()
    with pytest.raises(RunError, match=r"cannot go back .*s\.csv is not there any more"):
        recovered(folder)
    spoil(folder, 1)
    with pytest.raises(RunError, match=r"cannot go back .*000000000001\.json"):
        recovered(folder)
