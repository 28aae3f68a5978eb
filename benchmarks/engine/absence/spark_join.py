"""One rule as Spark's own stream-stream left outer join: `python -m cqc.benchmarks.engine.absence.spark_join TUPLES`.

The streams are Parquet files of one second each, one of each stream a micro-batch; the rows without a partner are counted. Spark
delivers them when a later micro-batch has moved its watermark, so those of the last seconds are missing. Timed is the
CPU time of this process and its JVM, start and input left out. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cqc.benchmarks.engine.absence.workload import SECOND_US, make_streams, rule
from cqc.runtime.spark.session.session import Session

_LIMIT_S = 3_600
_PARTITIONS = "2"


def write_seconds(folder: Path, streams: dict[str, dict[str, Any]]) -> None:
    """A file for each second of each stream."""
    for name, columns in streams.items():
        (folder / name).mkdir()
        edges = np.arange(0, int(columns["ts"][-1]) + 2 * SECOND_US, SECOND_US)
        cuts = np.searchsorted(columns["ts"], edges).tolist()
        for number, (begin, end) in enumerate(pairwise(cuts)):
            arrays = {key: pa.array(values[begin:end]) for key, values in columns.items()}
            arrays["ts"] = arrays["ts"].cast(pa.timestamp("us", "UTC"))
            pq.write_table(pa.table(arrays), folder / name / f"{number:05d}.parquet")


def missing(session: Session, folder: Path) -> int:
    """How many tuples of A the join finds without a B."""
    spark = session.spark
    least, most, within_us = rule(0, 1)

    def stream(name: str, value: str) -> Any:
        schema = f"ts TIMESTAMP, k BIGINT, {value} BIGINT"
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(folder / name)).withWatermark("ts", "0 seconds")

    stream("A", "x").where(f"x >= {least}").createOrReplaceTempView("A")
    stream("B", "y").where(f"y <= {most}").createOrReplaceTempView("B")
    bounds = f"B.ts >= A.ts AND B.ts <= A.ts + INTERVAL '{within_us / 1e6}' SECOND"
    joined = spark.sql(
        f"SELECT A.ts, A.k FROM A LEFT JOIN B ON A.k = B.k AND {bounds} WHERE B.k IS NULL"
    )
    found: list[int] = []
    query = (
        joined.writeStream.foreachBatch(lambda batch, number: found.append(batch.count()))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(_LIMIT_S)
    return sum(found)


def main(tuples: int) -> None:
    """Answer once and print what it took."""
    with tempfile.TemporaryDirectory() as place, Session() as session:
        session.spark.conf.set("spark.sql.shuffle.partitions", _PARTITIONS)
        warm, whole = Path(place) / "warm", Path(place) / "whole"
        for folder, count in ((warm, tuples // 20), (whole, tuples)):
            folder.mkdir()
            write_seconds(folder, make_streams(count))
        missing(session, warm)
        before = session.cpu_seconds()
        results = missing(session, whole)
        print(json.dumps({"cpu_s": session.cpu_seconds() - before, "results": results}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
