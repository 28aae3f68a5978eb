import pytest

from tests.support.bind_text import bind_one, codes

FROM = "FROM B, T, ward"


@pytest.mark.parametrize(
    "window",
    [
        "T.ts > B.ts",
        "B.ts - T.ts <= 4 SECONDS",
        "B.ts - T.ts <= 4",
        "B.ts BETWEEN T.ts AND T.ts + 4 SEC",
        "NOT (B.ts > T.ts OR B.ts = T.ts + 1)",
        "B.ts > TIMESTAMP '2024-01-01 00:00:00' AND T.ts < '2024-02-01'",
        "abs(B.ts - T.ts) <= 1 SEC",
        "B.ts IN (T.ts, T.ts + 1 SEC)",
    ],
)
def test_conditions_about_event_times_are_accepted(window: str) -> None:
    assert bind_one(f"SELECT 1 AS x {FROM} WINDOW {window} MAXWINDOW 9 s").window is not None


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("B.pressure > 5", ["CQ052"]),
        ("B.ts > T.ts AND (B.bed = T.bed AND B.ok)", ["CQ052", "CQ052"]),
        ("B.ts > T.ts OR B.ok", ["CQ052"]),
        ("ward.bed = 1", ["CQ052"]),
        ("TRUE", ["CQ052"]),
        ("B.ts", ["CQ042"]),
        ("B.ts > T.pressure", ["CQ031"]),
        ("COUNT(*) > B.ts", ["CQ063"]),
        ("B.ts > NOW - 5", ["CQ057"]),
        ("B.bed - T.bed <= 4 SECONDS", ["CQ040", "CQ052"]),
        ("B.ts > T.bed AND B.ts > T.ts", ["CQ040", "CQ052"]),
        ("B.bed", ["CQ042", "CQ052"]),
        ("B.ts > 5", ["CQ040"]),
        ("MAX(B.bed) > 'a'", ["CQ063"]),
    ],
)
def test_other_conditions_point_to_where(window: str, expected: list[str]) -> None:
    assert codes(f"SELECT 1 AS x {FROM} WINDOW {window} MAXWINDOW 9 s") == expected


def test_a_column_that_is_a_timestamp_but_not_event_time_is_refused() -> None:
    assert codes("SELECT 1 AS x FROM D WINDOW D.seen > '2024-01-01'") == ["CQ052"]


def test_timestamp_and_numeric_event_time_do_not_mix() -> None:
    assert codes("SELECT 1 AS x FROM B, N, ward MAXWINDOW 1 s") == ["CQ051"]


def test_bigint_and_double_event_times_do() -> None:
    assert bind_one("SELECT 1 AS x FROM N, D WINDOW N.ts < D.ts MAXWINDOW 1 s").window is not None


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("ward", ["CQ056"]),
        ("B, ward [RANGE 5 s]", ["CQ055"]),
        ("B, ward [ROWS 5]", ["CQ055"]),
        ("B [ROWS 0]", ["CQ054"]),
        ("B [ROWS 1.5]", ["CQ054"]),
        ("B [RANGE INTERVAL '-1' SEC]", ["CQ053"]),
        ("B, b", ["CQ033"]),
        ("nowhere", ["CQ030"]),
    ],
)
def test_wrong_from_items_are_reported_once(items: str, expected: list[str]) -> None:
    assert codes(f"SELECT 1 AS x FROM {items}") == expected


def test_windows_of_items_are_microseconds_and_counts() -> None:
    first, second = bind_one("SELECT 1 AS x FROM B [RANGE 1.5 MIN] AS y, T [ROWS 3]").items
    assert (first.alias, first.range_us, first.rows) == ("y", 90_000_000, None)
    assert (second.range_us, second.rows) == (None, 3)


@pytest.mark.parametrize(
    ("written", "us"),
    [("6 SEC", 6_000_000), ("0.1 SEC", 100_000), ("INTERVAL '1.5' HOURS", 5_400_000_000), ("0 s", 0), ("1e3 US", 1000)],
)  # fmt: skip
def test_durations_are_exact(written: str, us: int) -> None:
    assert bind_one(f"SELECT 1 AS x FROM B MAXWINDOW {written}").max_window_us == us
