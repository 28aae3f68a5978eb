"""Functions of arrays, maps and structs on one row; random calls are in tests/property."""

from __future__ import annotations

import pytest

from tests.unit.runtime.expressions.nested.one_value import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("size(x)", 3),
        ("size(m)", 2),
        ("element_at(x, -3)", 3),
        ("element_at(x, 4)", None),
        ("element_at(m, 'k')", 5),
        ("array_contains(x, 3)", True),
        ("array_contains(x, 4)", None),
        ("array_position(y, 'a')", 3),
        ("array_join(y, '-')", "b-a"),
        ("array_join(x, ',', '?')", "3,1,?"),
        ("array_distinct(array(1, 1, NULL, NULL))", [1, None]),
        ("array_distinct(array(1, 2, 3))", [1, 2, 3]),
        (
            "array_distinct(split('a b c d e f g h i j k l m n o p b q a', ' '))",
            [*"abcdefghijklmnopq"],
        ),
        ("array_distinct(flatten(array(x, x, x, x, x, x)))", [3, 1, None]),
        ("element_at(x, n - 11)", None),
        ("element_at(y, n - 9)", "b"),
        ("x[n - 9]", 1),
        ("x[-1]", None),
        ("array_contains(y, 'a')", True),
        ("array_contains(y, 'c')", None),
        ("array_contains(x, CAST(NULL AS BIGINT))", None),
        ("array_contains(x, n - 9)", True),
        ("slice(x, n - 9, n - 8)", [3, 1]),
        ("slice(x, 1, CAST(NULL AS BIGINT))", None),
        ("CASE WHEN n > 10 THEN x WHEN n = 10 THEN array(n) END", [10]),
        ("CASE WHEN n > 10 THEN 1 END", None),
        ("if(n = 10, y, NULL)", ["b", None, "a"]),
        ("array_max(x)", 3),
        ("array_min(y)", "a"),
        ("slice(x, -2, 5)", [1, None]),
        ("slice(x, 0, 1)", None),
        ("sort_array(x)", [None, 1, 3]),
        ("sort_array(x, FALSE)", [3, 1, None]),
        ("flatten(array(x, array(9)))", [3, 1, None, 9]),
        ("flatten(array(x, NULL))", None),
        ("array(1, 2.5)", [1.0, 2.5]),
        ("map('a', 1, 'a', 2)", None),
        ("map_keys(m)", ["k", "z"]),
        ("map_values(m)", [5, None]),
        ("named_struct('p', n, 'q', y)", {"p": 10, "q": ["b", None, "a"]}),
        ("coalesce(NULL, x)", [3, 1, None]),
        ("x = array(3, 1, NULL)", True),
    ],
)
def test_a_call_gives(text: str, expected: object) -> None:
    assert value(text) == expected
