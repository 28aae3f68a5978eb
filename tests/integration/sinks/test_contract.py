"""What every sink promises, tried with the real thing: all results, each with its id, and the same ids in every run."""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.run.finite_run import LocalRun
from tests.integration.sinks.receivers import SYSTEMS, System
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = 60
TEXTS = ["a", 'quote " and, comma', "línea\nzwei", "ünï ©ode 😀"]


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[System]:
    with SYSTEMS[request.param](tmp_path) as made:
        yield made


def program_for(system: System, folder: Path) -> cqc.Program:
    (folder / "p.cq").write_text(
        f"CREATE SINK there WITH ({system.options});"
        "CREATE STREAM s (ts BIGINT, x BIGINT, t STRING) WITH (path = 's.jsonl');"
        "CREATE QUERY some INTO there AS SELECT x, t FROM s WHERE x % 3 <> 0;"
        "CREATE QUERY twice INTO there AS SELECT x, t FROM s WHERE x % 3 = 1;"
    )
    return cqc.compile_files(folder / "p.cq")


def write_rows(folder: Path, first: int = 0, count: int = ROWS) -> None:
    with (folder / "s.jsonl").open("a") as file:
        for at in range(first, first + count):
            row = {"ts": at // 4, "x": at // 2, "t": TEXTS[at % len(TEXTS)]}
            file.write(json.dumps(row) + "\n")


def expected_ids(count: int = ROWS) -> dict[str, tuple[str, int]]:
    """The id of every result, worked out from the page on ids alone, with its query and x."""
    seen: dict[str, int] = {}
    ids: dict[str, tuple[str, int]] = {}
    for at in range(count):
        x, t = at // 2, TEXTS[at % len(TEXTS)]
        for query, wanted in (("some", x % 3 != 0), ("twice", x % 3 == 1)):
            if not wanted:
                continue
            value: list[Any] = ["p", query, str(at // 4), None, {"t": t, "x": str(x)}]
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
            n = seen[text] = seen.get(text, -1) + 1
            hashed = hashlib.sha256(f"{text[:-1]},{n}]".encode()).hexdigest()[:32]
            ids[hashed] = query, x
    return ids


def wait_for(system: System, count: int) -> list[dict[str, Any]]:
    """What the receiver holds, once it holds so much; brokers hand on what they have after they have said so."""
    until = time.monotonic() + PATIENCE_S
    while len(found := system.read()) < count and time.monotonic() < until:
        time.sleep(0.05)
    return found


def test_every_result_arrives_once_with_the_id_of_the_page(system: System, tmp_path: Path) -> None:
    write_rows(tmp_path)
    run = LocalRun(program_for(system, tmp_path), RunOptions(programs=("p.cq",), rows_per_batch=7))
    run.to_end()
    summary = run.close()
    wanted = expected_ids()
    assert [(each.sent, each.waiting, each.dead) for each in summary.sinks] == [(len(wanted), 0, 0)]
    found = wait_for(system, len(wanted))
    assert {line["id"]: (line["query"], line["row"]["x"]) for line in found} == wanted
    assert len(found) == len(wanted)
    assert {line["row"]["t"] for line in found} == set(TEXTS)


def test_a_run_that_goes_on_repeats_nothing_and_loses_nothing(
    system: System, tmp_path: Path
) -> None:
    options = RunOptions(
        programs=("p.cq",), checkpoint=str(tmp_path / "ck"), rows_per_batch=11, sink="none"
    )
    for part in range(3):
        write_rows(tmp_path, part * ROWS, ROWS)
        run = DurableRun(program_for(system, tmp_path), options)
        run.to_end()
        run.close()
    wanted = expected_ids(3 * ROWS)
    found = wait_for(system, len(wanted))
    assert {line["id"]: (line["query"], line["row"]["x"]) for line in found} == wanted
    assert len(found) == len(wanted)


def test_results_that_were_written_down_are_sent_by_the_next_start(
    system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path)
    options = RunOptions(
        programs=("p.cq",), checkpoint=str(tmp_path / "ck"), sink="none", drain_s=0.0
    )
    with monkeypatch.context() as broken:
        broken.setattr("cqc.runtime.receivers.sender.Sender.start", lambda sender: None)
        broken.setattr("cqc.runtime.receivers.sender.Sender.end", lambda sender: None)
        run = DurableRun(program_for(system, tmp_path), options)
        with pytest.raises(cqc.RunError, match="they stay in the checkpoint"):
            run.to_end()
        run.abandon()
    run = DurableRun(
        program_for(system, tmp_path),
        RunOptions(programs=("p.cq",), checkpoint=str(tmp_path / "ck"), sink="none"),
    )
    run.to_end()
    run.close()
    wanted = expected_ids()
    found = wait_for(system, len(wanted))
    assert {line["id"] for line in found} == wanted.keys()
    assert len(found) == len(wanted)
