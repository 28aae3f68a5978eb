"""A service that is killed: what live queries over views have not decided yet is decided by the next one, once."""

import json
import signal
import subprocess
from pathlib import Path

import httpx

from tests.integration.serve.process import serving
from tests.integration.serve.running import events_of
from tests.support.waiting import PATIENCE_S

PROGRAM = """
CREATE STREAM orders (ts BIGINT, id BIGINT);
CREATE STREAM payments (ts BIGINT, id BIGINT);
CREATE TABLE vip (id BIGINT) WITH (path = 'vip.csv');
CREATE TABLE more (id BIGINT) WITH (path = 'vip.csv');
CREATE VIEW unpaid AS SELECT o.id FROM orders o WHERE NOT EXISTS (
  SELECT 1 FROM payments p WHERE p.id = o.id WINDOW p.ts BETWEEN o.ts AND o.ts + 10);
CREATE VIEW guests AS SELECT id FROM vip UNION ALL SELECT id FROM more;
CREATE QUERY all_of_them AS SELECT ts, id FROM unpaid;
"""
READERS = {
    "again": "SELECT ts, id FROM unpaid",
    "twice": "SELECT x.id, x.ts AS first, y.ts AS second FROM unpaid x, unpaid y WHERE x.id = y.id WINDOW y.ts > x.ts MAXWINDOW 100 SEC",
    "honoured": "SELECT u.id FROM unpaid u, guests g WHERE g.id = u.id",
    "new": "SELECT n.id FROM orders n WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.id = n.id WINDOW o.ts < n.ts)",
}


def pushed(client: httpx.Client, stream: str, *rows: tuple[int, int]) -> None:
    body = [{"ts": ts, "id": id_} for ts, id_ in rows]
    assert client.post(f"/streams/{stream}", json=body).status_code == 200


def results(client: httpx.Client, count: int) -> list[tuple[object, ...]]:
    """The results that are kept, in the order of delivery; so many are waited for."""
    found = []
    with client.stream("GET", "/results?since=start") as answer:
        for event in events_of(answer):
            line = json.loads(event["data"])
            found.append((line["query"], line["ts"], *line["row"].values()))
            if len(found) == count:
                return found
    raise AssertionError(found)


def test_live_readers_of_views_go_on_after_every_kill(tmp_path: Path) -> None:
    program = tmp_path / "program.cq"
    program.write_text(PROGRAM)
    (tmp_path / "vip.csv").write_text("id\n3\n")
    arguments = (program, "--checkpoint", tmp_path / "state")

    def kill(process: subprocess.Popen[str]) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=PATIENCE_S)

    with serving(*arguments) as (process, client):
        pushed(client, "orders", (1, 1))
        for name, text in READERS.items():
            made = client.post("/queries", json={"text": text, "name": name})
            assert made.status_code in (200, 201), made.text
        pushed(client, "orders", (2, 2), (3, 3))
        pushed(client, "payments", (4, 2))
        kill(process)
    with serving(*arguments) as (process, client):  # nothing is decided yet but who is new
        assert {each["name"] for each in client.get("/queries").json()["queries"]} == {
            "all_of_them",
            *READERS,
        }
        pushed(client, "payments", (14, 99))
        pushed(client, "orders", (20, 3), (21, 1))
        kill(process)
    with serving(*arguments) as (process, client):
        pushed(client, "payments", (50, 99))
        expected = [
            ("all_of_them", 11, 11, 1),
            ("all_of_them", 13, 13, 3),
            ("all_of_them", 30, 30, 3),
            ("all_of_them", 31, 31, 1),
            ("again", 13, 13, 3),  # the first order was there before it
            ("again", 30, 30, 3),
            ("again", 31, 31, 1),
            ("twice", 30, 3, 13, 30),
            *[("honoured", ts, 3) for ts in (13, 13, 30, 30)],
            ("new", 2, 2),
            ("new", 3, 3),
            ("new", 21, 1),
        ]
        assert sorted(results(client, len(expected))) == sorted(expected)
