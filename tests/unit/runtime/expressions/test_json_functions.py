"""get_json_object gives what Spark gave for the same text and path."""

from __future__ import annotations

import pytest

from cqc.runtime.expressions.json_functions import get_json_object
from cqc.runtime.expressions.row_by_row import FAILED

MIXED = '{"a":1.50,"b":{"c":[1,2,{"d":"x"}]},"e":null,"f":"","g":true,"h":"q\\"z\\u00e9","i":[], "j": {}, "k.l": 5, "a b":6}'


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        (MIXED, "$", '{"a":1.5,"b":{"c":[1,2,{"d":"x"}]},"e":null,"f":"","g":true,"h":"q\\"zé","i":[],"j":{},"k.l":5,"a b":6}'),
        (MIXED, "$.a", "1.5"), (MIXED, "$.b.c[2].d", "x"), (MIXED, "$.b.c", '[1,2,{"d":"x"}]'), (MIXED, "$.e", None), (MIXED, "$.f", ""),
        (MIXED, "$.g", "true"), (MIXED, "$.h", 'q"zé'), (MIXED, "$.i", "[]"), (MIXED, "$['k.l']", "5"), (MIXED, "$.k.l", None),
        (MIXED, "$. a", "1.5"), (MIXED, "$.b . c", None), (MIXED, "$.A", None), (MIXED, "a", None), (MIXED, "", None), (MIXED, '$["a"]', None),
        (MIXED, "$.", None), (MIXED, "$..a", None), (MIXED, "$.b.c[-1]", None),
        ("[1,[2,3]]", "$[1][0]", "2"), ('"text"', "$", "text"), ("5", "$", "5"), (' {"a": 1} x', "$.a", "1"), ('{"a":1', "$.a", None),
        ("", "$", None), ('{"a":1,"a":2}', "$.a", "1"), ('{"a":1,"a":2}', "$", '{"a":1,"a":2}'), ('{"a":1e3}', "$.a", "1000.0"),
        ('{"c":12345678901234567890123}', "$.c", "12345678901234567890123"), ("null", "$", "null"), ('{"a":"\\u0001"}', "$", '{"a":"\\u0001"}'),
    ],
)  # fmt: skip
def test_what_spark_gives(text: str, path: str, expected: str | None) -> None:
    assert get_json_object(text, path) == expected


def test_a_path_with_a_star_fails() -> None:
    assert get_json_object("[1]", "$[*]") is FAILED
    assert get_json_object("{}", "$.*") is FAILED
