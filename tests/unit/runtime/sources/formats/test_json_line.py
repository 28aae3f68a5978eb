"""One line of JSON as Python objects."""

from __future__ import annotations

from cqc.runtime.intake.typed_batch import Reject
from cqc.runtime.sources.formats.json_line import parse_line, row_of_line


def test_an_object_is_a_row_and_nothing_else_is() -> None:
    assert parse_line('{"a": 1}') == {"a": 1}
    assert parse_line("[1]") == Reject("not an object", [1])
    assert parse_line('{"a"') == Reject("not JSON", {"line": '{"a"'})
    assert row_of_line(b' {"a": 1}\r') == {"a": 1}
