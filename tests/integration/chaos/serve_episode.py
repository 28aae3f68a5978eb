"""Episodes of `cqc serve --checkpoint`: files are followed, rows and queries come over HTTP, query files come and go."""

from __future__ import annotations

import re
import signal
import threading
import time
from typing import TYPE_CHECKING

from tests.integration.chaos.judging import counts
from tests.integration.chaos.ledger import REFUSED, RIGHT, UNCLEAR, Fault
from tests.integration.chaos.processes import Watched, wait_for
from tests.integration.chaos.run_episode import REFUSES_S, RunEpisode
from tests.integration.chaos.service_client import ServiceClient

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.integration.chaos.episode import Trouble
    from tests.integration.chaos.judging import Standing
    from tests.integration.chaos.queries import Answer

TROUBLES = (
    "killed at random",
    "killed at random",
    "killed at a write",
    "killed at a write",
    "killed while registering",
    "stopped and started",
    "bit flipped",
    "bit flipped",
    "bit flipped",
    "source rewritten",
    "source shortened",
    "source removed",
    "disk full",
    "second service",
    "query registered",
    "query unregistered",
    "query refused",
    "query file added",
    "query file edited",
    "query file broken",
    "query file removed",
)


class ServeEpisode(RunEpisode):
    """A service with two kinds of streams: those of files, and `h`, which clients feed."""

    with_http = True

    def set_up(self, troubles: Sequence[str]) -> None:
        super().set_up(troubles)
        self.client = ServiceClient()
        self.files = self.folder / "queries"
        self.files.mkdir()

    def more_queries(self) -> str:
        return "".join(
            f"CREATE QUERY total_{name} AS SELECT COUNT(*) AS c, MAX(n) AS last FROM {name} BEGIN 0 END NOW;\n"
            for name in self.world.streams
        )

    def troubles(self) -> dict[str, Trouble]:
        return {
            "killed at random": self.killed_at_random,
            "killed at a write": self.killed_at_a_write,
            "killed while registering": self.killed_while_registering,
            "stopped and started": self.stopped_and_started,
            "bit flipped": self.bit_flipped,
            "source rewritten": self.source_rewritten,
            "source shortened": self.source_shortened,
            "source removed": self.source_removed,
            "disk full": self.disk_full,
            "second service": self.second_run,
            "query registered": self.query_registered,
            "query unregistered": self.query_unregistered,
            "query refused": self.query_refused,
            "query file added": self.query_file_added,
            "query file edited": self.query_file_edited,
            "query file broken": self.query_file_broken,
            "query file removed": self.query_file_removed,
        }

    def arguments(self, *, follow: bool = True, engine: str | None = None) -> list[str]:
        del follow, engine
        return [
            *["serve", str(self.program / "main.cq"), "--port", "0"],
            *["--checkpoint", str(self.checkpoint), "--queries", str(self.files)],
        ]

    def start(self, before: Sequence[str] = ()) -> None:
        self.client.close()
        limit = None if self.disk is None else self.disk.limit(self.watched.log)
        self.watched.start(self.arguments(), before, None, limit)
        self.is_connected = False

    def connect(self) -> bool:
        """Find where the service listens; False when it does not yet, or has ended."""
        if not self.is_connected:
            address = re.search(r"http://\S+", self.watched.said())
            if address is not None:
                self.client.connect(address[0])
                self.is_connected = True
        return self.is_connected

    def found(self) -> Answer | None:
        """All results that the service shows, once it has every row that clients have."""
        if not self.connect() or not self.send_rows():
            return None
        return self.client.results()

    def send_rows(self) -> bool:
        """Send the rows that the service does not have yet; it is asked, since the last request may have been cut off."""
        stream = self.world.streams["h"]
        told = self.client.invoke("total_h")
        if told is None:
            return False
        there = int(told[0]["c"])
        if there > len(stream.rows) or (there and told[0]["last"] != there - 1):
            raise Fault("repeated", 1, f"of {len(stream.rows)} rows of h the service counts {told}")
        if there < self.acknowledged:
            raise Fault(
                "lost", self.acknowledged - there, f"acknowledged rows of h have gone: {told}"
            )
        rest = stream.rows[there:]
        size = self.rng.choice((1, 7, 100))
        for first in range(0, len(rest), size):
            if not self.client.send(stream, rest[first : first + size]):
                return False
            self.acknowledged = rest[first : first + size][-1].n + 1
        return True

    acknowledged = 0

    def feed(self) -> None:
        super().feed()
        self.world.streams["h"].make_rows(self.rng, self.rng.choice((1, 3, 8)))

    def feed_a_while(self) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.world.arrive(self.rng.choice(self.world.in_files()))
            self.world.streams["h"].make_rows(self.rng, self.rng.choice((1, 10)))
            if self.connect():
                self.send_rows()
            time.sleep(self.rng.uniform(0, 0.6))

    def settle(self, names: Sequence[str] = ()) -> str:
        outcome = super().settle(names)
        if outcome == RIGHT:
            self.check_totals()
            self.check_registered()
        return outcome

    def check_totals(self) -> None:
        """What is asked for is right too."""
        for name, stream in self.world.streams.items():
            expected = [{"c": len(stream.rows), "last": len(stream.rows) - 1}]
            told = self.client.invoke(f"total_{name}")
            if told is not None and told != expected:
                raise Fault("silently wrong", 1, f"total_{name} is {told}, not {expected}")

    def check_registered(self) -> None:
        names = self.client.queries()
        if names is None:
            return
        for standing in self.standings:
            if standing.sure and not standing.asked_to_go and standing.query.name not in names:
                raise Fault("lost", 1, f"query {standing.query.name} has gone")
            if (
                standing.sure
                and standing.gone
                and names.get(standing.query.name) == standing.query.text
            ):
                raise Fault("repeated", 1, f"query {standing.query.name} has come back")

    def is_said(self, path: object) -> bool:
        if super().is_said(path):
            return True
        health = self.client.ask("GET", "/health")
        return health is not None and path.name in health.text

    def stopped_and_started(self) -> str:
        self.feed_a_while()
        which = self.rng.choice((signal.SIGTERM, signal.SIGINT))
        code = self.watched.stop(which)
        if code not in (0, 130, -which):  # a signal while it loads ends it at once
            raise Fault(UNCLEAR, 1, f"exit code {code} after {which.name}")
        self.start()
        return self.settle()

    # Queries over HTTP

    def query_registered(self) -> str:
        query = self.new_query()
        answer = self.client.ask("POST", "/queries", json={"text": query.text, "name": query.name})
        if answer is None or answer.status_code != 201:
            raise Fault(
                "wedged", 1, f"cannot register {query.text}: {answer and answer.text[:300]}"
            )
        self.came(query)
        self.feed_a_while()
        return self.settle()

    def over_http(self) -> list[Standing]:
        return [each for each in self.later() if not self.file_of(each).exists()]

    def file_of(self, standing: Standing) -> object:
        return self.files / f"{standing.query.name}.cq"

    def query_unregistered(self) -> str:
        if not self.over_http():
            self.query_registered()
        old = self.rng.choice(self.over_http())
        old.asked_to_go = counts(self.world)
        answer = self.client.ask("DELETE", f"/queries/{old.query.name}")
        if answer is None or answer.status_code != 204:
            raise Fault("wedged", 1, f"cannot unregister: {answer and answer.text[:300]}")
        old.gone = counts(self.world)
        self.feed_a_while()
        return self.settle()

    def query_refused(self) -> str:
        """A text with mistakes gets diagnostics, and changes nothing."""
        for text in (
            "SELEC n FROM a",
            "SELECT nothing FROM a",
            "SELECT l.n FROM a l, h r WHERE l.k = r.k",
            "\x00",
        ):
            answer = self.client.ask("POST", "/queries", json={"text": text, "name": "wrong"})
            if answer is None or not 400 <= answer.status_code < 500 or not answer.json()["error"]:
                raise Fault("silently wrong", 1, f"{text!r} gives {answer and answer.text[:300]}")
        self.settle()
        return REFUSED

    def killed_while_registering(self) -> str:
        """The answer may never come; whoever asks after the restart is told how it stands."""
        query = self.new_query()
        killer = threading.Timer(self.rng.uniform(0, 0.05), self.watched.signal_tree)
        killer.start()
        answer = self.client.ask("POST", "/queries", json={"text": query.text, "name": query.name})
        killer.join()
        self.watched.kill()
        self.start()
        wait_for(lambda: self.connect() or not self.watched.is_running, self.patience_s)
        names = self.client.queries()
        if names is None:
            return self.settle()
        if answer is not None and query.name not in names:
            raise Fault("lost", 1, f"query {query.name} was registered, and has gone")
        if query.name in names:
            self.came(query)
        return self.settle()

    # Query files

    def query_file_added(self) -> str:
        query = self.new_query()
        self.put_file(query.name, f"CREATE QUERY {query.name} AS {query.text};\n")
        self.feed_a_while()
        self.await_text(query.name, query.text)
        self.came(query)
        return self.settle()

    def in_query_files(self) -> list[Standing]:
        if not [each for each in self.later() if self.file_of(each).exists()]:
            self.query_file_added()
        return [each for each in self.later() if self.file_of(each).exists()]

    def query_file_edited(self) -> str:
        self.replace(self.rng.choice(self.in_query_files()))
        return self.settle()

    def replace(self, old: Standing) -> None:
        old.asked_to_go = counts(self.world)
        new = self.new_query(old.query.name)
        self.put_file(new.name, f"CREATE QUERY {new.name} AS {new.text};\n")
        self.feed_a_while()
        self.await_text(new.name, new.text)
        old.gone = counts(self.world)
        self.came(new)

    def query_file_removed(self) -> str:
        old = self.rng.choice(self.in_query_files())
        old.asked_to_go = counts(self.world)
        self.file_of(old).unlink()
        self.await_text(old.query.name, None)
        old.gone = counts(self.world)
        return self.settle()

    def query_file_broken(self) -> str:
        old = self.rng.choice(self.in_query_files())
        self._heard = self.watched.said()
        self.put_file(
            old.query.name,
            self.rng.choice(("SELEC n FROM a;", "CREATE QUERY x AS SELECT", "\x00(")),
        )
        if not wait_for(lambda: self.is_said(self.file_of(old)), self.patience_s):
            raise Fault("silently wrong", 1, "not a word about a query file with mistakes")
        self.settle()
        self.watched.kill()
        old.sure = False
        self.start()
        outcome = self.settle()
        self.replace(old)
        self.settle()
        return outcome

    def put_file(self, name: str, text: str) -> None:
        aside = self.files / f"{name}.aside"
        aside.write_text(text, encoding="utf-8")
        aside.replace(self.files / f"{name}.cq")

    def await_text(self, name: str, text: str | None) -> None:
        """Wait until a query is registered with a text, or has gone (None)."""

        def is_there() -> bool:
            names = self.client.queries()
            if names is None:
                return False
            return name not in names if text is None else text in names.get(name, "")

        if not wait_for(is_there, self.patience_s):
            raise Fault("wedged", 1, f"query {name} never became {text}")

    # The end

    def finish(self) -> None:
        self.settle()
        which = self.rng.choice((signal.SIGTERM, signal.SIGINT))
        code = self.watched.stop(which)
        if code != (0 if which == signal.SIGTERM else 130):
            raise Fault(UNCLEAR, 1, f"exit code {code} after {which.name}")

    def second_run(self) -> str:
        second = Watched(self.folder / "second.log")
        second.start(self.arguments())
        try:
            if not wait_for(lambda: not second.is_running, REFUSES_S):
                raise Fault("silently wrong", 1, "two services use one checkpoint")
            second.check_refusal(second.ended(), (self.checkpoint.name,))
        finally:
            second.kill()
        self.settle()
        return REFUSED

    def clean_up(self) -> None:
        self.client.close()
        super().clean_up()
