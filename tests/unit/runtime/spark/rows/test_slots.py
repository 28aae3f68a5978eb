"""Many streams in one table: taken apart again, each stream has its own rows with its own columns."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import DoubleType, LongType

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.errors import RunError
from cqc.runtime.spark.rows.slots import TAG, Seat, Slot, Slots, rows_of_table
from tests.support.relations import relation

B = relation({"ts": T.BIGINT, "pressure": T.DOUBLE})
H = relation({"ts": T.BIGINT, "beats": T.BIGINT})
LONGS = [Slot(LongType(), number) for number in range(2)]
DOUBLE = Slot(DoubleType(), 0)


def slots(**seats: Seat) -> Slots:
    """As they are when their union was made, without Spark."""
    made = Slots.__new__(Slots)
    made._seats = seats
    return made


def test_a_slot_is_named_by_its_type_and_number() -> None:
    assert [slot.name for slot in (*LONGS, DOUBLE)] == ["bigint_0", "bigint_1", "double_0"]


def test_rows_go_back_to_their_streams_in_the_order_of_arrival() -> None:
    both = slots(b=Seat(B, (LONGS[0], DOUBLE)), h=Seat(H, tuple(LONGS)))
    table = pa.table({
        TAG: pa.array([0, 1, 1, 0], pa.int32()), "bigint_0": [1, 2, 3, 4], "double_0": [0.5, None, None, 0.25],
        "bigint_1": [None, 70, 80, None],
    })  # fmt: skip
    assert {name: rows.to_pydict() for name, rows in both.split(table).items()} == {
        "b": {"ts": [1, 4], "pressure": [0.5, 0.25]},
        "h": {"ts": [2, 3], "beats": [70, 80]},
    }
    assert list(both.split(table.slice(1, 2))) == ["h"]
    assert both.split(table.slice(0, 0)) == {}


def test_a_stream_alone_needs_no_tag() -> None:
    alone = slots(b=Seat(B, (LONGS[0], DOUBLE)))
    table = pa.table({"TS": [1], "PRESSURE": [0.5]})
    assert alone.split(table)["b"].to_pydict() == {"ts": [1], "pressure": [0.5]}
    assert alone.split(table.slice(0, 0)) == {}


def test_a_table_without_a_source_is_one_sentence() -> None:
    with pytest.raises(RunError, match="table s has no source, and no path in its WITH clause"):
        rows_of_table(B, None)
