"""What goes through Spark's stream: for each micro-batch one small file with the ranges that it reads.

Spark's text source turns each file into one micro-batch, numbers it, and remembers in its checkpoint which ones are done; a
micro-batch that was under way when the process died comes again with the same file. The rows themselves are read from the
ranges by the parsers that every run uses, so that answers are the same on every engine.

Whoever puts ranges knows what must come out, so that a file which is damaged on the way, or another one in its place, is noticed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from cqc.runtime.errors import RunError
from cqc.runtime.spark.session.session import SPARK_ERRORS, spark_failed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from cqc.runtime.sources.range import Range
    from cqc.runtime.spark.session.session import Session


class Feed:
    """The folder of files that Spark watches."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._number = 0
        self._ranges: list[Range] = []  # of the last micro-batch
        self._lines: list[bytes] = []  # and how its file says them
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, ranges: Sequence[Range]) -> None:
        """Give Spark the ranges of one more micro-batch, and remove the file of the one before the last."""
        self._ranges, self._lines = list(ranges), [part.to_json().encode() for part in ranges]
        aside = self.folder / ".next"  # hidden files are not delivered
        aside.write_bytes(b"".join(line + b"\n" for line in self._lines))
        aside.replace(self._file(self._number))
        self._file(self._number - 2).unlink(missing_ok=True)
        self._number += 1

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:012d}.jsonl"

    def stream(self, spark: SparkSession) -> DataFrame:
        """The streaming DataFrame of the folder: one file a micro-batch."""
        reader = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        return reader.load(str(self.folder))

    def taken(self, batch: DataFrame, session: Session | None) -> list[Range]:
        """The ranges that were put last, now that Spark delivers them.

        Raises:
            RunError: when Spark fails, or delivers something else.
        """
        try:
            # As bytes: what is damaged may be no text.
            lines = batch.toArrow()["value"].cast(pa.binary()).to_pylist()
        except SPARK_ERRORS as error:
            raise spark_failed(error, session) from error
        # In any order, since Spark may give the parts of a long file so.
        if sorted(lines) != sorted(self._lines):
            file = self._file(self._number - 1)
            raise RunError(
                f"Spark delivers something else than was written to {file}: that file, or one of Spark's beside it, is damaged"
            )
        return self._ranges
