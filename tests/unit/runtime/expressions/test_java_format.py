"""`format_string` as Java's Formatter writes; the answers are Spark 4.3's."""

import pytest

import cqc
from cqc.runtime.expressions import java_format
from tests.unit.runtime.expressions.calls import evaluate

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


PLAIN = [
    "'%s is %d', t, i",
    "'%-7s|%7s|%3d|%-25d|', t, t, i, i",
    "'%2$s%% %1$s%n%<s', d, f",
    "'%s %s', 'é', t",
    "'%s %d', NULL, 7",
    "'nothing'",
    "''",
    "'%s %s', CAST(i AS TIMESTAMP), ARRAY(t, u)",
    "'%s', CAST(i AS DECIMAL(30, 2))",
]


@pytest.mark.parametrize("arguments", PLAIN)
def test_whole_columns_are_written_as_each_row_is(
    arguments: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["", "é日", None, "long enough to stay", "𝄞"]
    whole = [0, -5, 123456, None, 1_700_000_000]
    real = [0.1, -0.0, 1e300, float("nan"), None]
    truth = [True, False, None, True, False]

    def written() -> tuple[list[object], int]:
        call = f"format_string({arguments})"
        return evaluate(call, t=texts, u=texts[::-1], i=whole, d=real, f=truth)

    by_columns = written()
    asked = []
    monkeypatch.setattr(java_format, "_is_plain", lambda part: asked.append(part))
    assert by_columns == written()
    assert asked
    assert None not in by_columns[0]
