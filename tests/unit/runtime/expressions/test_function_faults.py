"""A function that fails gives NULL, and its errors are told: by the engine, the summary, --stats, the service and executors."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from cqc.runtime.expressions.function_faults import Fault, FaultsOfOne, FunctionFaults
from tests.integration.serve.running import running
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

STREAMS = "CREATE STREAM s (ts BIGINT, x BIGINT); CREATE STREAM r (ts BIGINT, x BIGINT);"
ROWS = [{"ts": 1, "x": x} for x in (2, 0, 5)]


def tenth(values: Any) -> Any:
    return [10 // int(value) for value in values]


LINE = f"{__file__}:{tenth.__code__.co_firstlineno + 1}"
TOLD = f"of the function tenth failed and gave NULL: ZeroDivisionError: integer division or modulo by zero ({LINE})"


@pytest.fixture(autouse=True)
def registered() -> None:
    cqc.function("tenth", tenth, returns="BIGINT")


def told_by(query: str, *, ask: bool = False) -> tuple[list[Any], tuple[str, ...], int]:
    engine = cqc.Engine(cqc.compile(f"{STREAMS} CREATE QUERY q AS {query};"))
    engine.push("s", ROWS)
    engine.push("r", [{"ts": 1, "x": 1}])
    rows = engine.invoke("q").to_pylist() if ask else [each.row for each in engine.drain()]
    return [row["y"] for row in rows], engine.warnings, engine.failed_evaluations


def test_a_failure_in_an_output_is_told_with_message_and_line() -> None:
    assert told_by("SELECT tenth(x) AS y FROM s") == ([5, None, 2], (f"1 evaluation {TOLD}",), 1)


def test_a_failure_in_a_condition_is_told() -> None:
    found, warnings, failed = told_by("SELECT x AS y FROM s WHERE tenth(x) > 1")
    assert (found, warnings, failed) == ([2, 5], (f"1 evaluation {TOLD}",), 1)


def test_a_failure_in_a_join_is_told() -> None:
    found, warnings, failed = told_by(
        "SELECT s.x AS y FROM s, r WHERE tenth(s.x) > r.x MAXWINDOW 9 SEC"
    )
    assert sorted(found) == [2, 5]
    assert (warnings, failed) == ((f"1 evaluation {TOLD}",), 1)


def test_a_failure_in_a_pull_query_is_told() -> None:
    found, warnings, _ = told_by("SELECT tenth(x) AS y FROM s BEGIN 0 END NOW", ask=True)
    assert (found, warnings) == ([5, None, 2], (f"1 evaluation {TOLD}",))


def test_whoever_asks_is_told_of_the_failures_of_his_question() -> None:
    engine = cqc.Engine(cqc.compile(STREAMS))
    engine.register("SELECT MAX(tenth(x)) AS y FROM s BEGIN 0 END NOW", "greatest")
    engine.register("SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW", "counted")
    engine.push("s", ROWS)
    assert engine.ask("greatest").warnings == (f"1 evaluation {TOLD}",)
    assert engine.ask("counted").warnings == ()


def test_failures_of_queries_that_have_left_are_still_told() -> None:
    engine = cqc.Engine(cqc.compile(STREAMS))
    query = engine.register("SELECT tenth(x) AS y FROM s")
    engine.push("s", ROWS)
    engine.push("s", ROWS)
    engine.unregister(query)
    assert engine.warnings == (f"2 evaluations {TOLD}",)


def test_tuples_that_were_sampled_are_not_counted_twice() -> None:
    """To choose the order of its filters an engine evaluates some tuples beforehand."""
    program = cqc.compile(
        f"{STREAMS} CREATE QUERY q AS SELECT x FROM s WHERE tenth(x) = 10 AND x < 5 AND ts < 3;"
    )
    engine = cqc.Engine(program)
    for _ in range(40):
        engine.push("s", [{"ts": 1, "x": x % 2} for x in range(200)])
    (told,) = engine.warnings
    assert int(told.partition(" ")[0].replace(",", "")) == engine.failed_evaluations


def test_each_engine_has_the_failures_of_its_own_rows() -> None:
    program = cqc.compile(f"{STREAMS} SELECT tenth(x) AS y FROM s;")
    first, second = cqc.Engine(program), cqc.Engine(program)
    first.push("s", ROWS)
    second.push("s", ROWS[:1])
    assert len(first.warnings) == 1
    assert second.warnings == ()


def test_faults_are_put_together_and_travel_as_json() -> None:
    first = FunctionFaults({"f": FaultsOfOne(2, [Fault("a", "x.py:1")])})
    second = FunctionFaults({"f": FaultsOfOne(3, [Fault(each) for each in "abcd"])})
    first.add(second)
    assert first.of["f"] == FaultsOfOne(5, [Fault("a", "x.py:1"), Fault("a"), Fault("b")])
    assert FunctionFaults.from_json(json.loads(json.dumps(first.to_json()))) == first
    assert first.take().count == 5
    assert first.count == 0


def test_the_summary_of_a_run_and_its_statistics_tell_what_failed(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,x\n1,2\n2,0\n3,0\n")
    (tmp_path / "p.cq").write_text(
        "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = 's.csv');"
        "CREATE QUERY q AS SELECT tenth(x) AS y FROM s;"
    )
    script = tmp_path / "run.py"
    script.write_text(
        "import cqc\n"
        "from cqc.cli.main import main\n"
        "def tenth(values):\n"
        "    return [10 // int(value) for value in values]\n"
        "cqc.function('tenth', tenth, returns='BIGINT')\n"
        "main()\n"
    )
    finished = subprocess.run(
        [sys.executable, "run.py", "run", "p.cq", "--engine", "local", "--stats", "stats.json"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    error = "ZeroDivisionError: integer division or modulo by zero"
    place = f"{script}:4"
    assert (
        f"warning: 2 evaluations of the function tenth failed and gave NULL: {error} ({place})"
        in finished.stderr.splitlines()
    )
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert stats["failed_evaluations"] == 2
    assert stats["functions"] == {"tenth": {"failed": 2, "first": [{"error": error, "at": place}]}}


def test_a_service_counts_failures_by_function_and_tells_who_asks() -> None:
    with running() as service:
        service.register("SELECT tenth(k) AS y FROM s", name="watched")
        service.register("SELECT MIN(tenth(k)) AS y FROM s BEGIN 0 END NOW", name="least")
        service.push("s", *({"ts": 1, "k": row["x"], "x": 1.0} for row in ROWS))
        page = service.client.get("/metrics").text
        assert 'cqc_function_failures_total{function="tenth"} 1\n' in page
        answer = service.invoke("least")
        assert answer["rows"] == [{"y": 2}]
        assert answer["warnings"] == [f"2 evaluations {TOLD}"]
