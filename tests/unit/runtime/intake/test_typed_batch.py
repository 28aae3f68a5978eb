"""What `push` takes: every form of rows, each bad row rejected alone."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.errors import RunError
from cqc.runtime.intake.typed_batch import Intake, TypedBatch, join_taken, split_taken
from tests.support.relations import EVERYTHING, relation

JANUARY = 1_704_067_200_000_000  # 2024-01-01
TIMED = relation({"ts": T.TIMESTAMP})


def take(data: Any) -> TypedBatch:
    return Intake(EVERYTHING).take(data)


def rows_of(taken: TypedBatch) -> list[tuple[Any, ...]]:
    return list(zip(*map(to_python, taken.columns), strict=True))


def reasons(taken: TypedBatch) -> list[str]:
    return [reject.reason for reject in taken.rejects]


def test_dicts_match_names_in_any_case_and_missing_keys_are_null() -> None:
    taken = take([{"TS": "2024-01-01", "X": 1, "other": 5}, {"ts": "2024-01-01", "name": "a"}])
    assert rows_of(taken) == [(JANUARY, 1, None, None, None), (JANUARY, None, None, "a", None)]
    assert (taken.read, taken.rejects) == (2, [])


def test_an_exact_name_wins_over_another_case() -> None:
    assert rows_of(take([{"ts": 0, "X": 1, "x": 2}]))[0][1] == 2


@pytest.mark.parametrize(
    "value",
    [
        "2024-01-01",
        "2024-01-01T01:00:00+01:00",
        datetime(2024, 1, 1),
        datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
        date(2024, 1, 1),
        np.datetime64("2024-01-01"),
        1_704_067_200,
        1_704_067_200_000,
        1_704_067_200_000_000,
        1_704_067_200_000_000_000,
        1_704_067_200.0,
    ],
)
def test_event_time_in_every_form(value: Any) -> None:
    assert Intake(TIMED).take([{"ts": value}]).ts_us.tolist() == [JANUARY]


@pytest.mark.parametrize(
    "value", ["soon", True, math.nan, math.inf, 10**30, b"2024", [1], {}, "\ud800"]
)
def test_what_is_no_event_time_rejects_its_row(value: Any) -> None:
    taken = Intake(TIMED).take([{"ts": value}, {"ts": 1}])
    assert taken.ts_us.tolist() == [1_000_000]
    assert reasons(taken) == ["ts is not a TIMESTAMP"]


def test_a_row_without_event_time_is_rejected() -> None:
    taken = take([{"x": 1}, {"ts": None}, {"ts": np.datetime64("NaT")}])
    assert reasons(taken) == ["ts is NULL"] * 3
    assert (len(taken), taken.read) == (0, 3)


def test_numeric_event_time_counts_seconds() -> None:
    numeric = relation({"t": T.DOUBLE})
    taken = Intake(numeric).take([{"t": 1.5}, {"t": math.nan}, {"t": 2}])
    assert taken.ts_us.tolist() == [1_500_000, 2_000_000]
    assert reasons(taken) == ["t is not an instant"]


@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        ("x", [1, 5.0, np.int32(7), Decimal(3), 2**63 - 1], ["1", 1.5, True, 2**63, math.nan, [1]]),
        ("d", [1, 1.5, np.float32(2), Decimal("0.5"), "NaN", 10**400], ["1", True, "nan", b"1"]),
        ("name", ["", "é", np.str_("a")], [1, True, b"a", "\ud800"]),
        ("ok", [True, np.False_], [1, "true", 0.0]),
    ],
)
def test_values_that_fit_their_type_and_values_that_do_not(
    column: str, good: list[Any], bad: list[Any]
) -> None:
    strict = replace(EVERYTHING, options={"mode": "strict"})
    taken = Intake(strict).take([{"ts": 1, column: value} for value in [*good, None, *bad]])
    assert len(taken) == len(good) + 1
    assert len(taken.rejects) == len(bad)
    assert {f"{column} is not a"} == {reason.rpartition(" ")[0] for reason in reasons(taken)}


def test_what_is_not_a_row_is_rejected() -> None:
    taken = take([5, {"ts": 1}, None])
    assert (len(taken), reasons(taken)) == (1, ["not an object", "not an object"])


def test_a_rejected_row_is_shown_as_it_came() -> None:
    assert take([{"TS": 1, "x": "a"}]).rejects[0].row == {"TS": 1, "x": "a"}


@pytest.mark.parametrize("data", ["text", {"ts": 1}, 5, b"x"])
def test_data_of_another_kind_is_a_run_error(data: Any) -> None:
    with pytest.raises(RunError, match="s takes a pyarrow Table"):
        take(data)


def test_no_rows_are_taken_as_no_rows() -> None:
    assert len(take([])) == 0
    assert len(take(pa.table({"ts": pa.array([], pa.timestamp("us"))}))) == 0


@pytest.mark.parametrize(
    "array",
    [
        pa.array([JANUARY], pa.timestamp("us")),
        pa.array([JANUARY // 10**6], pa.timestamp("s", "UTC")),
        pa.array([JANUARY // 10**3], pa.timestamp("ms", "Europe/Paris")),
        pa.array([JANUARY * 10**3 + 7], pa.timestamp("ns")),
        pa.array([date(2024, 1, 1)], pa.date32()),
        pa.array(["2024-01-01T00:00:00Z"]),
        pa.array(["2024-01-01"], pa.large_string()),
        pa.array(["2024-01-01"]).dictionary_encode(),
        pa.array([1_704_067_200], pa.int64()),
    ],
)
def test_arrow_timestamps_of_every_kind(array: pa.Array) -> None:
    for data in (pa.table({"ts": array}), pa.record_batch({"ts": array})):
        assert Intake(TIMED).take(data).ts_us.tolist() == [JANUARY]


def test_arrow_columns_are_widened_and_bad_values_reject_their_row() -> None:
    table = pa.table(
        {
            "TS": pa.array([1, 2, 3], pa.timestamp("s")),
            "x": pa.array([1, 2, 2**64 - 1], pa.uint64()),
            "d": pa.array([1, None, 3], pa.int8()),
            "name": pa.array([b"a", b"b", b"c"], pa.binary()).cast(pa.string()).dictionary_encode(),
            "ok": pa.array([True, None, False]),
        }
    )
    taken = take(table)
    assert rows_of(taken) == [(1_000_000, 1, 1.0, "a", True), (2_000_000, 2, None, "b", None)]
    assert reasons(taken) == ["x is not a BIGINT"]
    assert taken.rejects[0].row["x"] == 2**64 - 1


def test_an_arrow_column_of_the_wrong_type_rejects_its_rows_but_not_its_nulls() -> None:
    taken = take(pa.table({"ts": pa.array([1, 2], pa.timestamp("s")), "x": pa.array(["a", None])}))
    assert len(taken) == 1
    assert reasons(taken) == ["x is not a BIGINT"]


def test_arrow_text_that_is_not_utf_8_rejects_its_row() -> None:
    raw = pa.array([b"\xff", b"ok"], pa.binary())
    lying = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    taken = take(pa.table({"ts": pa.array([1, 2], pa.timestamp("s")), "name": lying}))
    assert [row[3] for row in rows_of(taken)] == ["ok"]
    assert reasons(taken) == ["name is not a STRING"]


def test_instants_that_python_cannot_show_do_not_break_a_reject() -> None:
    table = pa.table({"ts": pa.array([3], pa.timestamp("ns")), "x": pa.array(["bad"])})
    assert "000000003" in take(table).rejects[0].row["ts"]


def test_anything_that_speaks_arrow_is_taken() -> None:
    class Foreign:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.table({"ts": ["2024-01-01"]}).__arrow_c_stream__(requested_schema)

    assert Intake(TIMED).take(Foreign()).ts_us.tolist() == [JANUARY]


def test_frames_that_only_give_records_are_taken() -> None:
    class Frame:
        def to_dict(self, orient: str) -> list[dict[str, Any]]:
            assert orient == "records"
            return [{"ts": datetime(2024, 1, 1, tzinfo=UTC)}]

    assert Intake(TIMED).take(Frame()).ts_us.tolist() == [JANUARY]


def test_a_table_has_no_event_time() -> None:
    table = relation({"x": T.BIGINT}, event_time=None)
    taken = Intake(table).take([{"x": 1}, {"x": None}])
    assert taken.ts_us.tolist() == [0, 0]


def test_tuples_are_numbered_in_the_packet() -> None:
    packet = take([{"ts": 1}, {"ts": 2}]).packet(7)
    assert packet.arrival.tolist() == [7, 8]


def test_split_and_join_keep_every_tuple_and_count() -> None:
    whole = take([{"ts": at, "name": str(at)} for at in range(5)] + [{"ts": None}])
    parts = list(split_taken(whole, 2))
    assert [len(part) for part in parts] == [2, 2, 1]
    assert sum(part.read for part in parts) == 6
    again = join_taken(parts)
    assert rows_of(again) == rows_of(whole)
    assert len(again.rejects) == 1


def test_columns_that_a_table_has_not_are_told_with_its_first_row() -> None:
    table = pa.table({"ts": [1], "tempo": [1.5], "who": [{"name": "x"}]})
    stream = relation({"ts": T.BIGINT, "temp": T.DOUBLE})
    taken = Intake(stream).take(table)
    assert taken.absent is not None
    assert taken.absent.columns == {"temp"}
    assert json.loads(taken.absent.sample) == {"ts": 1, "tempo": 1.5, "who": {"name": "x"}}
    assert Intake(stream).take(table.rename_columns(["ts", "temp", "who"])).absent is None


def test_a_first_row_has_all_names_and_of_long_values_the_beginning() -> None:
    who = pa.array([None], pa.struct([("name", pa.string())]))
    day = pa.array([19_000], pa.date32())
    table = pa.table({"ts": [1], "who": who, "long": ["x" * 10_000], "raw": [b"ab"], "day": day})
    taken = Intake(relation({"ts": T.BIGINT, "temp": T.DOUBLE})).take(table)
    assert taken.absent is not None
    assert json.loads(taken.absent.sample) == {
        "ts": 1, "who": {"name": None}, "long": "x" * 200, "raw": "6162", "day": "2022-01-08",
    }  # fmt: skip
