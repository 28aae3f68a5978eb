"""What the databases share: statements, and values in the order of their columns."""

from cqc.runtime.receivers.database_rows import by_columns, create_table, quoted_table, row_of
from cqc.runtime.receivers.receiver import Columns, Sent

ONE = Columns(("x", 'odd "name'), ("BIGINT", "DOUBLE"), "BIGINT")
TYPES = {"BIGINT": "INT8", "DOUBLE": "FLOAT8", "STRING": "TEXT"}


def test_names_are_quoted() -> None:
    assert quoted_table('a.b"c') == '"a"."b""c"'
    assert create_table("t", ONE, TYPES) == (
        'CREATE TABLE IF NOT EXISTS t ("_id" TEXT PRIMARY KEY, "_query" TEXT, "_ts" INT8, "_alert" TEXT, "x" INT8, "odd ""name" FLOAT8)'
    )


def test_values_are_in_the_order_of_the_columns() -> None:
    line = '{"query": "q", "at": 7, "row": {"odd \\"name": "-Infinity", "x": null}, "alert": {"state": "firing"}}'
    assert row_of(Sent(1, "i", "q", line, ONE)) == [
        "i",
        "q",
        7,
        '{"state": "firing"}',
        None,
        float("-inf"),
    ]


def test_runs_of_equal_columns_keep_the_order() -> None:
    other = Columns(("y",), ("STRING",), "BIGINT")
    results = [Sent(n, "", "q", "", columns) for n, columns in enumerate((ONE, ONE, other, ONE))]
    assert [(columns, len(own)) for columns, own in by_columns(results)] == [
        (ONE, 2),
        (other, 1),
        (ONE, 1),
    ]
