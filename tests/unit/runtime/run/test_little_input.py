"""Which runs are so small that Numba need not be loaded for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from cqc.compiler.embed import compile_files
from cqc.runtime.options import RunOptions
from cqc.runtime.run.little_input import has_little_input
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

_ROWS = "ts,k\n2024-01-01T00:00:01Z,1\n2024-01-01T00:00:02Z,7\n"
_LOADED = """
import sys
from cqc.cli.main import main
sys.argv = ["cqc", "run", sys.argv[1], "--engine", "local", "--quiet"]
try:
    main()
except SystemExit:
    pass
print("numba" in sys.modules, file=sys.stderr)
"""


def _program(folder: Path, *, name: str = "a.csv", rows: str = _ROWS, queries: int = 1) -> Path:
    (folder / name).write_text(rows)
    text = f"CREATE STREAM a (ts TIMESTAMP, k BIGINT) WITH (path = '{name}');\n"
    text += "".join(
        f"CREATE QUERY q{at} AS SELECT a.k FROM a WHERE a.k > {at};\n" for at in range(queries)
    )
    (folder / "p.cq").write_text(text)
    return folder / "p.cq"


def _is_little(program: Path) -> bool:
    return has_little_input(compile_files([str(program)]), RunOptions())


def test_a_few_rows_in_text_are_little(tmp_path: Path) -> None:
    assert _is_little(_program(tmp_path))


def test_many_bytes_many_queries_other_forms_and_missing_files_are_not(tmp_path: Path) -> None:
    assert not _is_little(_program(tmp_path, rows=_ROWS * 1_000))
    assert not _is_little(_program(tmp_path, queries=65))
    assert not _is_little(_program(tmp_path, name="a.parquet"))
    program = _program(tmp_path)
    (tmp_path / "a.csv").unlink()
    assert not _is_little(program)


def test_where_nothing_was_ever_compiled_a_thousand_rows_are_little(tmp_path: Path) -> None:
    program = compile_files([str(_program(tmp_path, rows=_ROWS * 1_000))])
    assert has_little_input(program, RunOptions(), is_compiled=False)
    program = compile_files([str(_program(tmp_path, rows=_ROWS * 20_000))])
    assert not has_little_input(program, RunOptions(), is_compiled=False)


def test_the_rows_of_a_parquet_file_count_not_its_bytes(tmp_path: Path) -> None:
    program = _program(tmp_path, name="a.parquet")
    times = pa.array([0, 1], pa.timestamp("us"))
    pq.write_table(pa.table({"ts": times, "k": [1, 7]}), tmp_path / "a.parquet")
    assert _is_little(program)
    times = pa.array([0] * 20_000, pa.timestamp("us"))
    pq.write_table(pa.table({"ts": times, "k": [1] * 20_000}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 16_384
    assert not _is_little(program)


def _run(program: Path) -> tuple[list[dict[str, object]], bool]:
    finished = subprocess.run(
        [sys.executable, "-c", _LOADED, str(program)],
        capture_output=True, text=True, timeout=PATIENCE_S, env=os.environ, check=True,
    )  # fmt: skip
    rows = [json.loads(line) for line in finished.stdout.splitlines()]
    return rows, finished.stderr.strip().endswith("True")


def test_a_small_run_does_not_load_numba_and_a_larger_one_does(tmp_path: Path) -> None:
    small, has_numba = _run(_program(tmp_path))
    assert [each["row"] for each in small] == [{"k": 1}, {"k": 7}]
    assert not has_numba
    lines = "".join(f"2024-01-01T00:00:00.{at:06}Z,{at % 3}\n" for at in range(2_000))
    large, has_numba = _run(_program(tmp_path, rows="ts,k\n" + lines))
    assert len(large) == sum(at % 3 > 0 for at in range(2_000))
    assert has_numba
