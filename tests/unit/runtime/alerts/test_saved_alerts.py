"""What a checkpoint holds of alerts."""

import json

import cqc
from cqc.runtime.engine.snapshot import EngineState, Snapshot

DECLARED = "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT, WATERMARK FOR ts AS ts - 3 SECONDS);"
FIRST = "CREATE ALERT a AS SELECT k, x FROM s WHERE x > 0 PER k FOR 2 SEC ONCE EVERY 50 SEC NO DATA AFTER 20 SEC;"
SECOND = "CREATE ALERT b AS SELECT x FROM s WHERE x > 0 NO DATA AFTER 20 SEC;"
ROWS = [(1, "a", 1), (3, "b", 2), (4, "a", 3), (2, "a", 4), (9, "b", 5), (11, "b", 0), (40, "c", 0)]


def pushed(engine: cqc.Engine, rows: list[tuple[int, str, int]]) -> list[object]:
    found: list[object] = []
    for ts, k, x in rows:
        engine.push("s", [{"ts": ts, "k": k, "x": x}])
        found += [(each.query, each.ts, each.row, each.alert) for each in engine.drain()]
    return found


def moved(engine: cqc.Engine, text: str) -> cqc.Engine:
    snapshot = engine.snapshot()
    state = EngineState.from_json(json.loads(json.dumps(snapshot.state.to_json())))
    wanted = {query.name: query.span.text for query in cqc.compile(text).queries}
    other = cqc.Engine(cqc.compile(text))
    other.restore(Snapshot(state.without_gone(wanted), snapshot.tuples))
    return other


def test_an_engine_that_goes_on_tells_what_one_that_never_stopped_does() -> None:
    whole = cqc.Engine(cqc.compile(DECLARED + FIRST + SECOND))
    expected = pushed(whole, ROWS)
    assert expected
    for cut in range(len(ROWS)):
        engine = cqc.Engine(cqc.compile(DECLARED + FIRST + SECOND))
        found = pushed(engine, ROWS[:cut])
        found += pushed(moved(engine, DECLARED + FIRST + SECOND), ROWS[cut:])
        assert found == expected, cut


def test_an_alert_that_is_gone_leaves_the_others_as_they_are() -> None:
    engine = cqc.Engine(cqc.compile(DECLARED + FIRST + SECOND))
    pushed(engine, ROWS[:4])
    found = pushed(moved(engine, DECLARED + SECOND), ROWS[4:])
    alone = cqc.Engine(cqc.compile(DECLARED + SECOND))
    pushed(alone, ROWS[:4])
    own = [each for each in found if each[0] == "b"]  # type: ignore[index]
    assert own == pushed(alone, ROWS[4:])
