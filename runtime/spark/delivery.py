"""Micro-batches through Spark, for a run or a service that takes them one at a time.

Whoever drives plans what is read next and asks for it; Spark's stream delivers that as a micro-batch, and counts it as done
when the next one is asked for, which is after the last was committed. Nothing here touches the engine: the thread that Spark calls
only hands on which ranges its micro-batch has, so that the engine's own thread stays the only one.

Where the input stands is written down by the run or the service. Spark's own checkpoint lasts as long as its session; after a
crash the input is planned again from what was committed.

Spark remembers every file of a feed for as long as its query runs, so that a query is followed by another one after a while.
"""

from __future__ import annotations

import shutil
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from cqc.runtime.errors import LostSourceError, RunError
from cqc.runtime.run.driver import LOOK_S
from cqc.runtime.spark.session.feed import Feed
from cqc.runtime.spark.session.session import SPARK_ERRORS, spark_failed
from cqc.runtime.spark.session.starting import Starting

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from cqc.runtime.sources.range import Range
    from cqc.runtime.spark.session.session import Session


BATCHES_PER_QUERY = 2_000


class Delivery:
    """Hands ranges to Spark's stream and gives them back when they come out of it.

    Args:
        master: where Spark runs; local mode by default.
        session: a session to use and leave open; one is started (and ended by `close`) without it.
        advice: for the user, at the end of the sentence that says that Spark has gone.
        waiting: called every now and then while Spark is waited for; it may raise to end that.
    """

    def __init__(
        self,
        master: str | None = None,
        session: Session | None = None,
        *,
        advice: str = "",
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        self._session = session
        self._advice = advice
        self._waiting = waiting
        self._starting = Starting(master) if session is None else None
        self._feed: Feed | None = None
        self._query: StreamingQuery | None = None
        self._batches = 0  # that the streaming query has had
        # All below is changed under this condition, which is notified of it.
        self._changed = threading.Condition()
        self._delivered: list[Range] | None = None
        self._is_in_hand = False  # Spark waits until the service has done a micro-batch
        self._failure: RunError | None = None
        self._is_stopping = False

    def deliver(self, ranges: list[Range]) -> list[Range]:
        """The same ranges once Spark has delivered them; asking says that everything delivered before counts.

        None are given back when somebody stops the delivery meanwhile.

        Raises:
            LostSourceError: when Spark does not start, or has gone.
        """
        with self._changed:
            self._is_in_hand = False
            self._changed.notify_all()
        if not ranges:
            self._raise_failure()
            return []
        if self._batches >= BATCHES_PER_QUERY:
            self._end_query()
        feed = self._begin()
        if feed is None:
            return []
        self._batches += 1
        feed.put(ranges)
        with self._changed:
            while not self._changed.wait_for(
                lambda: self._delivered is not None or self._has_ended, LOOK_S
            ):
                self._waiting()
            self._raise_failure()
            delivered, self._delivered = self._delivered or [], None
        return delivered

    def stop(self) -> None:
        """Let everybody go who waits here."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()

    def close(self) -> None:
        """End the stream, and the session when it is ours."""
        self.stop()
        if self._starting is not None:
            self._starting.close()
        else:
            self._end_query()

    def _end_query(self) -> None:
        """Stop the streaming query; what it delivered counts, and its files are not needed any more."""
        query, self._query, self._batches = self._query, None, 0
        if query is not None:
            with suppress(*SPARK_ERRORS):  # it may have ended by itself, or its JVM
                query.stop()
        if self._feed is not None:
            shutil.rmtree(self._feed.folder.parent, ignore_errors=True)
            self._feed = None

    @property
    def _has_ended(self) -> bool:
        return self._failure is not None or self._is_stopping

    def _raise_failure(self) -> None:
        if self._failure is not None and not self._is_stopping:
            raise LostSourceError(f"{self._failure}{self._advice}") from self._failure

    def _begin(self) -> Feed | None:
        """The stream that Spark reads; None when somebody stopped it before it began."""
        if self._feed is not None:
            return self._feed
        if self._starting is not None:
            while self._starting.wait():
                self._waiting()
                if self._is_stopping:
                    return None
            try:
                self._session = self._starting.result()
            except RunError as error:
                raise LostSourceError(str(error)) from error
        assert self._session is not None
        folder = self._session.new_folder()
        self._feed = Feed(folder / "feed")
        try:
            self._query = (
                self._feed.stream(self._session.spark)
                .writeStream.foreachBatch(self._take)
                .option("checkpointLocation", str(folder / "spark"))
                .trigger(processingTime="0 seconds")
                .start()
            )
        except SPARK_ERRORS as error:
            failure = spark_failed(error, self._session)
            raise LostSourceError(f"{failure}{self._advice}") from error
        threading.Thread(target=self._wait_for, args=(self._query,), daemon=True).start()
        return self._feed

    def _take(self, batch: DataFrame, number: int) -> None:
        """What Spark calls with each micro-batch, in a thread of its own."""
        del number  # micro-batches are numbered by the service, whose checkpoint outlives Spark's
        assert self._feed is not None
        try:
            ranges = self._feed.taken(batch, self._session)
        except RunError as error:  # it loses its type on the way through the JVM
            with self._changed:
                self._failure = error
                self._changed.notify_all()
            raise
        with self._changed:
            self._delivered = ranges
            self._is_in_hand = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._is_in_hand or self._has_ended)

    def _wait_for(self, query: StreamingQuery) -> None:
        """Hear when Spark ends the stream by itself, which only a failure makes it do."""
        failure = RunError("Spark ended its stream")
        try:
            query.awaitTermination()
        except SPARK_ERRORS as error:
            if not self._is_stopping:
                failure = spark_failed(error, self._session)
        with self._changed:
            if query is self._query:  # else it was ended here, and another one follows it
                self._failure = self._failure or failure
                self._changed.notify_all()
