"""PostgreSQL: types of columns, JSON alerts, another shape is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.postgres import PostgresReceiver
from cqc.runtime.receivers.receiver import (
    Columns,
    RefusedError,
    Sent,
    Setting,
    UnreachableError,
)
from tests.integration.sinks.receivers import free_port, postgres_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

psycopg = pytest.importorskip("psycopg")
COLUMNS = Columns(("x", "d", "at", "t"), ("BIGINT", "DOUBLE", "TIMESTAMP", "STRING"), "TIMESTAMP")
LINE = (
    '{"query": "q", "ts": "2024-01-01T00:00:01.5Z", "row": {"x": 1, "d": "Infinity", "at": "2024-02-03T00:00:00Z", "t": "a\\tb\\\\n"},'
    ' "alert": {"state": "firing"}}'
)


@pytest.fixture(scope="module")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with postgres_server(tmp_path_factory.mktemp("pg")) as address:
        yield address


def receiver(dsn: str, table: str) -> PostgresReceiver:
    return PostgresReceiver(Setting("s", {"dsn": dsn, "table": table}, "p", ".", None, table))


def rows(dsn: str, statement: str) -> list[Any]:
    with psycopg.connect(dsn) as connection:
        return list(connection.execute(statement).fetchall())


def test_columns_have_types_of_their_own(dsn: str) -> None:
    made = receiver(dsn, "typed")
    made.send([Sent(1, "id1", "q", LINE, COLUMNS)])
    made.send([Sent(1, "id1", "q", LINE, COLUMNS), Sent(2, "id2", "q", LINE, COLUMNS)])
    assert made.stored() == 2
    made.close()
    found = rows(
        dsn,
        "SELECT _id, extract(epoch FROM _ts)::float, _alert ->> 'state', x, d, at::text, t FROM typed ORDER BY 1",
    )
    assert [row[0] for row in found] == ["id1", "id2"]
    assert found[0][1:5] == (1704067201.5, "firing", 1, float("inf"))
    assert found[0][6] == "a\tb\\n"


def test_a_query_of_another_shape_is_told(dsn: str) -> None:
    made = receiver(dsn, "shaped")
    made.send([Sent(1, "id1", "q", LINE, COLUMNS)])
    with pytest.raises(RunError, match="need a table of their own"):
        made.send(
            [
                Sent(
                    2,
                    "i",
                    "w",
                    '{"ts": null, "row": {"z": 1}}',
                    Columns(("z",), ("BIGINT",), "TIMESTAMP"),
                )
            ]
        )
    made.close()


def test_a_server_that_is_not_there_is_tried_again() -> None:
    with pytest.raises(UnreachableError, match="cannot be reached"):
        receiver(f"postgresql://u@127.0.0.1:{free_port()}/d", "t")


def test_rows_that_another_run_has_written_are_not_written_again(dsn: str, tmp_path: Path) -> None:
    import cqc
    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.finite_run import LocalRun

    program = (
        f"CREATE SINK there WITH (type = 'postgres', dsn = '{dsn}', table = 'twice');"
        f"CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = '{tmp_path}/s.csv');"
        "CREATE QUERY q INTO there AS SELECT x FROM s;"
    )
    for rows in (3, 5):  # the second run finds the first three there
        (tmp_path / "s.csv").write_text("ts,x\n" + "".join(f"{at},{at}\n" for at in range(rows)))
        run = LocalRun(cqc.compile(program), RunOptions(programs=("p.cq",), rows_per_batch=2))
        run.to_end()
        run.close()
    with psycopg.connect(dsn) as connection:
        found = connection.execute("SELECT x FROM twice ORDER BY x").fetchall()
    assert found == [(at,) for at in range(5)]


def test_only_what_the_database_cannot_hold_is_refused(dsn: str) -> None:
    made = receiver(dsn, "picky")
    columns = Columns(("at",), ("TIMESTAMP",), "BIGINT")
    days = ["2024-01-01T00:00:00Z", "999999-01-01T00:00:00Z", "2024-01-02T00:00:00Z"]
    results = [
        Sent(n, f"id{n}", "q", f'{{"query": "q", "ts": {n}, "row": {{"at": "{day}"}}}}', columns)
        for n, day in enumerate(days, start=1)
    ]
    with pytest.raises(RefusedError) as refused:
        made.send(results)
    assert refused.value.refused == {2}
    made.send([results[0], results[2]])
    assert made.stored() == 3
    made.close()
    assert rows(dsn, "SELECT _id FROM picky ORDER BY 1") == [("id1",), ("id3",)]
