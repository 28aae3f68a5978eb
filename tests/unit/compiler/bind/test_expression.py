import pytest

from cqc.compiler.meaning import bound
from cqc.compiler.meaning.bound import ArithmeticOp, ComparisonOp, Literal
from cqc.compiler.meaning.types import ColumnType
from tests.support.bind_text import (
    DECLARATIONS,
    bind_one,
    bind_text,
    codes,
    condition,
    expression,
)

BIGINT, DOUBLE, STRING = ColumnType.BIGINT, ColumnType.DOUBLE, ColumnType.STRING
BOOLEAN, TIMESTAMP, INTERVAL = ColumnType.BOOLEAN, ColumnType.TIMESTAMP, ColumnType.INTERVAL


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1", BIGINT), ("1.", DOUBLE), ("1e2", DOUBLE), ("'a'", STRING), ("TRUE", BOOLEAN), ("NULL", STRING),
        ("bed + 1", BIGINT), ("bed + 1.5", DOUBLE), ("bed / 2", DOUBLE), ("bed % 2", BIGINT), ("-bed", BIGINT),
        ("+pressure", DOUBLE), ("NULL + 1", BIGINT), ("NULL / NULL", DOUBLE), ("coalesce(NULL, NULL)", STRING), ("CASE WHEN ok THEN NULL END", STRING), ("bed * NULL", BIGINT), ("-NULL", DOUBLE),
        ("ts + 5", TIMESTAMP), ("5 + ts", TIMESTAMP), ("ts - 5 SEC", TIMESTAMP), ("2 * 5 SEC + ts", TIMESTAMP),
        ("ts + bed * 1 SEC", TIMESTAMP), ("ts + NULL", TIMESTAMP), ("abs(bed)", BIGINT), ("abs(pressure)", DOUBLE),
        ("round(bed, -1)", BIGINT), ("round(pressure)", DOUBLE), ("floor(pressure)", BIGINT), ("ceil(bed)", BIGINT),
        ("least(bed, 1.5)", DOUBLE), ("greatest(ts, '2024-01-01')", TIMESTAMP), ("coalesce(NULL, name)", STRING),
        ("coalesce(ok, TRUE)", BOOLEAN), ("length(name)", BIGINT), ("upper(NULL)", STRING),
        ("concat(name, bed, pressure, ok, ts)", STRING), ("substring(name, 2)", STRING),
        ("substring(name, bed, 1)", STRING), ("CAST(bed AS STRING)", STRING), ("CAST(NULL AS TIMESTAMP)", TIMESTAMP),
        ("CAST(ts AS DOUBLE)", DOUBLE), ("CASE WHEN ok THEN 1 ELSE 2.5 END", DOUBLE), ("CASE bed WHEN 1 THEN 'a' END", STRING),
        ("bed = 1", BOOLEAN), ("NULL = NULL", BOOLEAN), ("bed IN (1, NULL)", BOOLEAN), ("name LIKE NULL", BOOLEAN),
        ("NOT NULL", BOOLEAN), ("bed IS NOT DISTINCT FROM 1.0", BOOLEAN), ("ts = '2024-01-01'", BOOLEAN),
    ],
)  # fmt: skip
def test_expressions_have_their_types(text: str, result: ColumnType) -> None:
    assert expression(text).type is result


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("name = 5", "CQ040"), ("name BETWEEN 'a' AND 5", "CQ040"), ("ok = 1", "CQ040"), ("ts > 5", "CQ040"),
        ("bed IN (1, 'a')", "CQ040"), ("CASE bed WHEN 'a' THEN TRUE END", "CQ040"), ("name IS DISTINCT FROM 5", "CQ040"),
        ("pressure < 5 SEC", "CQ040"), ("name + 1 > 0", "CQ041"), ("ts + ts > ts", "CQ041"), ("5 - ts > ts", "CQ041"),
        ("5 SEC * 5 SEC > 1 SEC", "CQ041"), ("ts + ok > ts", "CQ041"), ("-ok", "CQ041"), ("+name = 'a'", "CQ041"),
        ("ts * 2 > ts", "CQ041"), ("1 / 5 SEC > 1 SEC", "CQ041"), ("bed AND ok", "CQ042"), ("NOT name", "CQ042"),
        ("name IS FALSE", "CQ042"), ("coalesce(name, 1) = 'a'", "CQ043"), ("greatest(ok, 1) = TRUE", "CQ043"),
        ("regexp_like(name, '(')", "CQ046"), ("round(1.5, bed) > 1", "CQ044"), ("bed LIKE 'a'", "CQ044"), ("abs(ts) > 1", "CQ044"),
        ("name LIKE bed", "CQ044"), ("name LIKE 'a\\'", "CQ046"), ("name ILIKE '\\a'", "CQ046"), ("name RLIKE '['", "CQ046"),
        ("ts > 'soon'", "CQ047"), ("ts > TIMESTAMP '2024-02-30'", "CQ047"), ("bed < 9223372036854775808", "CQ048"),
        ("bed < -9223372036854775809", "CQ048"), ("pressure < 1e999", "CQ048"), ("CAST(ok AS TIMESTAMP) > ts", "CQ049"),
        ("name LIKE 'a' ESCAPE ''", "CQ050"), ("ts > NOW", "CQ057"), ("abs() > 1", "CQ036"), ("nofun(1) > 1", "CQ035"),
        ("MAX(bed) > 1", "CQ063"), ("abs(*) > 1", "CQ065"), ("name RLIKE 'a' ESCAPE '!'", "CQ065"), ("bed IN (1, 2, nothing)", "CQ031"), ("x.y = 1", "CQ034"),
    ],
)  # fmt: skip
def test_wrong_conditions_are_reported_once(text: str, code: str) -> None:
    assert codes(f"SELECT 1 AS one FROM B WHERE {text}") == [code]


