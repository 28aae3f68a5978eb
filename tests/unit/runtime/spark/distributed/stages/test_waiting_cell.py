"""What a cell remembers beside its tuples is what another engine needs to go on."""

from __future__ import annotations

import json

import cqc
from cqc.runtime.engine.snapshot import EngineState, Snapshot
from cqc.runtime.spark.distributed.stages.waiting_cell import (
    MADE,
    keep_waiting,
    made_tuples,
    with_waiting,
)

PROGRAM = """
CREATE STREAM s (ts BIGINT, k STRING);
CREATE STREAM r (ts BIGINT, k STRING);
CREATE VIEW both AS SELECT ts, k FROM s UNION ALL SELECT ts, k FROM r;
CREATE QUERY pairs AS SELECT x.ts AS first, y.ts AS second FROM both x, both y WHERE x.k = y.k WINDOW y.ts > x.ts MAXWINDOW 10 SEC;
CREATE QUERY new AS SELECT n.k FROM s n WHERE NOT EXISTS (SELECT 1 FROM s o WHERE o.k = n.k WINDOW o.ts < n.ts);
CREATE QUERY counted AS SELECT window_end, COUNT(*) AS n FROM TUMBLE(s, 10 SEC) GROUP BY window_end;
"""


class Store:
    """Entries in memory."""

    def __init__(self) -> None:
        self.kept: dict[int, bytes] = {}

    def entries(self) -> list[tuple[int, bytes]]:
        return list(self.kept.items())

    def put(self, batch: int, blob: bytes) -> None:
        self.kept[batch] = blob

    def remove(self, batch: int) -> None:
        del self.kept[batch]


def test_rows_of_views_and_what_waits_are_there_again() -> None:
    engine, store = cqc.Engine(cqc.compile(PROGRAM)), Store()
    engine.push("s", [{"ts": 1, "k": "a"}, {"ts": 2, "k": None}])
    list(engine.drain())
    waiting = json.loads(json.dumps(keep_waiting(engine, store)))
    assert set(store.kept) == {MADE}
    whole = engine.snapshot()
    plain = EngineState(
        {name: line for name, line in whole.state.lines.items() if name in ("s", "r")},
        whole.state.queries,
        decided=engine.waiting_rows(),
    )
    base = {name: each for name, each in whole.tuples.items() if name in ("s", "r")}
    other = cqc.Engine(cqc.compile(PROGRAM))
    other.restore(Snapshot(with_waiting(plain, waiting), base | made_tuples(store)))
    other.push("s", [{"ts": 3, "k": "a"}])
    other.push("s", [{"ts": 12, "k": "b"}])
    found = [(each.query, *each.row.values()) for each in other.drain()]
    assert sorted(found) == [("counted", 10, 3), ("new", "b"), ("pairs", 1, 3)]
