"""Sources that are no files: `format = 'kafka'`, `'socket'`, `'http'`, `'mqtt'`, `'nats'`, `'postgres'` and `'rate'`, and those that users registered.

Each is a feed that hands out ranges like the feed of files does, and can read a range again: Kafka by its offsets, the rate source by
counting, all others from the files that their rows are kept in (`spooled`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cqc.compiler.diagnostics.diagnostic import InternalError
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.source_formats import CONNECTIONS
from cqc.compiler.meaning.user_sources import user_sources
from cqc.runtime.notices import say
from cqc.runtime.sources import open_source
from cqc.runtime.sources.file_feed import FileFeed
from cqc.runtime.sources.file_trace import Begun
from cqc.runtime.sources.kafka import KafkaFeed
from cqc.runtime.sources.rate import RateFeed
from cqc.runtime.sources.socket import SocketFeed
from cqc.runtime.sources.user_feed import UserFeed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.sources.file_trace import Place
    from cqc.runtime.sources.range import Range


class Feed(Protocol):
    """Hands out the ranges of one stream; `done` says how far."""

    name: str
    ended: bool

    @property
    def done(self) -> Mapping[str, Place]:
        """For each file, or the like, where the next range begins."""

    def take(self, rows: int | None) -> tuple[Range, int] | None:
        """The next range, of at most `rows` rows, and how many it has; None when there is nothing (any more)."""

    def look(self) -> None:
        """See whether there is more."""

    def give_back(self, part: Range) -> None:
        """A range could not be read: it counts as not handed out."""

    def forget_gone(self) -> None:
        """Forget the files that are no longer there."""

    def done_with_all(self) -> None:
        """Everything that was handed out was read, and will not be asked for again."""

    def close(self) -> None:
        """Let go of files and connections."""


def is_connection(relation: Relation, binds: Mapping[str, str]) -> bool:
    """Whether a stream comes from a connection; one that is bound to a path does not."""
    bound = any(fold(name) == fold(relation.name) for name in binds)
    format_ = relation.options.get("format", "").lower()
    return not bound and (format_ in CONNECTIONS or format_ in user_sources())


def open_table(relation: Relation, path: Path | None) -> Iterator[TypedBatch]:
    """The rows of a table: of its file or folder, or by the connection that its WITH clause names.

    Raises:
        RunError: when they cannot be read.
    """
    if path is not None:
        return open_source(relation, path)
    from cqc.runtime.sources.postgres import read_table

    return read_table(relation)


def open_feed(
    name: str,
    relation: Relation,
    path: Path | None,
    done: Mapping[str, Place],
    *,
    follow: bool,
    spool: Path | None,
    warn: Callable[[str], None] | None = None,
) -> Feed:
    """The feed of a stream.

    Args:
        name: its folded name.
        relation: the stream.
        path: its file or folder; None for a connection.
        done: what was handed out before.
        follow: go on when everything was handed out.
        spool: a folder for what cannot be asked for again; a temporary one by default.
        warn: told of files that changed or went away.

    Raises:
        RunError: when there is nothing to read from.
    """
    if path is not None:
        return FileFeed(name, relation, path, follow=follow, done=done, warn=warn)
    # What listens and asks is loaded for those who have such a stream: the start of all others does not wait for it.
    stops = {key: Begun.at(place).stop for key, place in done.items()}
    match relation.options["format"].lower():
        case "kafka":
            return KafkaFeed(name, relation, follow=follow, done=stops)
        case "socket":
            return SocketFeed(name, relation, spool, done=done)
        case "http":
            from cqc.runtime.sources.http import HttpFeed

            return HttpFeed(name, relation, spool, done=done)
        case "mqtt":
            from cqc.runtime.sources.mqtt import MqttFeed

            return MqttFeed(name, relation, spool, done=done, warn=warn or say)
        case "nats":
            from cqc.runtime.sources.nats import NatsFeed

            return NatsFeed(name, relation, spool, done=done, warn=warn or say)
        case "postgres":
            from cqc.runtime.sources.postgres import PostgresFeed

            return PostgresFeed(name, relation, spool, follow=follow, done=done, warn=warn or say)
        case "rate":
            return RateFeed(name, relation, done=stops)
        case other if other in user_sources():
            return UserFeed(name, relation, user_sources()[other], spool, done=done)
        case other:
            raise InternalError(f"nobody reads the format {other}")
