"""What an alert tells, as JSON and as one more column."""

import json

import cqc
from cqc.runtime.sinks.alert_text import alert_label, flat, json_alerts

PROGRAM = """CREATE STREAM s (ts BIGINT, k STRING, x BIGINT);
CREATE ALERT a AS SELECT x AS alert FROM s WHERE x > 1 PER k NO DATA AFTER 1 HOUR WITH (note = 'a "quote" {alert}');"""


def test_json_is_what_the_library_gives() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    rows = [{"ts": 1, "k": 'q"', "x": 5}, {"ts": 2, "k": 'q"', "x": 0}]
    engine.push("s", rows)
    ((block,),) = engine.drain_blocks()
    engine.push("s", [{"ts": 3, "k": "b", "x": 9}])
    found = [json.loads(text) for text in json_alerts(block, block.positions()).to_pylist()]
    assert found == [
        {"state": "firing", "severity": None, "key": {"k": 'q"'}, "since": 1, "count": 1, "note": 'a "quote" 5'},
        {"state": "resolved", "severity": None, "key": {"k": 'q"'}, "since": 1, "count": 1, "note": 'a "quote" 0'},
    ]  # fmt: skip
    assert flat(block).names == ("alert", "result_alert")


def test_the_column_has_a_name_that_no_output_has() -> None:
    assert alert_label(["x"]) == "alert"
    assert alert_label(["Alert"]) == "result_alert"
