"""Through kills of cqc at random and chosen points, and restarts of receivers: tables, topics and files have every row once, webhooks every id, in order."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.sinks.killed import POINTS
from tests.integration.sinks.receivers import Hook, free_port, kafka_values, postgres_server
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

ROOT = __file__.rsplit("/tests/", 1)[0]
ROWS = 30  # of a file
_LONGEST_S = 10.0
_ALL_S = 1_200.0  # of a machine that is busy with other things; the test has its own limit
psycopg = pytest.importorskip("psycopg")


class World:
    """What results come from and go to, and cqc between them."""

    def __init__(self, folder: Path, dsn: str, servers: str, seed: int) -> None:
        self.folder, self.dsn, self.servers = folder, dsn, servers
        self.random = random.Random(seed)
        self.port = free_port()
        self.hook: Hook | None = Hook(self.port)
        self.heard: list[dict[str, Any]] = []
        self.rows = 0
        self.table = f"killed_{os.getpid()}_{seed}"
        (folder / "in").mkdir()
        into = "INTO db, topic, lines, hook"
        (folder / "p.cq").write_text(
            f"CREATE SINK db WITH (type = 'postgres', dsn = '{dsn}', table = '{self.table}');"
            f"CREATE SINK topic WITH (type = 'kafka', servers = '{servers}', topic = '{self.table}', transactional_id = '{self.table}');"
            "CREATE SINK lines WITH (type = 'file', path = 'lines.jsonl');"
            f"CREATE SINK hook WITH (type = 'webhook', url = 'http://127.0.0.1:{self.port}/in', timeout = 5);"
            "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (format = 'csv', path = 'in/');"
            f"CREATE QUERY whole {into} AS SELECT x FROM s; CREATE QUERY even {into} AS SELECT x FROM s WHERE x % 2 = 0;"
            f"CREATE ALERT warm {into} AS SELECT x FROM s WHERE x % 10 > 4 NO DATA AFTER 1 MINUTE;"
        )

    def put(self) -> None:
        lines = "".join(f"{at},{at}\n" for at in range(self.rows, self.rows + ROWS))
        aside = self.folder / ".aside"
        aside.write_text(f"ts,x\n{lines}")
        os.utime(aside, (1_700_000_000, 1_700_000_000))
        aside.replace(self.folder / "in" / f"{self.rows:09d}.csv")
        self.rows += ROWS

    def command(self, *more: str) -> list[str]:
        return [
            "run",
            "p.cq",
            "--engine",
            "local",
            "--quiet",
            "--rows-per-batch",
            "7",
            "--checkpoint",
            "ck",
            *more,
        ]

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        with (self.folder / "said").open("ab") as said:
            return subprocess.Popen(
                [sys.executable, "-m", *command],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": ROOT},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )

    def kill_at_a_point(self, point: str) -> None:
        self.put()
        passes = str(self.random.randint(1, 6))
        process = self.start(
            "tests.integration.sinks.killed", point, passes, *self.command("--follow")
        )
        try:  # a point that is not passed so often is a kill while nothing happens
            assert process.wait(timeout=_LONGEST_S) == -signal.SIGKILL, self.said()
        except subprocess.TimeoutExpired:
            self.kill(process)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        assert process.poll() is None, self.said()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=PATIENCE_S)

    def kill_at_random(self) -> None:
        self.put()
        process = self.start("cqc.cli.main", *self.command("--follow"))
        time.sleep(self.random.uniform(0.3, 4.0))  # any moment will do
        self.kill(process)

    def trouble(self) -> None:
        """Something happens to a receiver, while nobody runs."""
        kind = self.random.choice(["hook away", "hook refuses", "database breaks", "nothing"])
        if self.hook is None:
            self.hook = Hook(self.port)
            return
        if kind == "hook away":
            self.heard += self.hook.lines()
            self.hook.close()
            self.hook = None
        elif kind == "hook refuses":
            self.hook.answers = [self.random.choice([200, 500, 429]) for _ in range(10)]
        elif kind == "database breaks":
            with psycopg.connect(self.dsn, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
                )

    def finish(self) -> None:
        if self.hook is None:
            self.hook = Hook(self.port)
        process = self.start("cqc.cli.main", *self.command())
        try:
            assert process.wait(timeout=_ALL_S) == 0, self.said()
        finally:
            if process.poll() is None:
                self.kill(process)
        self.heard += self.hook.lines()
        self.hook.close()

    def said(self) -> str:
        return (self.folder / "said").read_text()[-3000:]

    def judge(self) -> None:
        lines = [
            json.loads(line) for line in (self.folder / "lines.jsonl").read_text().splitlines()
        ]
        ids = [line["id"] for line in lines]
        expected = [("whole", x) for x in range(self.rows)] + [
            ("even", x) for x in range(0, self.rows, 2)
        ]
        plain = [(line["query"], line["row"]["x"]) for line in lines if line["query"] != "warm"]
        assert Counter(plain) == Counter(expected)
        states = [line["alert"]["state"] for line in lines if line["query"] == "warm"]
        turns = self.rows // 10
        assert states == ["firing", "resolved"] * (turns - 1) + ["firing", "no_data"]
        assert len(ids) == len(set(ids))
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            table = connection.execute(f"SELECT _id FROM {self.table}").fetchall()
            connection.execute(f"DROP TABLE {self.table}")
        assert Counter(row[0] for row in table) == Counter(ids)
        sent = [json.loads(value)["id"] for value in kafka_values(self.servers, self.table)]
        assert Counter(sent) == Counter(ids)
        assert {line["id"] for line in self.heard} == set(ids)
        for query in ("whole", "even", "warm"):
            own = [line["id"] for line in lines if line["query"] == query]
            first = list(dict.fromkeys(line["id"] for line in self.heard if line["query"] == query))
            assert first == own


def through(folder: Path, kills: int, seed: int) -> None:
    library = pytest.importorskip("confluent_kafka")
    broker = library.Producer({"bootstrap.servers": "", "test.mock.num.brokers": 1, "log_level": 0})
    (only,) = broker.list_topics(timeout=PATIENCE_S).brokers.values()
    with ExitStack() as open_:
        dsn = open_.enter_context(postgres_server(folder))
        world = World(folder, dsn, f"{only.host}:{only.port}", seed)
        for number in range(kills):
            if number % 2:
                world.kill_at_random()
            else:
                world.kill_at_a_point(POINTS[number // 2 % len(POINTS)])
            world.trouble()
        world.finish()
        world.judge()
    del broker


def test_a_few_kills(tmp_path: Path) -> None:
    through(tmp_path, 4, 1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_fifty_kills(tmp_path: Path) -> None:
    through(tmp_path, 50, int(os.environ.get("CQC_TEST_SEED", "2026")))
