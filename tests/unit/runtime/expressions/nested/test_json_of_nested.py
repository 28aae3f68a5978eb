"""to_json and from_json."""

from __future__ import annotations

import pytest

from cqc.runtime.expressions.nested import json_of_nested
from tests.unit.runtime.expressions.calls import evaluate
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


FLAT = [
    "named_struct('n', i, 't', t)",
    "named_struct('a \"b', t, 'é', u, 'f', f)",
    "named_struct('t', 'x')",
    "named_struct('n', 7, 't', 'a\"b', 'i', i)",
    "CASE WHEN f THEN named_struct('n', i, 't', t) END",
    "from_json(u, 'a STRING, b BIGINT')",
]


@pytest.mark.parametrize("struct", FLAT)
@pytest.mark.parametrize("whole", [[1, -(2**63), 0, 5, 6], [None, 1, None, 2, None]])
def test_structs_by_whole_columns_are_written_as_each_is(
    struct: str, whole: list[int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["plain", 'é"\\\n\x00\x1f\x7f\u2028', "", None if whole[0] is None else "日", "/"]
    others = ['{"a": "q\\"", "b": 1}', "nonsense", None, "{}", '{"a": null}']
    truth = [True, False, None, True, False]

    def written() -> tuple[list[object], int]:
        return evaluate(f"to_json({struct})", t=texts, u=others, i=whole, f=truth)

    by_columns = written()
    asked = []
    monkeypatch.setattr(json_of_nested, "_is_flat", lambda type_: asked.append(type_))
    assert by_columns == written()
    assert asked
