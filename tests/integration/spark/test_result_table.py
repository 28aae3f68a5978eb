"""Results written by Spark: a sink of a batch format, one write for what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunCqc


@pytest.mark.spark
def test_parquet_by_spark_has_every_result(run_cqc: RunCqc, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,x\n" + "".join(f"{at},{at}\n" for at in range(50)))
    (tmp_path / "p.cq").write_text(
        f"CREATE SINK lake WITH (type = 'spark', format = 'parquet', path = '{tmp_path}/lake', \"options.compression\" = 'gzip');"
        "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = 's.csv');"
        "CREATE QUERY q INTO lake AS SELECT x FROM s WHERE x % 2 = 0;"
    )
    done = run_cqc("run", str(tmp_path / "p.cq"), "--checkpoint", str(tmp_path / "ck"))
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(tmp_path / "lake").to_pylist()
    assert sorted(row["x"] for row in rows) == list(range(0, 50, 2))
    assert all(len(row["_id"]) == 32 for row in rows)
