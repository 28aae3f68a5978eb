"""A local run does not load pandas, and whoever asks pyarrow for a DataFrame afterwards still gets one."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

_RUN = """
import sys
from cqc.cli.main import run_command
code = run_command(["run", sys.argv[1], "--engine", "local", "--quiet"])
print(code, "pandas" in sys.modules)
import pyarrow as pa
print(type(pa.table({"a": [1]}).to_pandas()).__name__, pa.array(__import__("pandas").Series([1.0, None])).null_count)
"""


def test_a_local_run_does_without_pandas(tmp_path: Path) -> None:
    (tmp_path / "p.cq").write_text(
        "CREATE STREAM s (ts BIGINT, name STRING) WITH (path = 's.csv');\n"
        "CREATE QUERY q AS SELECT name FROM s WHERE name LIKE '%a%';"
    )
    (tmp_path / "s.csv").write_text("ts,name\n1,anna\n2,bob\n")
    finished = subprocess.run(
        [sys.executable, "-c", _RUN, str(tmp_path / "p.cq")],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    assert finished.stdout.splitlines()[-2:] == ["0 False", "DataFrame 1"]
    assert '"anna"' in finished.stdout
