"""SQLite: one table for queries of equal columns; another shape is told."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.receiver import Columns, Sent, Setting, UnreachableError
from cqc.runtime.receivers.sqlite import SqliteReceiver

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = Columns(("x", "b", "d"), ("BIGINT", "BOOLEAN", "DOUBLE"), "TIMESTAMP")
LINE = '{"query": "%s", "ts": "2024-01-01T00:00:01Z", "row": {"x": 9007199254740993, "b": true, "d": "NaN"}}'


def sent(number: int, query: str = "q", columns: Columns = COLUMNS) -> Sent:
    return Sent(number, f"id{number}", query, LINE % query, columns)


def receiver(folder: Path, run: str = "r", **options: str) -> SqliteReceiver:
    return SqliteReceiver(
        Setting("s", {"path": "a.db", "table": "my table", **options}, "p", str(folder), None, run)
    )


def test_rows_and_place_are_one_transaction(tmp_path: Path) -> None:
    made = receiver(tmp_path)
    made.send([sent(1), sent(2, "other")])
    assert made.stored() == 2
    made.close()
    rows = sqlite3.connect(tmp_path / "a.db").execute('SELECT * FROM "my table"').fetchall()
    assert rows[0][:6] == ("id1", "q", "2024-01-01T00:00:01Z", None, 9007199254740993, 1)
    assert [row[1] for row in rows] == ["q", "other"]
    again = receiver(tmp_path)
    assert again.stored() == 2
    again.send([sent(2, "other"), sent(3)])  # what is there is not there twice
    again.close()
    assert (
        len(sqlite3.connect(tmp_path / "a.db").execute('SELECT * FROM "my table"').fetchall()) == 3
    )


def test_the_place_of_another_run_says_nothing(tmp_path: Path) -> None:
    made = receiver(tmp_path)
    made.send([sent(1)])
    made.close()
    other = receiver(tmp_path, "another")
    assert other.stored() == 0
    other.close()


def test_a_query_of_another_shape_is_told(tmp_path: Path) -> None:
    made = receiver(tmp_path)
    made.send([sent(1)])
    with pytest.raises(RunError, match="need a table of their own"):
        made.send(
            [
                Sent(
                    2,
                    "i",
                    "wide",
                    '{"ts": 1, "row": {"zz": 1}}',
                    Columns(("zz",), ("BIGINT",), "BIGINT"),
                )
            ]
        )
    made.close()


def test_a_table_that_is_not_to_be_created_is_waited_for(tmp_path: Path) -> None:
    made = receiver(tmp_path, create="false")
    with pytest.raises(UnreachableError, match="no such table"):
        made.send([sent(1)])
    made.close()
