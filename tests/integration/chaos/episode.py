"""What episodes have in common: a world, a process, troubles one after another, and a look at everything after each."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.integration.chaos.disks import SmallDisk
from tests.integration.chaos.judging import Standing, compare, counts
from tests.integration.chaos.ledger import REFUSED, RIGHT, UNCLEAR, Fault, Ledger
from tests.integration.chaos.processes import Watched
from tests.integration.chaos.queries import Filter, make_every, make_join, make_queries
from tests.integration.chaos.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.integration.chaos.judging import Comparison
    from tests.integration.chaos.queries import Answer, Query

STAYS_S = 40.0  # what is wrong for so long is wrong: a busy machine takes a while to start what refuses it
Trouble = "Callable[[], str]"


class Episode:
    """One folder, one process at a time, and some troubles.

    Args:
        engine: what is tried: local, spark or serve.
        seed: everything at random comes from it.
        ledger: where outcomes are noted.
        kept: where the folder is moved when something was wrong.
        deadline: when no more troubles begin, by `time.monotonic`.
    """

    patience_s = 40.0  # without any progress
    with_http = False

    def __init__(
        self, engine: str, seed: str, ledger: Ledger, kept: Path, deadline: float = float("inf")
    ) -> None:
        self.engine, self.seed, self.ledger = engine, seed, ledger
        self.kept = kept
        self.deadline = deadline
        self.rng = random.Random(seed)
        self.folder = Path(tempfile.mkdtemp(prefix="cqc-chaos-")).resolve()
        self.aside = self.folder / "copies"
        self.story: list[str] = []
        self.remarks: list[
            Fault
        ] = []  # faults of the present trouble after which an episode can go on
        self.faults: list[str] = []
        self.tried: list[str] = []
        self.disk: SmallDisk | None = None
        self.watched = Watched(self.folder / "log")

    def tell(self, words: str) -> None:
        """Write down what is done, for whoever reads the evidence."""
        self.story.append(f"{time.strftime('%H:%M:%S')} {words}")

    def run(self, troubles: Sequence[str]) -> bool:
        """Go through troubles by name; whether all was well."""
        now = "start"
        try:
            self.set_up(troubles)
            self.start()
            self.settle()
            for now in troubles:
                if time.monotonic() > self.deadline:
                    break
                self.tell(f"trouble: {now}")
                self.tried.append(now)
                outcome = self.troubles()[now]()
                self.tell(f"outcome: {outcome}")
                if not self.remarks:
                    self.ledger.note(self.engine, now, outcome)
                while self.remarks:
                    self.keep_evidence(now, self.remarks.pop())
            now = "caught up and ended"
            self.finish()
            self.ledger.note(self.engine, now, RIGHT)
        except Fault as fault:
            self.watched.kill()
            self.keep_evidence(now, fault)
        finally:
            self.watched.kill()
            self.clean_up()
        return not self.faults

    # What each kind of episode does in its own way

    def troubles(self) -> dict[str, Trouble]:
        raise NotImplementedError

    def arguments(self) -> list[str]:
        raise NotImplementedError

    def start(self, before: Sequence[str] = ()) -> None:
        raise NotImplementedError

    def found(self) -> Answer | None:
        """All results so far; None when they cannot be asked for at this moment."""
        raise NotImplementedError

    def finish(self) -> None:
        raise NotImplementedError

    # The beginning and the end

    def set_up(self, troubles: Sequence[str]) -> None:
        self.world = World(self.folder, self.rng, with_http=self.with_http)
        self.checkpoint = self.folder / "checkpoint"
        if "disk full" in troubles:
            self.disk = SmallDisk(self.folder / "disk")
            self.checkpoint = self.disk.folder / "checkpoint"
        self.standings = [Standing(query) for query in make_queries(self.world, self.rng)]
        self.program = self.folder / "program"
        self.program.mkdir()
        texts = [
            f"CREATE QUERY {each.query.name} AS {each.query.text};\n" for each in self.standings
        ]
        text = self.world.declarations() + "".join(texts) + self.more_queries()
        (self.program / "main.cq").write_text(text, encoding="utf-8")
        self.made = 0  # queries that came later
        self.world.arrive_everywhere()

    def more_queries(self) -> str:
        return ""

    def keep_evidence(self, trouble: str, fault: Fault) -> None:
        """Move the folder to where a person finds it, with what happened."""
        self.tell(f"fault: {fault}")
        shutil.copytree(
            self.folder, self.kept, symlinks=True, dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("ballast"),
        )  # fmt: skip
        (self.kept / "story").write_text("\n".join([*self.story, ""]), encoding="utf-8")
        words = f"{self.engine}, {trouble}: {fault}\n    seed {self.seed}, evidence in {self.kept}"
        self.faults.append(words)
        self.ledger.fault(self.engine, trouble, fault, words)

    def clean_up(self) -> None:
        if self.disk is not None:
            self.disk.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # Looking

    def feed(self) -> None:
        """Let some rows come in every stream."""
        self.world.arrive_everywhere(self.rng.choice((1, 3, 8)))

    def compare(self, found: Answer) -> Comparison:
        return compare(found, self.standings, self.world)

    def settle(self, names: Sequence[str] = ()) -> str:
        """Let rows come, wait until everything that must come of them is there, and look at all of it.

        Args:
            names: after damage: one of these has to be named when the process refuses to go on.

        Raises:
            Fault: when something is wrong.
        """
        self.feed()
        if self.wait_until_complete():
            self.watched.check_words()
            return RIGHT
        if not self.watched.is_running:
            code = self.watched.ended()
            if names:
                return self.refused(code, names)
            self.watched.check_words()
            said = self.watched.said().strip()[-500:]
            raise Fault("wedged", 1, f"it ended by itself, exit code {code}: {said!r}")
        self.watched.check_words()
        return self.tell_lost_from_wedged()

    def refused(self, code: int, names: Sequence[str]) -> str:
        """It ended by itself, as it may: in how clear words?"""
        try:
            self.watched.check_refusal(code, names)
        except Fault as fault:
            if fault.kind != UNCLEAR:
                raise
            self.remarks.append(fault)
        self.tell(f"refused: {self.watched.said().strip()[-300:]}")
        return REFUSED

    def tell_lost_from_wedged(self) -> str:
        """What does not come, does it come after a restart?

        Raises:
            Fault: in any case.
        """
        before = self.compare(self.found() or Counter())
        self.tell(f"no progress; missing: {sorted(before.missing)[:20]}")
        self.watched.kill()
        self.start()
        if self.wait_until_complete():
            raise Fault(
                "wedged",
                1,
                f"no progress, and all went on after a restart; {before.missing.total()} results waited",
            )
        after = self.compare(self.found() or Counter())
        after.raise_faults()
        raise Fault("wedged", 1, "no progress, also after a restart")

    def wait_until_complete(self) -> bool:
        """Whether everything comes that must, and nothing that must not; False when it stops coming or the process ends.

        Raises:
            Fault: when something came that must not.
        """
        last: object = None
        bad: object = None
        quiet_since = bad_since = time.monotonic()
        while True:
            running = self.watched.is_running
            found = self.found()
            if found is not None:
                state = self.compare(found)
                if not state.missing:
                    self.check_no_more(state)
                    return running
                if state.missing != last:
                    last, quiet_since = state.missing, time.monotonic()
                if (state.untrue, state.repeated) != bad:
                    bad, bad_since = (state.untrue, state.repeated), time.monotonic()
                if any(bad) and time.monotonic() - bad_since > STAYS_S:
                    state.raise_faults()
            if not running or time.monotonic() - quiet_since > self.patience_s:
                return False
            time.sleep(0.1)

    def check_no_more(self, state: Comparison) -> None:
        """Raise for what must not have come; a line that is half written is looked at once more."""
        if not (state.untrue or state.repeated):
            return
        time.sleep(1.0)
        self.compare(self.found() or Counter()).raise_faults()

    # Queries that come later

    def new_query(self, name: str | None = None) -> Query:
        """A query by a new name, or another one by a name that is there."""
        self.made += 1
        name = name or f"later{self.made}"
        kind = self.rng.randrange(4)
        if kind == 0 and name == f"later{self.made}":
            return make_every(name, self.world, self.rng)
        if kind == 1:
            return make_join(name, self.world, self.rng, tag=self.made)
        stream = self.rng.choice(list(self.world.streams))
        return Filter(name, stream, float(self.rng.randint(-1, 10)), tag=self.made)

    def later(self) -> list[Standing]:
        """Queries that came later and are still there."""
        return [each for each in self.standings if not each.from_the_start and not each.asked_to_go]

    def came(self, query: Query) -> Standing:
        """A query was seen to run from here on."""
        standing = Standing(query, since=counts(self.world), from_the_start=False)
        self.standings.append(standing)
        return standing
