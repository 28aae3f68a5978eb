"""No receiver loses digits, and each has the state of an alert."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.receivers.exact_values import cells_of, exact_value, json_text, row_text
from cqc.runtime.receivers.receiver import Columns, Sent
from cqc.runtime.run.finite_run import LocalRun
from tests.integration.sinks.receivers import Hook, postgres_server

if TYPE_CHECKING:
    from pathlib import Path

DIGITS = "12345678901234567890.0123456789"
LINE = f'{{"query": "row\\": {{", "ts": 1, "row": {{"d": {DIGITS}, "x": 1e+20, "a": [{DIGITS}, null]}}, "id": "i"}}'
SENT = Sent(
    1,
    "i",
    "q",
    LINE,
    Columns(("d", "x", "a"), ("DECIMAL(30, 10)", "DOUBLE", "ARRAY<DECIMAL(30, 10)>"), "BIGINT"),
)


def test_cells_have_the_type_of_their_column() -> None:
    d, x, a = cells_of(SENT, exact_value(SENT))
    assert (d, type(x), x) == (Decimal(DIGITS), float, 1e20)
    assert a == f"[{DIGITS}, null]"


def test_text_is_cut_out_of_the_line_as_it_is() -> None:
    assert row_text(SENT) == f'{{"d": {DIGITS}, "x": 1e+20, "a": [{DIGITS}, null]}}'
    assert (
        json_text({"a": [Decimal(DIGITS), True, None, "ü"]})
        == f'{{"a": [{DIGITS}, true, null, "ü"]}}'
    )


def deliver(folder: Path, options: str) -> None:
    (folder / "s.jsonl").write_text(
        f'{{"ts": 1, "k": 3.10, "d": {DIGITS}, "x": "NaN", "a": [{DIGITS}]}}\n'
    )
    program = (
        f"CREATE SINK there WITH ({options}); CREATE STREAM s (ts BIGINT, k DECIMAL(4, 2), d DECIMAL(30, 10), x DOUBLE,"
        f" a ARRAY<DECIMAL(30, 10)>) WITH (path = '{folder}/s.jsonl');"
        "CREATE ALERT big INTO there AS SELECT ts, d, x, a FROM s WHERE d > 1 PER k NO DATA AFTER 1 MINUTE;"
    )
    run = LocalRun(cqc.compile(program), RunOptions(programs=("p.cq",)))
    run.to_end()
    (told,) = run.close().sinks
    assert (told.sent, told.dead) == (2, 0)


def states(alerts: list[Any]) -> list[tuple[str, str]]:
    return [
        (each["state"], str(each["key"]["k"]))
        for each in (json.loads(text, parse_float=str) for text in alerts)
    ]


EXPECTED = [("firing", "3.10"), ("no_data", "3.10")]


def test_csv(tmp_path: Path) -> None:
    deliver(tmp_path, f"type = 'file', path = '{tmp_path}/out.csv'")
    with (tmp_path / "out.csv").open(newline="") as file:
        header, first, second = csv.reader(file)
    assert header == ["query", "result_ts", "ts", "d", "x", "a", "alert", "id"]
    assert first[:6] == ["big", "1", "1", DIGITS, "NaN", f"[{DIGITS}]"]
    assert states([first[6], second[6]]) == EXPECTED


def test_parquet(tmp_path: Path) -> None:
    deliver(tmp_path, f"type = 'file', path = '{tmp_path}/p/', format = 'parquet'")
    files = sorted((tmp_path / "p").rglob("*.parquet"))
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    assert rows[0]["d"] == Decimal(DIGITS)
    assert rows[0]["a"] == f"[{DIGITS}]"
    assert states([row["_alert"] for row in rows]) == EXPECTED


def test_sqlite(tmp_path: Path) -> None:
    import sqlite3

    deliver(tmp_path, f"type = 'sqlite', path = '{tmp_path}/r.db', table = 'r'")
    with sqlite3.connect(tmp_path / "r.db") as connection:
        rows = connection.execute("SELECT d, a, _alert FROM r ORDER BY _ts").fetchall()
    connection.close()
    assert rows[0][:2] == (DIGITS, f"[{DIGITS}]")
    assert states([row[2] for row in rows]) == EXPECTED


def test_duckdb(tmp_path: Path) -> None:
    library = pytest.importorskip("duckdb")
    deliver(tmp_path, f"type = 'duckdb', path = '{tmp_path}/r.duckdb', table = 'r'")
    with library.connect(str(tmp_path / "r.duckdb")) as connection:
        rows = connection.execute("SELECT d, a, _alert FROM r ORDER BY _ts").fetchall()
    assert rows[0][:2] == (Decimal(DIGITS), f"[{DIGITS}]")
    assert states([row[2] for row in rows]) == EXPECTED


def test_postgres(tmp_path: Path) -> None:
    library = pytest.importorskip("psycopg")
    with postgres_server(tmp_path) as dsn:
        deliver(tmp_path, f"type = 'postgres', dsn = '{dsn}', table = 'exact_r'")
        with library.connect(dsn) as connection:
            rows = connection.execute(
                "SELECT d, CAST(a AS text), CAST(_alert AS text) FROM exact_r ORDER BY _ts"
            ).fetchall()
            connection.execute("DROP TABLE exact_r")
    assert rows[0][:2] == (Decimal(DIGITS), f"[{DIGITS}]")
    assert states([row[2] for row in rows]) == EXPECTED


def test_a_template_and_a_dead_letter(tmp_path: Path) -> None:
    hook = Hook()
    hook.answers = [200, 400]
    letters = tmp_path / "dead.jsonl"
    program_options = f"type = 'webhook', url = '{hook.url}', template = '{{d}} {{state}} {{a}}', dead_letters = '{letters}'"
    with pytest.raises(AssertionError):  # one of the two is refused
        deliver(tmp_path, program_options)
    hook.close()
    assert hook.bodies[0][1].decode() == f"{DIGITS} firing [{DIGITS}]"
    assert f'"d": {DIGITS}' in letters.read_text()
    assert json.loads(letters.read_text())["status"] == 400
