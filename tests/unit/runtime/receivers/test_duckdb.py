"""DuckDB: typed columns, rows and place in one transaction."""

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
