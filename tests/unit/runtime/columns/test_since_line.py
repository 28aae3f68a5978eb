"""Who comes later sees event times from then on, and the watermark of the whole stream."""

from __future__ import annotations

import cqc
from cqc.runtime.columns.since_line import SinceLine
from cqc.runtime.intake.stream_input import StreamInput


def test_event_times_count_from_now_on() -> None:
    relation = cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT)").streams["s"]
    line = StreamInput(relation, None, lambda: 0.0)
    line.accept(line.take([{"ts": 1, "x": 0}, {"ts": 5, "x": 0}]))
    later = SinceLine(line)
    assert (later.first_us, later.latest_us) == (None, None)
    assert later.clock.watermark_us == 5_000_000
    line.accept(line.take([{"ts": 7, "x": 0}, {"ts": 9, "x": 0}]))
    assert (later.first_us, later.latest_us) == (7_000_000, 9_000_000)
    later.close()
    line.accept(line.take([{"ts": 20, "x": 0}]))
    assert later.latest_us == 9_000_000
