"""to_json and from_json."""

from __future__ import annotations

import pytest

from tests.unit.runtime.expressions.nested.one_value import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("to_json(u)", '{"name":"ann"}'),
        ("to_json(m)", '{"k":5,"z":null}'),
        ("to_json(named_struct('d', d, 'b', b, 'x', x))", '{"d":12.50,"b":"Af8=","x":[3,1,null]}'),
        (
            """from_json('{"a": 1, "b": ["x"]}', 'a BIGINT, b ARRAY<STRING>')""",
            {"a": 1, "b": ["x"]},
        ),
        ("from_json('[1, 2]', 'ARRAY<BIGINT>')", [1, 2]),
        ("""from_json('{"a": "1"}', 'a BIGINT')""", {"a": None}),
        ("from_json('nonsense', 'a BIGINT')", {"a": None}),
    ],
)
def test_json_gives(text: str, expected: object) -> None:
    assert value(text) == expected
