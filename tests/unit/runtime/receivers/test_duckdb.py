"""DuckDB: typed columns, rows and place in one transaction."""

import subprocess
import sys
from pathlib import Path

import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.duckdb import DuckdbReceiver
from cqc.runtime.receivers.receiver import Columns, Sent, Setting

duckdb = pytest.importorskip("duckdb")
COLUMNS = Columns(("d", "b"), ("DOUBLE", "BOOLEAN"), "TIMESTAMP")
LINE = '{"ts": "2024-01-01T00:00:01Z", "row": {"d": "NaN", "b": null}}'


def test_rows_are_typed_and_not_repeated(tmp_path: Path) -> None:
    setting = Setting("s", {"path": "a.duckdb", "table": "r"}, "p", str(tmp_path), None, "run")
    made = DuckdbReceiver(setting)
    made.send([Sent(1, "i1", "q", LINE, COLUMNS)])
    made.send([Sent(1, "i1", "q", LINE, COLUMNS), Sent(2, "i2", "q", LINE, COLUMNS)])
    assert made.stored() == 2
    with pytest.raises(RunError, match="need a table of their own"):
        made.send(
            [
                Sent(
                    3,
                    "i3",
                    "w",
                    '{"ts": 1, "row": {"z": 1}}',
                    Columns(("z",), ("BIGINT",), "BIGINT"),
                )
            ]
        )
    made.close()
    rows = (
        duckdb.connect(str(tmp_path / "a.duckdb"))
        .execute("SELECT _id, isnan(d), b FROM r ORDER BY 1")
        .fetchall()
    )
    assert rows == [("i1", True, None), ("i2", True, None)]


def test_a_command_ends_without_words_of_the_package(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,x\n1,1\n")
    (tmp_path / "p.cq").write_text(
        "CREATE SINK there WITH (type = 'duckdb', path = 'x.duck', table = 'r');"
        "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = 's.csv');"
        "CREATE QUERY q INTO there AS SELECT x FROM s;"
    )
    done = subprocess.run(
        [sys.executable, "-m", "cqc.cli.main", "run", "p.cq", "--quiet"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "without --checkpoint, results that wait for a sink are in memory only\n"
