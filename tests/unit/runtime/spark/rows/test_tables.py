"""Result blocks as Arrow tables: one a query, its blocks one after the other."""

from __future__ import annotations

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.spark.rows.tables import tables_of
from tests.support.relations import PULLED, PUSHED, block


def test_each_query_has_one_table_of_all_its_blocks() -> None:
    empty = block("q3", {"x": (T.BIGINT, [])}, [])
    tables = tables_of([PUSHED, PULLED, PUSHED, empty])
    assert {query: table.num_rows for query, table in tables.items()} == {"q1": 4, "q2": 1}
    assert tables["q1"]["x"].to_pylist() == [1, None, 1, None]
    assert tables["q2"]["n"].to_pylist() == [0.5]


def test_no_blocks_are_no_tables() -> None:
    assert tables_of([]) == {}
