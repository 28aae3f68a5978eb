"""What every source promises: all rows, also those of a process that is killed, on both engines and in a service."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.integration.serve.process import ROOT, serving
from tests.integration.sources.senders import SENDERS, Sender
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.integration.sources.senders import Row

TEXTS = ["a", 'quote " and, comma', "ünï 😀"]
INTERRUPTED = 130


def rows_of(first: int, stop: int) -> list[Row]:
    return [{"ts": at, "x": at, "t": TEXTS[at % len(TEXTS)]} for at in range(first, stop)]


def write_program(folder: Path, senders: dict[str, Sender]) -> Path:
    path = folder / "p.cq"
    path.write_text(
        "".join(
            f"CREATE STREAM {name}_rows (ts BIGINT, x BIGINT, t STRING) WITH ({each.options});\n"
            f"CREATE QUERY of_{name} AS SELECT x, t FROM {name}_rows;\n"
            for name, each in senders.items()
        )
    )
    return path


def found(out: Path, name: str) -> list[tuple[int, str]]:
    if not out.exists():
        return []
    lines = [json.loads(line) for line in out.read_text().splitlines() if line.endswith("}")]
    return sorted(
        (line["row"]["x"], line["row"]["t"]) for line in lines if line["query"] == f"of_{name}"
    )


def expected(stop: int) -> list[tuple[int, str]]:
    return [(row["x"], row["t"]) for row in rows_of(0, stop)]


@contextmanager
def running(folder: Path, engine: str) -> Iterator[subprocess.Popen[str]]:
    command = [
        "run",
        "p.cq",
        "--engine",
        engine,
        "--follow",
        "--quiet",
        "--checkpoint",
        "ck",
        "--out",
        "out",
    ]
    with (folder / "said").open("a") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "cqc.cli.main", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            encoding="utf-8",
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=PATIENCE_S)


def through_a_crash(folder: Path, senders: dict[str, Sender], engine: str) -> None:
    write_program(folder, senders)
    out = folder / "out"

    def has(process: subprocess.Popen[str], stop: int) -> bool:
        assert process.poll() is None, (folder / "said").read_text()
        return all(set(found(out, name)) >= set(expected(stop)) for name in senders)

    with running(folder, engine) as process:
        for name, each in senders.items():
            # Brokers keep rows for those that they know.
            if not each.waits or each.repeats:
                wait_until(lambda: (folder / "ck" / "spool" / f"{name}_rows").exists())  # noqa: B023
            each.send(rows_of(0, 20))
        wait_until(lambda: has(process, 20), "the first rows did not come")
        os.killpg(process.pid, signal.SIGKILL)
    for each in senders.values():
        if each.waits:
            each.send(rows_of(20, 30))
    with running(folder, engine) as process:
        for each in senders.values():
            if not each.waits:
                each.send(rows_of(20, 30))
            each.send(rows_of(30, 40))
        wait_until(lambda: has(process, 40), "the last rows did not come")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == INTERRUPTED, (folder / "said").read_text()
    for name, each in senders.items():
        seen = found(out, name)
        assert sorted(set(seen)) == expected(40)
        assert each.repeats or seen == expected(40)
    kept = [file for file in (folder / "ck").rglob("*") if file.is_file()]
    for secret in (
        "hush-hush",
        (folder / "dsn").read_text() if (folder / "dsn").exists() else "hush-hush",
    ):
        assert not [
            file for file in [*kept, out, folder / "said"] if secret.encode() in file.read_bytes()
        ]


@pytest.mark.parametrize("name", SENDERS)
def test_no_row_is_lost_when_the_run_is_killed(name: str, tmp_path: Path) -> None:
    with SENDERS[name](tmp_path) as sender:
        through_a_crash(tmp_path, {name: sender}, "local")


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_all_together_on_spark(tmp_path: Path) -> None:
    with ExitStack() as open_:
        senders = {name: open_.enter_context(SENDERS[name](tmp_path)) for name in SENDERS}
        through_a_crash(tmp_path, senders, "spark")


def test_all_together_in_a_service(tmp_path: Path) -> None:
    with ExitStack() as open_:
        senders = {name: open_.enter_context(SENDERS[name](tmp_path)) for name in SENDERS}
        program = write_program(tmp_path, senders)
        with serving(program, "--checkpoint", tmp_path / "ck") as (_, client):
            for each in senders.values():
                each.send(rows_of(0, 20))

            def has_all() -> bool:
                answer = client.get(
                    "/results?since=start&limit=1000", headers={"accept": "application/json"}
                ).json()
                came = answer if isinstance(answer, list) else answer["results"]
                return {(line["query"], line["row"]["x"]) for line in came} == {
                    (f"of_{name}", at) for name in senders for at in range(20)
                }

            wait_until(has_all)
            told = (
                client.get("/overview").text
                + client.get("/metrics").text
                + client.get("/queries").text
            )
            assert "hush-hush" not in told
