"""What WITH says of reading values."""

from __future__ import annotations

from cqc.runtime.columns.convert.reading import USUAL, Reading, json_text


def test_rules_of_a_with_clause() -> None:
    assert Reading.of({}) == USUAL
    assert not Reading.of({"mode": "STRICT"}).lenient
    assert Reading.of({"on_bad": "null"}).bad_is_null
    assert Reading.of({"timestamp": "millis"}).times.unit_us == 1_000


def test_json_text_of_python_values() -> None:
    assert json_text({"a": [1, None, "é"]}) == '{"a": [1, null, "é"]}'
    assert json_text({1, 2}) is None
    assert json_text(["\ud800"]) is None
