"""Results written by Spark, in any batch format that its session knows, one write for what waits.

Delta takes an application and a version with a write, and leaves out one that it has: there every result is exactly once. Other formats
may have results of the last write twice after a crash; their `_id` tells them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cqc.runtime.receivers.database_rows import by_columns
from cqc.runtime.receivers.file import arrow_table
from cqc.runtime.receivers.receiver import UnreachableError
from cqc.runtime.spark.session.session import SPARK_ERRORS, running_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.receivers.receiver import Sent, Setting


class SparkReceiver:
    """Appends to a path or a table."""

    at_once = 100_000

    def __init__(self, setting: Setting) -> None:
        options = setting.options
        self._session = running_session()
        if self._session is None:
            raise UnreachableError("Spark has not started yet")
        self._format = options["format"]
        self._where = options.get("path"), options.get("table")
        self._base = setting.base
        self._options = {
            name.removeprefix("options."): text
            for name, text in options.items()
            if name.startswith("options.")
        }
        self._application = f"{setting.program}/{setting.sink}/{setting.run}"

    def stored(self) -> int | None:
        return None

    def send(self, results: Sequence[Sent]) -> None:
        for _, own in by_columns(results):
            self._write(own)

    def close(self) -> None:
        """The session is not ours to end."""

    def _write(self, results: Sequence[Sent]) -> None:
        assert self._session is not None
        path, table = self._where
        writer = (
            self._session.createDataFrame(arrow_table(results))
            .write.format(self._format)
            .mode("append")
            .options(**self._options)
        )
        if self._format.lower() == "delta":
            writer = writer.option("txnAppId", self._application).option(
                "txnVersion", results[-1].number
            )
        try:
            if table is not None:
                writer.saveAsTable(table)
            else:
                writer.save(path if "://" in str(path) else str(Path(self._base) / str(path)))
        except SPARK_ERRORS as error:
            first = str(error).strip().partition("\n")[0]
            raise UnreachableError(f"Spark did not write the results ({first})") from error