def test_the_smallest_bigint_can_be_written() -> None:
    assert expression("-9223372036854775808").type is BIGINT


def test_digits_without_end_are_refused_without_working_on_them() -> None:
    assert codes(f"SELECT {'9' * 10_000} AS x FROM B") == ["CQ048"]
    assert expression("0" * 10_000 + "7") == Literal(7, BIGINT, bind_one("SELECT ts FROM B").span)


def test_between_is_two_comparisons_and_not_between_their_negation() -> None:
    both = condition("bed BETWEEN 1 AND 2")
    assert isinstance(both, bound.And)
    ops = [part.op for part in both.operands if isinstance(part, bound.Comparison)]
    assert ops == [ComparisonOp.GE, ComparisonOp.LE]
    assert isinstance(condition("bed NOT BETWEEN 1 AND 2"), bound.Not)


def test_chains_are_flattened_through_parentheses_and_on() -> None:
    where = bind_one(
        "SELECT 1 AS x FROM B JOIN T ON B.bed = T.bed AND ok WHERE (ok AND (ok AND ok)) MAXWINDOW 1 s"
    ).where
    assert isinstance(where, bound.And)
    assert len(where.operands) == 5


def test_a_simple_case_compares_its_operand() -> None:
    case = expression("CASE bed WHEN 1 THEN 'a' ELSE 'b' END")
    assert isinstance(case, bound.Case)
    assert isinstance(case.branches[0][0], bound.Comparison)


def test_case_values_are_cast_to_their_common_type() -> None:
    case = expression("CASE WHEN ok THEN bed WHEN ok THEN 2 ELSE 2.5 END")
    assert isinstance(case, bound.Case)
    assert isinstance(case.branches[0][1], bound.Cast)
    assert isinstance(case.branches[1][1], Literal)
    assert [value.type for _, value in case.branches] == [DOUBLE, DOUBLE]


