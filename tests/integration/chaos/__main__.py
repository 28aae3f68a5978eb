"""`make chaos`: troubles on local, Spark and serve at once, for so many minutes, and the account of it."""

from __future__ import annotations

import argparse
import itertools
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.integration.chaos import run_episode, serve_episode
from tests.integration.chaos.ledger import Ledger
from tests.integration.chaos.processes import ROOT, GivenUp
from tests.integration.chaos.run_episode import RunEpisode
from tests.integration.chaos.serve_episode import ServeEpisode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.integration.chaos.episode import Episode

ENGINES = ("local", "spark", "serve")
TROUBLES = {
    "local": run_episode.TROUBLES,
    "spark": (*run_episode.TROUBLES, "Java killed"),
    "serve": serve_episode.TROUBLES,
}
IN_AN_EPISODE = {"local": 5, "spark": 9, "serve": 6}


def deal(seed: str, engine: str) -> Iterator[list[str]]:
    """The troubles of each episode of an engine: all kinds come equally often."""
    rng = random.Random(f"{seed} {engine}")
    hand: list[str] = []
    while True:
        while len(hand) < IN_AN_EPISODE[engine]:
            deck = list(TROUBLES[engine])
            rng.shuffle(deck)
            hand += deck
        yield hand[: IN_AN_EPISODE[engine]]
        hand = hand[IN_AN_EPISODE[engine] :]


def make_episode(
    engine: str, seed: str, number: int, ledger: Ledger, kept: Path, deadline: float
) -> Episode:
    kind = ServeEpisode if engine == "serve" else RunEpisode
    place = kept / f"{seed}-{engine}-{number}"
    return kind(engine, f"{seed} {engine} {number}", ledger, place, deadline)


class Chaos:
    """All engines at once, one episode of each at a time."""

    def __init__(self, seed: str, kept: Path, minutes: float) -> None:
        self.seed, self.kept = seed, kept
        self.ledger = Ledger()
        self.deadline = time.monotonic() + minutes * 60
        self.problems: list[BaseException] = []
        self.running: set[Episode] = set()
        self.is_interrupted = False

    def try_engine(self, engine: str) -> None:
        try:
            for number, troubles in enumerate(deal(self.seed, engine)):
                if time.monotonic() > self.deadline:
                    return
                self.one(engine, number, troubles)
        except GivenUp:
            return
        except BaseException as problem:
            self.problems.append(problem)  # a mistake of the harness: told after the account
            raise

    def try_all(self, engines: Sequence[str]) -> None:
        threads = [
            threading.Thread(target=self.try_engine, args=(engine,), name=engine)
            for engine in engines
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:  # what is under way is given up, and nothing is left behind
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            self.is_interrupted = True
            self.deadline = 0.0
            for episode in list(self.running):
                episode.watched.forbid()
            for thread in threads:
                thread.join()

    def one(self, engine: str, number: int, troubles: list[str]) -> None:
        began = time.monotonic()
        episode = make_episode(engine, self.seed, number, self.ledger, self.kept, self.deadline)
        self.running.add(episode)
        try:
            well = episode.run(troubles)
        finally:
            self.running.discard(episode)
        took = time.monotonic() - began
        words = (
            "right" if well else f"{len(episode.faults)} faults\n  " + "\n  ".join(episode.faults)
        )
        say(
            f"{engine} episode {number}, {took:.0f} s, {', '.join(episode.tried) or 'start'}: {words}"
        )


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def end(number: int, frame: object) -> None:
    """SIGTERM ends the harness as Ctrl-C does, so that no process is left behind."""
    del number, frame
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.integration.chaos", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=float(os.environ.get("CHAOS_MINUTES", "20"))
    )
    parser.add_argument(
        "--seed",
        default=os.environ.get("CHAOS_SEED") or str(random.SystemRandom().randrange(10**6)),
    )
    parser.add_argument(
        "--engine", choices=ENGINES, action="append", help="only this one (repeatable)"
    )
    parser.add_argument("--episode", type=int, help="only this episode")
    parser.add_argument("--trouble", action="append", help="one episode of this (repeatable)")
    parser.add_argument(
        "--kept", type=Path, default=ROOT / "artifacts" / "chaos", help="where evidence goes"
    )
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, end)
    engines = tuple(given.engine or ENGINES)
    chaos = Chaos(given.seed, given.kept, given.minutes)
    say(f"chaos on {', '.join(engines)}: seed {given.seed}, {given.minutes:g} minutes")
    if given.trouble:
        for engine in engines:
            chaos.one(engine, given.episode or 0, given.trouble)
    elif given.episode is not None:
        for engine in engines:
            troubles = next(itertools.islice(deal(given.seed, engine), given.episode, None))
            chaos.one(engine, given.episode, troubles)
    else:
        chaos.try_all(engines)
    return report(chaos)


def report(chaos: Chaos) -> int:
    ledger = chaos.ledger
    say(f"\n{ledger.table()}\n")
    for words in ledger.faults:
        say(words)
    if chaos.problems:
        say(f"the harness itself failed: {chaos.problems[0]!r}")
    if chaos.is_interrupted:
        say("interrupted: what was under way is not in the table")
    is_well = ledger.is_clean and not chaos.problems
    if not is_well:
        say(f"seed {chaos.seed}, evidence in {chaos.kept}")
    say(ledger.verdict())
    if not is_well:
        return 1
    return 130 if chaos.is_interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
