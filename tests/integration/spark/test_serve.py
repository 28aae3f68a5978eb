"""`cqc serve --engine spark`: the program's sources come through Spark, clients are answered beside it."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.engine.engine import Engine
from cqc.runtime.sources.range import Range
from cqc.runtime.spark.delivery import Delivery
from tests.integration.serve.process import first_result, serving
from tests.integration.serve.running import running
from tests.support.waiting import PATIENCE_S, wait_until, write_whole

if TYPE_CHECKING:
    from cqc.runtime.spark.session.session import Session

PROGRAM = """
CREATE STREAM s (ts BIGINT, x BIGINT);
CREATE STREAM r (ts BIGINT, x BIGINT);
CREATE QUERY big AS SELECT x FROM s WHERE x > 10;
CREATE QUERY pairs AS SELECT s.x AS a, r.x AS b FROM s, r WHERE s.x = r.x MAXWINDOW 100 SEC;
CREATE QUERY total AS SELECT COUNT(*) AS n, SUM(x) AS x FROM s BEGIN 0 END NOW;
"""


def test_sources_come_through_spark_and_rows_over_http_beside_them(
    session: Session, tmp_path: Path
) -> None:
    (tmp_path / "1.csv").write_text("ts,x\n1,20\n2,5\n")
    with running(PROGRAM, binds={"s": str(tmp_path)}, session=session) as service:
        assert service.watch(1)[0][1] == {"query": "big", "ts": 1, "row": {"x": 20}}
        service.push("r", {"ts": 3, "x": 20})
        assert service.watch(2)[1][1]["row"] == {"a": 20, "b": 20}
        service.register("SELECT MAX(x) AS m FROM s BEGIN 0 END NOW", name="late")
        assert service.invoke("late")["rows"] == [{"m": 20}]
        write_whole(tmp_path / "2.csv", "ts,x\n4,40\n")
        assert service.watch(3)[2][1]["row"] == {"x": 40}
        assert service.invoke("total")["rows"] == [{"n": 3, "x": 65}]
        wait_until(lambda: service.client.get("/health").json()["caught_up"])
        assert service.client.get("/health").json()["engine"] == "spark"
        assert not service.problems


def test_a_service_on_spark_goes_on_from_its_checkpoint(session: Session, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "1.csv").write_text("ts,x\n1,20\n2,5\n")
    more = {"binds": {"s": str(data)}, "checkpoint": tmp_path / "state", "session": session}
    with running(PROGRAM, **more) as service:  # type: ignore[arg-type]  # of several types
        ((first_id, _),) = service.watch(1)
        made = service.register("SELECT x FROM s WHERE x > 30", name="huge")
    (data / "2.csv").write_text("ts,x\n3,40\n")
    with running(PROGRAM, **more) as service:  # type: ignore[arg-type]
        found = [result for _, result in service.watch(2, last_id=first_id)]
        assert [(each["query"], each["row"]["x"]) for each in found] == [("big", 40), ("huge", 40)]
        assert service.client.get("/queries/huge").json()["id"] == made["id"]
        assert service.invoke("total")["rows"] == [{"n": 3, "x": 65}]
    # The other engine reads the same checkpoint.
    del more["session"]
    with running(PROGRAM, **more) as service:  # type: ignore[arg-type]
        assert service.invoke("total")["rows"] == [{"n": 3, "x": 65}]
        assert len(service.watch(3)) == 3


def test_the_engine_is_touched_by_its_own_thread_only(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = set()
    push = Engine.push_typed

    def noted(engine: Engine, rows: object) -> None:
        names.add(threading.current_thread().name)
        push(engine, rows)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "push_typed", noted)
    (tmp_path / "1.csv").write_text("ts,x\n1,20\n")
    with running(PROGRAM, binds={"s": str(tmp_path)}, session=session) as service:
        service.watch(1)
        service.push("s", {"ts": 5, "x": 50})
        service.watch(2)
    assert names == {"cqc-engine"}


def test_ranges_come_back_from_spark_in_their_order(session: Session) -> None:
    delivery = Delivery(session=session)
    try:
        for at in range(5):
            ranges = [Range("s", f"{at}.csv", "csv", 0, None), Range("r", "é", "csv", at, at + 1)]
            assert delivery.deliver(ranges) == ranges
        assert delivery.deliver([]) == []
    finally:
        delivery.close()


def test_a_stop_ends_the_wait_for_spark(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    delivery = Delivery(session=session)
    monkeypatch.setattr(delivery, "_take", lambda batch, number: delivery.stop())
    assert delivery.deliver([Range("s", "x", "csv", 0, None)]) == []
    delivery.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_on_spark_is_killed_comes_back_and_stops_cleanly(
    number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "p.cq").write_text(PROGRAM)
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "1.csv").write_text("ts,x\n1,20\n2,5\n")
    arguments: list[str | Path] = [
        *(tmp_path / "p.cq", "--engine", "spark", "--checkpoint", tmp_path / "state"),
        *("--bind", f"s={tmp_path / 's'}"),
    ]
    with serving(*arguments) as (process, client):
        last_id, result = first_result(client)
        assert result["row"] == {"x": 20}
        process.kill()
        process.wait(timeout=PATIENCE_S)
    (tmp_path / "s" / "2.csv").write_text("ts,x\n4,40\n")
    with serving(*arguments) as (process, client):
        assert first_result(client, last_id)[1]["row"] == {"x": 40}
        assert client.get("/queries/total/invoke").json()["rows"] == [{"n": 3, "x": 65}]
        assert client.get("/queries/big").json()["results"] == 2
        process.send_signal(number)
        assert process.wait(timeout=PATIENCE_S) == (0 if number == signal.SIGTERM else 130)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_service_whose_spark_is_gone_stops_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "p.cq").write_text(PROGRAM)
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "1.csv").write_text("ts,x\n1,20\n")
    arguments = (tmp_path / "p.cq", "--engine", "spark", "--bind", f"s={tmp_path / 's'}")
    with serving(*arguments) as (process, client):
        first_result(client)
        (java,) = children(process.pid)
        os.kill(java, signal.SIGKILL)
        assert process.wait(timeout=PATIENCE_S) == 3
        assert process.stderr is not None
        told = process.stderr.read()
    assert "error: Spark failed: its process has gone" in told
    assert "Traceback" not in told


def children(pid: int) -> set[int]:
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        found |= set(map(int, (task / "children").read_text(encoding="utf-8").split()))
    return found
