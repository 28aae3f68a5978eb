"""No output: results are counted and forgotten."""

from __future__ import annotations

from cqc.runtime.sinks import open_sink
from cqc.runtime.sinks.none import NoneSink
from tests.support.relations import PULLED, PUSHED


def test_none_counts_only() -> None:
    sink = open_sink("none", None)
    sink.write([PUSHED, PULLED])
    sink.close()
    assert isinstance(sink, NoneSink)
    assert sink.count == 3
