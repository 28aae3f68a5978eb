"""The sinks of a run: opened for the queries that name them, waited for at the end, told when they are left."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.run.declared_sinks import DeclaredSinks
from tests.integration.sinks.receivers import Hook, free_port

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunCqc


def write(folder: Path, url: str) -> str:
    (folder / "s.csv").write_text("ts,x\n1,1\n2,2\n")
    (folder / "p.cq").write_text(
        f"CREATE SINK hook WITH (type = 'webhook', url = '{url}');"
        "CREATE SINK unused WITH (type = 'postgres', dsn = 'postgresql://127.0.0.1:1/none', table = 't');"
        "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = 's.csv');"
        "CREATE QUERY sent INTO hook WITH (level = 'high') AS SELECT x FROM s; CREATE QUERY shown AS SELECT x FROM s WHERE x > 1;"
    )
    return str(folder / "p.cq")


def test_results_go_to_their_sinks_alone(run_cqc: RunCqc, tmp_path: Path) -> None:
    hook = Hook()
    done = run_cqc("run", write(tmp_path, hook.url), "--engine", "local")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["query"] for line in done.stdout.splitlines()] == ["shown"]
    assert [(line["query"], line["row"]["x"], line["with"]) for line in hook.lines()] == [
        ("sent", 1, {"level": "high"}),
        ("sent", 2, {"level": "high"}),
    ]
    assert "sink hook: 2 sent" in done.stderr
    assert "unused" not in done.stderr
    hook.close()


def test_what_did_not_happen_goes_to_its_sink_too(run_cqc: RunCqc, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,k\n1,1\n2,2\n")
    (tmp_path / "b.csv").write_text("ts,k\n2,1\n30,9\n")
    (tmp_path / "p.cq").write_text(
        f"CREATE SINK out WITH (type = 'file', path = '{tmp_path}/out.jsonl');"
        "CREATE STREAM a (ts BIGINT, k BIGINT) WITH (path = 'a.csv'); CREATE STREAM b (ts BIGINT, k BIGINT) WITH (path = 'b.csv');"
        "CREATE QUERY alone INTO out AS SELECT a.k FROM a LEFT JOIN b ON a.k = b.k WHERE b.k IS NULL WINDOW b.ts BETWEEN a.ts AND a.ts + 5;"
    )
    done = run_cqc("run", str(tmp_path / "p.cq"), "--engine", "local", "--rows-per-batch", "1")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    (line,) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (line["ts"], line["row"]) == (7, {"k": 2})


def test_a_receiver_that_stays_away_is_exit_code_3_and_the_next_start_sends(
    run_cqc: RunCqc, tmp_path: Path
) -> None:
    port = free_port()
    program = write(tmp_path, f"http://127.0.0.1:{port}/in")
    arguments = (
        "run",
        program,
        "--engine",
        "local",
        "--checkpoint",
        str(tmp_path / "ck"),
        "--drain",
        "0.3",
    )
    left = run_cqc(*arguments)
    assert left.returncode == 3
    assert "results were not sent within 0.3 s: 2 for sink hook" in left.stderr
    assert "they stay in the checkpoint" in left.stderr
    hook = Hook(port)
    done = run_cqc(*arguments[:-1], "30")
    assert done.returncode == 0, done.stderr
    assert [line["row"]["x"] for line in hook.lines()] == [1, 2]
    hook.close()


def test_without_a_checkpoint_what_is_left_is_said_to_be_lost(
    run_cqc: RunCqc, tmp_path: Path
) -> None:
    program = write(tmp_path, f"http://127.0.0.1:{free_port()}/in")
    done = run_cqc("run", program, "--engine", "local", "--drain", "0.2")
    assert done.returncode == 3
    assert "they are lost, because there is no --checkpoint" in done.stderr


def test_a_sink_of_spark_needs_spark(run_cqc: RunCqc, tmp_path: Path) -> None:
    (tmp_path / "p.cq").write_text(
        "CREATE SINK d WITH (type = 'spark', format = 'parquet', path = 'x'); CREATE STREAM s (ts BIGINT) WITH (path = 's.csv');"
        "CREATE QUERY q INTO d AS SELECT ts FROM s"
    )
    (tmp_path / "s.csv").write_text("ts\n1\n")
    done = run_cqc("run", str(tmp_path / "p.cq"), "--engine", "local")
    assert (done.returncode, "needs --engine spark" in done.stderr) == (3, True)


@pytest.mark.spark
def test_the_same_on_spark(run_cqc: RunCqc, tmp_path: Path) -> None:
    hook = Hook()
    done = run_cqc("run", write(tmp_path, hook.url), "--checkpoint", str(tmp_path / "ck"))
    assert done.returncode == 0, done.stderr
    assert [line["row"]["x"] for line in hook.lines()] == [1, 2]
    hook.close()


def test_an_alert_that_leaves_tells_its_sink_at_last(tmp_path: Path) -> None:
    program = cqc.compile(
        f"CREATE SINK there WITH (type = 'file', path = '{tmp_path / 'told.jsonl'}');"
        "CREATE STREAM s (ts BIGINT, x BIGINT);"
        "CREATE ALERT a INTO there AS SELECT x FROM s WHERE x > 1 NO DATA AFTER 1 HOUR;"
    )
    engine = cqc.Engine(program)
    sinks = DeclaredSinks(engine, RunOptions(programs=("p.cq",)), program.catalog.sinks, tell=print)
    engine.push("s", [{"ts": 1, "x": 5}])
    assert all(sinks.write(blocks) == [] for blocks in engine.drain_blocks())
    engine.unregister("a")
    assert all(sinks.write(blocks) == [] for blocks in engine.drain_blocks())
    sinks.counted()
    sinks.drain()
    sinks.close()
    lines = (tmp_path / "told.jsonl").read_text().splitlines()
    assert [json.loads(line)["alert"]["state"] for line in lines] == ["firing", "resolved"]


def test_a_sink_that_can_take_nothing_any_more_is_not_waited_for(
    run_cqc: RunCqc, tmp_path: Path
) -> None:
    (tmp_path / "s.csv").write_text("ts\n1\n")
    (tmp_path / "p.cq").write_text(
        "CREATE SINK full WITH (type = 'file', path = '/dev/full', format = 'jsonl');"
        "CREATE STREAM s (ts BIGINT) WITH (path = 's.csv'); CREATE QUERY q INTO full AS SELECT ts FROM s;"
    )
    done = run_cqc("run", str(tmp_path / "p.cq"), "--engine", "local")
    assert done.returncode == 3
    assert "results were not sent: 1 for sink full (cannot write /dev/full" in done.stderr


def test_no_name_of_a_sink_leads_out_of_its_place(run_cqc: RunCqc, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts\n1\n")
    (tmp_path / "p.cq").write_text(
        """CREATE SINK ".." WITH (type = 'file', path = 'out.jsonl');"""
        "CREATE STREAM s (ts BIGINT) WITH (path = 's.csv');"
        """CREATE QUERY q INTO ".." AS SELECT ts FROM s;"""
    )
    checkpoint = tmp_path / "checkpoint"
    command = ["run", str(tmp_path / "p.cq"), "--engine", "local", "--checkpoint", str(checkpoint)]
    assert run_cqc(*command).returncode == 0
    assert not (checkpoint / "sent.json").exists()
    assert (checkpoint / "sinks" / "%2E%2E" / "sent.json").exists()
