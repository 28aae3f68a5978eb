"""A checkpoint belongs to a program with the same columns and a query in common."""

from __future__ import annotations

from pathlib import Path

import pytest

import cqc
from cqc.runtime.engine.snapshot import EngineState, QueryState
from cqc.runtime.errors import RunError
from cqc.runtime.run.durable.checkpoint import Commit
from cqc.runtime.run.durable.checkpoint_compatibility import check_program, schema_of

S = "CREATE STREAM s (ts BIGINT, x BIGINT);"
PROGRAM = cqc.compile(S + "CREATE TABLE t (x BIGINT); CREATE QUERY q AS SELECT x FROM s;")


def commit(text: str = "SELECT  x FROM s", **streams: list[list[str]]) -> Commit:
    state = EngineState(queries=[QueryState("q", text, {})])
    return Commit(0, state, streams or schema_of(PROGRAM.catalog), {}, {}, {}, ended=False)


def test_the_schema_has_streams_and_no_tables() -> None:
    assert schema_of(PROGRAM.catalog) == {"s": [["ts", "BIGINT"], ["x", "BIGINT"]]}


def test_the_same_program_fits_white_space_aside() -> None:
    check_program(PROGRAM, commit(), Path("here"))


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (commit(s=[["ts", "BIGINT"], ["x", "DOUBLE"]]), "its stream s has other columns"),
        (commit(r=[["ts", "BIGINT"]]), "its streams are r"),
        (commit("SELECT x + 1 AS x FROM s"), "it runs q"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(other: Commit, reason: str) -> None:
    with pytest.raises(RunError, match=f"the checkpoint here belongs to another program .{reason}"):
        check_program(PROGRAM, other, Path("here"))


def test_a_stream_that_is_gone_and_one_that_is_new_do_no_harm() -> None:
    program = cqc.compile(S + "CREATE STREAM r (ts BIGINT); CREATE QUERY q AS SELECT x FROM s;")
    same = [["ts", "BIGINT"], ["x", "BIGINT"]]
    check_program(program, commit(s=same, gone=[["ts", "BIGINT"]]), Path("here"))
