"""An archive of Spark's loaded classes, from which its JVM starts in half the processor time (Java's class-data sharing).

`python -m cqc.runtime.spark.session.archive` makes it once for an environment: a short run, whose classes the JVM writes out at its
end. Starts with it took 7 s of processor time to the first micro-batches instead of 13 s. A JVM that does not fit the
archive (another Java, another Spark) ignores it.
"""

from __future__ import annotations

import signal
import sys
import threading
from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.sources.range import Range
from cqc.runtime.spark.session.archive_path import archive_path
from cqc.runtime.spark.session.feed import Feed
from cqc.runtime.spark.session.session import Session

if TYPE_CHECKING:
    from pathlib import Path

_LIMIT_S = 600.0


def make_archive() -> Path:
    """Make the archive.

    Raises:
        RunError: when Spark does not start.
    """
    path = archive_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".part")
    with Session(jvm_options=f"-XX:ArchiveClassesAtExit={aside}") as session:
        _use(session)
        session.end_gently(signal.SIGTERM, _LIMIT_S)
    if not aside.exists():
        raise RunError("the JVM wrote no archive")
    return aside.replace(path)


def _use(session: Session) -> None:
    """Do what every run does, so that the classes it needs are loaded."""
    folder = session.new_folder()
    feed = Feed(folder / "feed")
    some = [Range("s", "none", "csv", 0, 0)]
    seen = threading.Semaphore(0)

    def take(batch: object, number: int) -> None:
        feed.taken(batch, session)  # type: ignore[arg-type]  # pyspark calls it with a DataFrame
        if number < 2:
            feed.put(some)
        seen.release()

    feed.put(some)
    query = (
        feed.stream(session.spark)
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", str(folder / "spark"))
        .trigger(processingTime="0 seconds")
        .start()
    )
    for _ in range(3):
        seen.acquire(timeout=_LIMIT_S)
    query.stop()


def main() -> None:
    """Make the archive unless it is there."""
    if archive_path().exists():
        return
    try:
        make_archive()
    except (RunError, OSError) as error:
        # Spark starts without it as well, only later.
        sys.stderr.write(f"no archive of Spark's classes: {error}\n")


if __name__ == "__main__":
    main()
