"""Python runs the same kernels as Numba compiles, with the same answers; and Numba is loaded when that takes too long."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cqc
from cqc.runtime.kernel import is_kept
from tests.support.waiting import PATIENCE_S

ROOT = Path(__file__).parents[3]
PROGRAM = """
CREATE STREAM a (ts TIMESTAMP, k BIGINT, x DOUBLE, name STRING);
CREATE STREAM b (ts TIMESTAMP, k BIGINT, y DOUBLE, name STRING);
CREATE QUERY high AS SELECT a.k, a.name FROM a WHERE a.x > 2 AND (a.name LIKE 'n%' OR a.k IN (1, 5)) AND NOT a.name ILIKE '%4%';
CREATE QUERY pairs AS SELECT a.k, b.y FROM a, b WHERE a.k = b.k AND a.x < b.y + 3 WINDOW b.ts > a.ts MAXWINDOW 9 SEC;
CREATE QUERY named AS SELECT a.name, b.y FROM a, b WHERE a.name = b.name MAXWINDOW 30 SEC;
CREATE QUERY near AS SELECT a.x, b.y FROM a, b WHERE a.x < b.y AND a.k <> b.k MAXWINDOW 4 SEC;
CREATE QUERY three AS SELECT a.k FROM a, b, a AS c WHERE a.k = b.k AND b.k = c.k MAXWINDOW 12 SEC;
CREATE QUERY sums AS SELECT a.k, SUM(a.x) AS s, COUNT(*) AS n, MIN(a.k) AS m FROM a GROUP BY a.k BEGIN (NOW - 20 SEC) END (NOW) EVERY 10 SEC;
"""
_ANSWERS = """
import json, sys
from cqc.runtime.kernel import begin_plain
from tests.unit.runtime.test_kernel import answers
begin_plain(float(sys.argv[1]))
found = answers()
print(json.dumps([found, "numba" in sys.modules]))
"""


def answers() -> list[Any]:
    """What a small program finds in a few rows."""
    engine = cqc.Engine(cqc.compile(PROGRAM))
    found = []
    for at in range(12):
        instant = f"2024-01-01T00:00:{2 * at:02}Z"
        row = {"ts": instant, "k": at % 4 - 1, "name": f"n{at % 5}"}
        engine.push_batch(
            {"a": [{**row, "x": at * 0.7}], "b": [{**row, "k": at % 3 - 1, "y": 8.0 - at}]}
        )
        found += [[each.query, str(each.ts), each.row] for each in engine.drain()]
    engine.finish()
    found += [[each.query, str(each.ts), each.row] for each in engine.drain()]
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def _python(code: str, *arguments: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_python_finds_what_compiled_kernels_find_and_needs_no_numba() -> None:
    found, has_numba = json.loads(_python(_ANSWERS, "600"))
    assert not has_numba
    assert {query for query, _, _ in found} == {"high", "pairs", "named", "near", "three", "sums"}
    assert found == answers()


def test_numba_takes_over_in_the_middle() -> None:
    found, has_numba = json.loads(_python(_ANSWERS, "0.005"))
    assert has_numba
    assert found == answers()


@pytest.mark.parametrize("section", ["section_2_1", "section_3", "section_7"])
def test_cases_of_the_language_hold_for_kernels_that_python_runs(section: str) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "tests/language",
        "-k",
        f"engine and {section}",
    ]
    environment = {**os.environ, "CQC_TEST_PLAIN": "1"}
    finished = subprocess.run(
        command, capture_output=True, text=True, timeout=600, cwd=ROOT, env=environment, check=False
    )
    assert finished.returncode == 0, finished.stdout[-2000:]


_NEVER_COMPILED = """
import json, sys
import cqc.runtime.kernel as kernels
from tests.unit.runtime.test_kernel import answers
kernels.is_kept = lambda function: sys.argv[1] == "kept"
kernels.begin_plain(1e-9, float("inf"))
found = answers()
print(json.dumps([found, "numba" in sys.modules]))
"""


def test_python_goes_on_where_kernels_would_have_to_be_compiled_first() -> None:
    found, has_numba = json.loads(_python(_NEVER_COMPILED, "new"))
    assert not has_numba
    again, has_numba = json.loads(_python(_NEVER_COMPILED, "kept"))
    assert has_numba
    assert found == again == answers()


def test_whether_a_kernel_was_compiled_before_is_told_by_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    (tmp_path / "some.py").write_text("def made():\n    pass\n")
    names: dict[str, Any] = {}
    exec(compile((tmp_path / "some.py").read_text(), tmp_path / "some.py", "exec"), names)
    assert not is_kept(names["made"])
    (tmp_path / "__pycache__").mkdir()
    assert not is_kept(names["made"])
    (tmp_path / "__pycache__" / "some.made-1.py311.nbi").touch()
    assert is_kept(names["made"])
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    (tmp_path / "__pycache__" / "some.made-1.py311.nbi").unlink()
    assert is_kept(names["made"])
