"""Text functions on constants, on columns, and on both; any scalar is its text."""

from __future__ import annotations

import pytest

from tests.unit.runtime.expressions.calls import evaluate

TEXTS = ["aba", None, "", "b"]
PARTS = ["a", "a", "b", None]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("replace(t, 'b', 'xy')", ["axya", None, "", "xy"]),
        ("replace(t, 'b')", ["aa", None, "", ""]),
        ("replace(t, '', 'x')", ["aba", None, "", "b"]),
        ("replace(t, u, 'x')", ["xbx", None, "", None]),
        ("replace('aab', u)", ["b", "b", "aa", None]),
        ("replace(t, 'b', u)", ["aaa", None, "", None]),
        ("startswith(t, 'a')", [True, None, False, False]),
        ("startswith(t, u)", [True, None, False, None]),
        ("endswith(t, '')", [True, None, True, True]),
        ("contains('ab', u)", [True, True, True, None]),
        ("contains(t, NULL)", [None, None, None, None]),
        ("substring(t, 2)", ["ba", None, "", ""]),
        ("substring('abc', length(u))", ["abc", "abc", "abc", None]),
        ("substring(t, length(u), 1)", ["a", None, "", None]),
    ],
)
def test_arguments_may_be_columns_or_constants(call: str, expected: list[object]) -> None:
    assert evaluate(call, t=TEXTS, u=PARTS) == (expected, 0)


def test_all_may_be_constants() -> None:
    assert evaluate("contains(replace('abc', 'b', 'x'), 'x')", i=[1, 2]) == ([True, True], 0)
    assert evaluate("reverse(trim(' ab '))", i=[1]) == (["ba"], 0)


def test_only_spaces_are_trimmed() -> None:
    assert evaluate("trim(t)", t=[" \ta\u00a0 ", "   "]) == (["\ta\u00a0", ""], 0)
    assert evaluate("concat(ltrim(t), '|', rtrim(t))", t=[" a "]) == (["a | a"], 0)


def test_any_scalar_is_taken_as_its_text() -> None:
    assert evaluate("reverse(i)", i=[120, None]) == (["021", None], 0)
    assert evaluate("startswith(f, 'tr')", f=[True, False]) == ([True, False], 0)
    assert evaluate("replace(d, '.', ',')", d=[1.5]) == (["1,5"], 0)


def test_text_is_reversed_by_code_points() -> None:
    assert evaluate("reverse(t)", t=["日本", "e\u0301x"]) == (["本日", "x\u0301e"], 0)
