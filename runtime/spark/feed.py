"""What goes through Spark's stream: for each micro-batch one small file with the ranges that it reads.

Spark's text source turns each file into one micro-batch, numbers it, and remembers in its checkpoint which ones are done; a
micro-batch that was under way when the process died comes again with the same file. The rows themselves are read from the
ranges by the parsers that every run uses, so that answers are the same on every engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.range import Range

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


class Feed:
    """The folder of files that Spark watches."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = 0
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, ranges: Sequence[Range]) -> None:
        """Give Spark the ranges of one more micro-batch, and remove the file of the one before the last."""
        aside = self._folder / ".next"  # hidden files are not delivered
        aside.write_text("".join(f"{part.to_json()}\n" for part in ranges), encoding="utf-8")
        aside.replace(self._file(self._number))
        self._file(self._number - 2).unlink(missing_ok=True)
        self._number += 1

    def _file(self, number: int) -> Path:
        return self._folder / f"{number:012d}.jsonl"

    def stream(self, spark: SparkSession) -> DataFrame:
        """The streaming DataFrame of the folder: one file a micro-batch."""
        reader = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        return reader.load(str(self._folder))


def ranges_of(batch: DataFrame) -> list[Range]:
    """The ranges of a micro-batch that Spark delivers."""
    return [Range.from_json(line) for line in batch.toArrow()["value"].to_pylist()]
