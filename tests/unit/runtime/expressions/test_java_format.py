"""`format_string` as Java's Formatter writes; the answers are Spark 4.3's."""

import pytest

import cqc

CASES = [
    ("'%5.2f|%-5s|%05d', 1.5, 'ab', 42", " 1.50|ab   |00042"),
    ("'%x|%X|%o', 255, 255, 8", "ff|FF|10"),
    ("'%e', 12345.678", "1.234568e+04"),
    ("'%,d', 1234567", "1,234,567"),
    ("'%+d %(d', 5, -5", "+5 (5)"),
    ("'%2$s %1$s', 'a', 'b'", "b a"),
    ("'%s', NULL", "null"),
    ("'%.0f %.1f', 0.5, 0.25", "1 0.3"),
    ("'%08.2f', -3.14159", "-0003.14"),
    ("'%,.2f', 1234567.891", "1,234,567.89"),
    ("'%x', -1", "ffffffffffffffff"),
    ("'%b %%', TRUE", "true %"),
    ("'%d', 1.5", None),
    ("'%q', 1", None),
    ("'%s %s', 'a'", None),
]


@pytest.mark.parametrize(("arguments", "written"), CASES)
def test_values_are_written_as_java_does(arguments: str, written: str | None) -> None:
    select = f"SELECT format_string({arguments}) AS v FROM s"
    engine = cqc.Engine(cqc.compile(f"CREATE STREAM s (ts BIGINT); {select};"))
    engine.push("s", [{"ts": 1}])
    assert [result.row["v"] for result in engine.drain()] == [written]
