"""All who answer the rules of `cqc bench rules` find the same, and a difference is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path  # noqa: TC003  a fixture is typed with it

import pyarrow.parquet as pq
import pytest

from cqc.benchmarks.engine.rules import launch, report
from cqc.benchmarks.engine.rules.contest import (
    Command,
    Measured,
    check_same,
    counts_in,
    in_turns,
)
from cqc.benchmarks.engine.rules.peers import duckdb_rules, duckdb_sequences, sqlite_rules
from cqc.benchmarks.engine.rules.workload.prepare import Size, prepare
from cqc.benchmarks.engine.rules.workload.rules_file import read_rules, read_sequences
from cqc.benchmarks.harness.side_by_side import PEERS
from cqc.cli.main import run_command
from cqc.runtime.errors import RunError

PEER = "cqc.benchmarks.engine.rules.peers"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(Size(scale=0.015, rules=150, seed=5), tmp_path_factory.mktemp("rules") / "made")


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[str, int]:
    """What the rules mean, row by row."""
    counts: dict[str, int] = {}
    by_stream: dict[str, list[dict[str, str | None]]] = {}
    for rule in read_rules(folder):
        if rule.stream not in by_stream:
            table = pq.read_table(folder / "several" / f"{rule.stream}.parquet")
            by_stream[rule.stream] = table.drop_columns("ts").to_pylist()
        found = sum(rule.matches(row) for row in by_stream[rule.stream])
        counts |= {rule.name: found} if found else {}
    assert len(counts) > 5
    return counts


@pytest.mark.parametrize("form", ["json", "parquet"])
@pytest.mark.parametrize("kind", ["several", "wide"])
def test_cqc_finds_what_the_rules_mean(
    folder: Path, expected: dict[str, int], tmp_path: Path, kind: str, form: str
) -> None:
    rules = "rules.cq" if kind == "several" else "rules_wide.cq"
    out = tmp_path / "found.jsonl"
    _run(str(folder / f"{kind}_{form}.cq"), str(folder / rules), out=out)
    assert counts_in(out) == expected


def _run(*programs: str, out: Path) -> None:
    assert run_command(["run", *programs, "--engine", "local", "--quiet", "--out", str(out)]) == 0


@pytest.mark.parametrize("form", ["json", "parquet"])
@pytest.mark.parametrize("peer", ["SQLite", "DuckDB"])
def test_peers_find_what_the_rules_mean(
    folder: Path, expected: dict[str, int], tmp_path: Path, peer: str, form: str
) -> None:
    out = tmp_path / "found.jsonl"
    if peer == "DuckDB":
        duckdb_rules.main(folder, form, 10, str(out))
    else:
        sqlite_rules.main(folder, form, str(out))
    assert counts_in(out) == expected


@pytest.mark.skipif(not PEERS.exists(), reason="these are in the peers' environment: make peers")
@pytest.mark.parametrize("peer", ["by hand", "Polars 1", "Polars 10"])
def test_peers_of_their_own_environment_find_what_the_rules_mean(
    folder: Path, expected: dict[str, int], tmp_path: Path, peer: str
) -> None:
    name, _, together = peer.partition(" ")
    module, more = ("polars_rules", [together]) if name == "Polars" else ("floor", [])
    for form in ("json", "parquet"):
        out = tmp_path / f"{form}.jsonl"
        command = [str(PEERS), "-m", f"{PEER}.{module}", str(folder), form, *more, str(out)]
        subprocess.run(command, check=True, timeout=200)
        assert counts_in(out) == expected


def test_sequences_of_cqc_and_duckdb_are_the_same(folder: Path, tmp_path: Path) -> None:
    assert len(read_sequences(folder)) == 61
    ours, theirs = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"
    _run(str(folder / "sequences_json.cq"), str(folder / "sequences.cq"), out=ours)
    duckdb_sequences.main(folder, str(theirs))
    rows = [_rows(each) for each in (ours, theirs)]
    assert rows[0] == rows[1]
    assert rows[0]


def _rows(file: Path) -> list[str]:
    told = [json.loads(line) for line in file.read_text().splitlines()]
    return sorted(f"{each['query']} {each['row']}" for each in told)


def test_two_that_differ_are_named_with_a_rule() -> None:
    with pytest.raises(RunError, match=r"DuckDB and cqc differ in 1 rules; b: 3 and 2 rows"):
        check_same("cqc", {"a": 1, "b": 2}, "DuckDB", {"a": 1, "b": 3})


def test_a_command_is_timed_with_its_children_and_one_that_fails_is_told_of(tmp_path: Path) -> None:
    busy = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'sum(range(3_000_000))'])"
    found = launch.launch(0, str(tmp_path / "log"), [sys.executable, "-c", busy])
    assert found["code"] == 0
    assert found["cpu_s"] > 0
    assert found["peak_mb"] > 1
    with pytest.raises(RunError, match=r"failed: ValueError: no$"):
        in_turns({"x": Command((sys.executable, "-c", "raise ValueError('no')"))}, 1)


def test_goals_say_what_was_measured_and_whether_it_is_enough() -> None:
    def spent(cpu_s: float) -> Measured:
        return Measured([{"cpu_s": cpu_s, "wall_s": cpu_s, "peak_mb": 100.0}])

    figures = {
        "json": {"cqc": spent(2), "by hand": spent(1), "Polars": spent(7), "DuckDB": spent(9)}
    }
    goals = list(report.goals_of(figures))
    assert goals[0] == ("json, less CPU than the best peer (Polars)", "3x", "3.50x", "yes")
    figures["json"]["Polars"] = spent(5)
    assert next(report.goals_of(figures))[2:] == ("2.50x", "no")
