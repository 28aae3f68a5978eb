"""Columns inside objects are found by the scan."""

from __future__ import annotations

from cqc.compiler import compile as compile_text
from cqc.runtime.columns.columns import to_python
from cqc.runtime.sources.formats.json_entries import Entries
from cqc.runtime.sources.formats.json_rows import JsonRows


def test_entries_inside_an_object_follow_its_own() -> None:
    entries = Entries([("Event", "System", "id"), ("name",), ("event", "x"), ("Event",)])
    assert entries.of_column.tolist() == [2, 5, 3, 0]
    assert entries.flat_of_column.tolist() == [4, -1, 6, -1]
    assert entries.count == 7


def test_a_path_may_be_one_key_and_what_is_nested_wins() -> None:
    text = "CREATE STREAM s (ts BIGINT, id STRING FROM 'a.b', x STRING);"
    relation = compile_text(text).catalog.find("s")
    assert relation is not None
    lines = [
        b'{"ts": 1, "a": {"b": "nested"}}',
        b'{"ts": 2, "A.b": "flat", "x": "y"}',
        b'{"ts": 3, "a.b": "flat", "a": {"b": "nested"}}',
        b'{"ts": 4, "a": {"c": 1}}',
    ]
    (taken,) = JsonRows(relation).lines(b"\n".join(lines))
    assert to_python(taken.columns[1]) == ["nested", "flat", "nested", None]
    (flat,) = JsonRows(relation).lines(lines[1])
    assert flat.absent is None


def test_values_inside_objects() -> None:
    text = (
        "CREATE STREAM s (ts BIGINT, id STRING FROM 'Event.System.EventID', again BIGINT FROM 'event.system.eventid',"
        " event STRING);"
    )
    relation = compile_text(text).catalog.find("s")
    assert relation is not None
    lines = [
        b'{"ts": 1, "Event": {"x": [1], "System": {"EventID": 7, "b": {}}, "y": 2}, "z": 3}',
        b'{"ts": 2, "Event": {"System": {}}}',
        b'{"ts": 3, "Event": 5}',
        b'{"ts": 4, "Event": {"System": {"EventID": 1}}, "Event": {"System": {"other": 2}}}',
        b'{"Event": {"System": {"EVENTID": "8", "EventID": "9"}}, "ts": 5}',
    ]
    (taken,) = JsonRows(relation).lines(b"\n".join(lines))
    ts, ids, again, event = map(to_python, taken.columns)
    assert ts == [1, 2, 3, 4, 5]
    assert ids == ["7", None, None, None, "9"]
    assert again == [7, None, None, None, 9]
    assert event[1:3] == ['{"System": {}}', "5"]
    assert not taken.rejects
