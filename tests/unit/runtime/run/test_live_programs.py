"""Folders of programs: what changed is compiled, what does not compile changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.live_programs import LivePrograms, new_relations
from cqc.runtime.run.program_files import stamp_of

if TYPE_CHECKING:
    from pathlib import Path

DECLARED = "CREATE STREAM s (ts BIGINT, x BIGINT);\n"


@pytest.fixture
def live(tmp_path: Path) -> LivePrograms:
    (tmp_path / "a.cq").write_text(DECLARED + "CREATE QUERY a AS SELECT x FROM s;")
    return LivePrograms(RunOptions(programs=(str(tmp_path),), follow=True))


def test_files_that_are_as_they_were_are_not_compiled(live: LivePrograms) -> None:
    assert live.look() is None


def test_a_new_file_is_compiled_with_the_others(live: LivePrograms, tmp_path: Path) -> None:
    (tmp_path / "b.cq").write_text("CREATE QUERY b AS SELECT ts FROM s;")
    program = live.look()
    assert program is not None
    assert list(program.queries.names) == ["a", "b"]
    assert [source.name.rpartition("/")[2] for source, _ in live.sources] == ["a.cq", "b.cq"]
    assert live.look() is None


def test_a_file_with_errors_is_told_of_once(
    live: LivePrograms, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "b.cq").write_text("CREATE QUERY b AS SELECT y FROM s;")
    assert live.look() is None
    assert "the queries that run stay as they were" in capsys.readouterr().err
    assert live.look() is None
    assert capsys.readouterr().err == ""


def test_a_stream_that_runs_cannot_be_declared_in_another_way() -> None:
    running = cqc.compile(DECLARED).catalog
    wider = cqc.compile(DECLARED + "CREATE STREAM r (ts BIGINT);").catalog
    assert [relation.name for relation in new_relations(wider, running)] == ["r"]
    other = cqc.compile("CREATE STREAM s (ts BIGINT, x DOUBLE);").catalog
    with pytest.raises(RunError, match="s cannot be declared in another way while it runs"):
        new_relations(other, running)


def test_a_file_edited_while_a_run_starts_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "a.cq"
    file.write_text(DECLARED + "CREATE QUERY a AS SELECT x FROM s;")
    stamp = stamp_of((str(tmp_path),))
    file.write_text(DECLARED + "CREATE QUERY later AS SELECT x FROM s;")
    options = RunOptions(programs=(str(tmp_path),), follow=True, stamp=stamp)
    program = LivePrograms(options).look()
    assert program is not None
    assert list(program.queries.names) == ["later"]