def test_one_double_makes_a_whole_in_list_double() -> None:
    found = condition("bed IN (9007199254740993, 1.5)")
    assert isinstance(found, bound.InList)
    assert [value.type for value in found.values] == [DOUBLE, DOUBLE]


def test_a_text_next_to_a_timestamp_is_a_timestamp() -> None:
    comparison = condition("ts >= '1970-01-01 00:00:01'")
    assert isinstance(comparison, bound.Comparison)
    assert isinstance(comparison.right, Literal)
    assert (comparison.right.value, comparison.right.type) == (1_000_000, TIMESTAMP)


def right_side(text: str, items: str) -> tuple[object, ColumnType]:
    comparison = condition(text, items)
    assert isinstance(comparison, bound.Comparison)
    assert isinstance(comparison.right, Literal)
    return comparison.right.value, comparison.right.type


@pytest.mark.parametrize(
    ("text", "items", "value", "result"),
    [
        ("B.ts - T.ts <= 4", "B [ROWS 1], T [ROWS 1]", 4_000_000, INTERVAL),
        ("B.ts - T.ts <= 0.25", "B [ROWS 1], T [ROWS 1]", 250_000, INTERVAL),
        ("B.ts - T.ts <= 2 * 3 SEC - 1 SEC", "B [ROWS 1], T [ROWS 1]", 5_000_000, INTERVAL),
        ("ts <= 4 SEC", "N", 4, BIGINT),
        ("ts <= 1500 MS", "N", 1.5, DOUBLE),
        ("ts - 1 <= -(2 * 5 SEC)", "D", -10, BIGINT),
        ("v < 5 SEC", "N", 5, BIGINT),
    ],
)
def test_numbers_and_durations_meet_as_the_query_counts_time(
    text: str, items: str, value: object, result: ColumnType
) -> None:
    assert right_side(text, items) == (value, result)


def test_a_timestamp_column_beside_numeric_event_time_keeps_durations() -> None:
    shifted = expression("seen + 5 SEC", "D")
    assert isinstance(shifted, bound.Arithmetic)
    assert (shifted.op, shifted.right.type) == (ArithmeticOp.ADD, INTERVAL)


def test_a_duration_times_a_column_is_seconds_where_event_time_is_a_number() -> None:
    assert expression("ts + v * 2 SEC", "D").type is DOUBLE


def test_thousands_of_comparisons_in_one_where_are_normal() -> None:
    where = condition(" OR ".join(f"name = '{n}'" for n in range(5000)))
    assert isinstance(where, bound.Or)
    assert len(where.operands) == 5000


def test_equal_expressions_are_equal_wherever_they_are_written() -> None:
    assert condition("bed + 1 > 2") == condition("(B.BED+1)  >  2")
    assert condition("bed = 1") != condition("bed = 1.0")


@pytest.mark.parametrize(("text", "hint"), [
    ("name > 5", "Write `'5'` to compare texts, or `CAST(name AS BIGINT)` to compare numbers."),
    ("name > bed", "Write `CAST(name AS BIGINT)`."),
    ("bed = '5'", "Write `5` without quotes, or `CAST('5' AS BIGINT)`."),
    ("bed = 'five'", "Write a number in place of `'five'`, or `CAST(bed AS STRING)` to compare texts."),
    ("bed = 'NaN'", "Write a number in place of `'NaN'`, or `CAST(bed AS STRING)` to compare texts."),
    ("bed + 'five' > 1", "Write a number in place of `'five'`."),
    ("bed = '1e2'", "Write `CAST('1e2' AS BIGINT)`."),
    ("name = \"Ann\"", "Texts are written in single quotes: `'Ann'`."),
    ("bed - 1 > 4 SECONDS", "Write `(bed - 1) * INTERVAL 1 SECOND`."),
])  # fmt: skip
def test_hints_can_be_typed(text: str, hint: str) -> None:
    (found,) = bind_text(DECLARATIONS, f"SELECT 1 AS x FROM B WHERE {text}").diagnostics
    assert found.hint == hint
