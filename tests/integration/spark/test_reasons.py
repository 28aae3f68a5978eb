"""Whatever Spark says of a failure, or does not say, the user is told why."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from cqc.runtime.spark.session.session import spark_failed

TRACE = """org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED]
\tat org.apache.spark.sql.execution.streaming.StreamExecution.run(StreamExecution.scala:1)
Caused by: org.apache.spark.SparkException: Job aborted
\tat org.apache.spark.scheduler.DAGScheduler.abort(DAGScheduler.scala:2)
Caused by: java.nio.channels.ClosedByInterruptException
\tat java.base/java.nio.channels.Channels.end(Unknown Source)
\t... 3 more
"""


class Told(PySparkException):
    """What Spark gives, without a JVM to ask."""

    def __init__(self, said: str, trace: str | None) -> None:
        self._said = said
        self._stackTrace = trace

    def __str__(self) -> str:
        return self._said


FAILED = "[STREAM_FAILED] Query [id = 1] terminated with exception:"
NO_SUCH = "java.util.NoSuchElementException"
CLOSED = "java.nio.channels.ClosedByInterruptException"


@pytest.mark.parametrize(
    ("said", "trace", "reason"),
    [
        (f"{FAILED} no disk SQLSTATE: XXKST\n=== Identifier ===", TRACE, "no disk"),
        ("no disk\n\nmore", TRACE, "no disk"),
        (
            f"{FAILED}  SQLSTATE: XXKST\n=== Identifier ===",
            TRACE,
            f"{CLOSED} at java.base/java.nio.channels.Channels.end(Unknown Source)",
        ),
        ("", f"{NO_SUCH}\n\tat A.b(C:1)", f"{NO_SUCH} at A.b(C:1)"),
        ("", None, "Told"),
    ],
)
def test_a_failure_of_spark_names_its_cause(said: str, trace: str | None, reason: str) -> None:
    assert str(spark_failed(Told(said, trace), None)) == f"Spark failed: {reason}"
