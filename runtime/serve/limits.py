"""How much one client may ask of the service, so that none of them can stop the others."""

from __future__ import annotations

from dataclasses import dataclass

_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What is refused, and what is forgotten."""

    body_bytes: int = 32 * _MEGABYTE  # of one request with rows
    plain_bytes: int = _MEGABYTE  # of any other request
    body_rows: int = 1_000_000  # of one request
    body_values: int = 16_000_000  # of one request: its rows, times the columns of their stream
    head_seconds: float = 30.0  # until the head of a request is there
    body_seconds: float = 120.0  # until its body is
    query_characters: int = 100_000  # of one query's text
    name_characters: int = 200  # of a query's name or owner
    queries: int = 100_000  # registered at once
    result_rows: int = 1_000_000  # of one answer
    instants: int = 1_000_000  # of queries with EVERY that one micro-batch makes due
    batch_results: int = 1_000_000  # of one query in one micro-batch, beside one for each row
    kept_rows: int = 10_000_000  # combinations that are kept for one query with BEGIN-END
    query_seconds: float = 10.0  # of work on one query in one micro-batch, registration or answer
    preview_seconds: float = 5.0  # for a query that is only tried over the past
    invoke_seconds: float = 30.0  # until whoever asked is told to try again
    waiting: int = 1_000  # requests that wait for the engine
    waiting_bytes: int = 256 * _MEGABYTE  # of rows that are received, read, or wait for the engine
    connections: int = 4_000  # at once, or as many as the system gives us files for
    watchers: int = 1_000
    watcher_seconds: float = 10.0  # that a watcher may take to read what was sent to it
    kept_result_bytes: int = 64 * _MEGABYTE  # of results for watchers that come back

    def rows_of(self, columns: int) -> int:
        """How many rows of a relation with so many columns one request may bring."""
        return max(1, min(self.body_rows, self.body_values // columns))
