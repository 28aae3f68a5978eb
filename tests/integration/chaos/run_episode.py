"""Episodes of `cqc run --follow --checkpoint`, on the local engine or on Spark."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING

from tests.integration.chaos import damage
from tests.integration.chaos.episode import Episode
from tests.integration.chaos.judging import (
    compare_exactly,
    counts,
    lines_of,
    may_give,
    must_give,
    without,
)
from tests.integration.chaos.ledger import REFUSED, RIGHT, UNCLEAR, Fault
from tests.integration.chaos.moments import MOMENTS
from tests.integration.chaos.processes import Watched, wait_for
from tests.integration.chaos.queries import DECIDED_AT_THE_END, only_at_the_end

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.integration.chaos.damage import Damage
    from tests.integration.chaos.episode import Trouble
    from tests.integration.chaos.queries import Answer

OUTPUT_TROUBLES = (
    "output rotated",
    "output rotated, running",
    "output emptied, running",
    "output shortened",
    "output deleted",
)
TROUBLES = (
    "killed at random",
    "killed at random",
    "killed at a write",
    "killed at a write",
    "stopped and started",
    "bit flipped",
    "bit flipped",
    "bit flipped",
    *OUTPUT_TROUBLES,
    "source rewritten",
    "source shortened",
    "source removed",
    "disk full",
    "second run",
    "query added",
    "query edited",
    "query broken",
    "query removed",
)
FULL_S = 20.0  # how long a process may take to meet a full disk
REFUSES_S = 60.0


class RunEpisode(Episode):
    """A run that follows folders of files, with a program in a folder of its own."""

    most_kills = 3  # in one trouble

    def set_up(self, troubles: Sequence[str]) -> None:
        super().set_up(troubles)
        self.rows_per_batch = self.rng.choice((7, 50, 1_000))
        place = self.folder if self.disk is None else self.disk.folder
        self.out = place / "out.jsonl"
        self.form = self.rng.choice(("file", "file", "folder", "printed"))
        if {*OUTPUT_TROUBLES, "disk full"} & set(troubles):
            self.form = "file"
        if self.form == "folder":
            self.out = place / "out"
            self.out.mkdir()
        self.pieces: list[Path] = []  # where earlier parts of the output were taken to
        if self.engine == "spark":
            self.patience_s = 180.0
            self.most_kills = 2  # it takes long to start
            self.rows_per_batch = self.rng.choice((60, 1_000))  # and a while for a micro-batch

    def more_queries(self) -> str:
        return only_at_the_end(self.world)

    def troubles(self) -> dict[str, Trouble]:
        return {
            "killed at random": self.killed_at_random,
            "killed at a write": self.killed_at_a_write,
            "stopped and started": self.stopped_and_started,
            "Java killed": self.java_killed,
            "bit flipped": self.bit_flipped,
            "output rotated": self.output_rotated,
            "output rotated, running": self.output_rotated_while_running,
            "output emptied, running": self.output_emptied_while_running,
            "output shortened": self.output_shortened,
            "output deleted": self.output_deleted,
            "source rewritten": self.source_rewritten,
            "source shortened": self.source_shortened,
            "source removed": self.source_removed,
            "disk full": self.disk_full,
            "second run": self.second_run,
            "query added": self.query_added,
            "query edited": self.query_edited,
            "query broken": self.query_broken,
            "query removed": self.query_removed,
        }

    def arguments(self, *, follow: bool = True, engine: str | None = None) -> list[str]:
        return [
            *["run", str(self.program), "--engine", engine or self.engine],
            *["--checkpoint", str(self.checkpoint), "--rows-per-batch", str(self.rows_per_batch)],
            *["--late", str(self.folder / "late"), "--rejects", str(self.folder / "rejects")],
            *([] if self.form == "printed" else ["--out", str(self.out)]),
            *(["--follow"] if follow else []),
        ]

    def start(self, before: Sequence[str] = ()) -> None:
        limit = None if self.disk is None else self.disk.limit(self.watched.log)
        self.watched.start(self.arguments(), before, self.stdout(), limit)

    def stdout(self) -> Path | None:
        return self.out if self.form == "printed" else None

    def found(self) -> Answer:
        return without(self.all_results(), DECIDED_AT_THE_END)

    def all_results(self) -> Answer:
        """What is in the output, wherever parts of it were taken to."""
        found: Answer = Counter()
        files = sorted(self.out.iterdir()) if self.form == "folder" else [self.out]
        for path in [*self.pieces, *files]:
            try:
                found += lines_of(path.read_bytes())
            except FileNotFoundError:
                continue
        return found

    # Deaths

    def killed_at_random(self) -> str:
        for _ in range(self.rng.randint(1, self.most_kills)):
            self.feed_a_while()
            self.watched.kill()
            if self.rng.random() < 0.5:
                self.feed()
            self.start()
            if self.rng.random() < 0.3:  # while it starts
                time.sleep(self.rng.uniform(0, 2))
                self.watched.kill()
                self.start()
        return self.settle()

    def killed_at_a_write(self) -> str:
        for _ in range(self.rng.randint(1, self.most_kills)):
            self.watched.kill()
            passes = self.rng.choice((1, 1, 2, 3, 5))
            moment = self.rng.choice(MOMENTS)
            self.tell(f"killed at passing {passes} of {moment}")
            self.start(("tests.integration.chaos.moments", str(self.folder), moment, str(passes)))
            self.feed_a_while()
            wait_for(lambda: not self.watched.is_running or self.is_complete(), self.patience_s)
        self.watched.kill()
        self.start()
        return self.settle()

    def is_complete(self) -> bool:
        found = self.found()
        return found is not None and not self.compare(found).missing

    def feed_a_while(self) -> None:
        """Let files come at random moments."""
        for _ in range(self.rng.randint(1, 3)):
            self.world.arrive(self.rng.choice(self.world.in_files()))
            time.sleep(self.rng.uniform(0, 0.6))

    def stopped_and_started(self) -> str:
        self.feed_a_while()
        which = self.rng.choice((signal.SIGTERM, signal.SIGINT))
        code = self.watched.stop(which)
        if code not in (130, 143, -which):
            self.remarks.append(Fault(UNCLEAR, 1, f"exit code {code} after {which.name}"))
        self.start()
        return self.settle()

    def java_killed(self) -> str:
        """Spark's machine goes, and nobody else: the run ends with a sentence."""
        wait_for(lambda: self.watched.kill_child("java"), REFUSES_S)
        outcome = self.settle(names=("Spark",))
        if outcome == REFUSED:
            self.start()
            self.settle()
        return outcome

    # Damage

    def bit_flipped(self) -> str:
        self.feed_a_while()
        self.watched.kill()
        done = damage.flip_bit(self.checkpoint, self.aside, self.rng)
        self.start()
        return self.settle() if done is None else self.judged(done)

    def judged(self, done: Damage) -> str:
        """What comes of damage; after a refusal it is undone, and all must be well."""
        self.tell(done.words)
        self.world.may_grow = False
        outcome = self.settle(names=(done.path.name,))
        if outcome == REFUSED:
            done.undo()
            self.start()
            self.settle()
        self.world.may_grow = True
        return outcome

    def output_rotated(self) -> str:
        self.feed_a_while()
        self.watched.kill()
        moved = self.rotate()
        if self.rng.random() < 0.5:
            self.out.touch()
        self.start()
        return self.judged_rotation(moved)

    def output_rotated_while_running(self) -> str:
        moved = self.rotate()
        return self.judged_rotation(moved)

    def output_deleted(self) -> str:
        """Whoever takes a file away has its results: they count as given."""
        self.feed_a_while()
        self.watched.kill()
        moved = self.rotate()
        self.start()
        return self.judged_rotation(moved)

    def output_emptied_while_running(self) -> str:
        """What `copytruncate` does."""
        copy = self.out.with_name(f"out.{len(self.pieces)}.copied")
        shutil.copy2(self.out, copy)
        os.truncate(self.out, 0)
        self.pieces.append(copy)
        return self.judged_rotation(copy)

    def rotate(self) -> Path:
        wait_for(self.out.exists, self.patience_s)
        moved = self.out.with_name(f"out.{len(self.pieces)}.rotated")
        self.out.rename(moved)
        self.pieces.append(moved)
        return moved

    def judged_rotation(self, taken: Path) -> str:
        """The output is here and where it was taken to, or the run refuses to go on without what was taken.

        It may do so later, when it starts once more; then the output is put together again of both.
        """
        outcome = self.settle(names=(self.out.name,))
        if outcome == RIGHT:
            self.feed_a_while()
            self.watched.kill()
            self.start()
            outcome = self.settle(names=(self.out.name,))
        if outcome == REFUSED:
            self.pieces.remove(taken)
            since = self.out.read_bytes() if self.out.exists() else b""
            self.out.write_bytes(taken.read_bytes() + since)
            self.start()
            self.settle()
        return outcome

    def output_shortened(self) -> str:
        self.feed_a_while()
        self.watched.kill()
        done = damage.shorten(self.out, self.aside, self.rng)
        self.start()
        return self.judged(done)

    def source_rewritten(self) -> str:
        return self.source_changed("rewrite")

    def source_shortened(self) -> str:
        return self.source_changed("shorten")

    def source_removed(self) -> str:
        return self.source_changed("remove")

    def source_changed(self, how: str) -> str:
        """A file that was read is no longer what it was: that is said, and what was read stays read."""
        counted = self.files_that_count()
        is_dead = self.rng.random() < 0.5
        self._heard = "" if is_dead else self.watched.said()
        if is_dead:
            self.watched.kill()
        path = self.rng.choice(counted)
        match how:
            case "rewrite":
                done = damage.rewrite(path, self.aside, self.rng)
            case "shorten":
                done = damage.shorten(path, self.aside, self.rng)
            case _:
                done = damage.remove(path, self.aside)
        if is_dead:
            self.start()
        outcome = self.judged(done)
        if outcome == RIGHT:
            if not wait_for(lambda: self.is_said(path), self.patience_s):
                self.remarks.append(
                    Fault("silently wrong", 1, f"not a word about it: {done.words}")
                )
            done.undo()
            self.settle()
        return outcome

    def files_that_count(self) -> list[Path]:
        """The files that were read, in micro-batches that count.

        On a busy machine a file may not be read yet, or its results may be there while its micro-batch does not count yet. A change of such
        a file is no change of what was read. Micro-batches count one after the other, so results of later rows tell.
        """
        self.settle()
        there = sorted(path for stream in self.world.in_files() for path in stream.files)
        self.settle()
        return there

    def is_said(self, path: Path) -> bool:
        return path.name in self.watched.said()[len(self._heard) :]

    def disk_full(self) -> str:
        assert self.disk is not None
        if self.disk.needs_restart and self.engine == "spark":
            return RIGHT  # Java itself cannot live with small files
        self.disk.fill()
        if self.disk.needs_restart:
            self.watched.kill()
            self.start()
        self.world.arrive_everywhere(600)
        wait_for(lambda: not self.watched.is_running or self.is_complete(), FULL_S)
        outcome = RIGHT
        if not self.watched.is_running:
            words = ("No space left", "File too large")
            outcome = self.refused(self.watched.ended(), words)
        self.disk.empty()
        if outcome == REFUSED or self.disk.needs_restart:
            self.watched.kill()
            self.start()
        self.settle()
        return outcome

    def second_run(self) -> str:
        """Somebody starts the same run once more: it is refused, and the first goes on."""
        second = Watched(self.folder / "second.log")
        printed = self.folder / "second.out" if self.form == "printed" else None
        second.start(self.arguments(), stdout=printed)
        try:
            if not wait_for(lambda: not second.is_running, REFUSES_S):
                raise Fault("silently wrong", 1, "two runs use one checkpoint")
            second.check_refusal(second.ended(), (self.checkpoint.name,))
        finally:
            second.kill()
        self.settle()
        return REFUSED

    # Queries that come and go

    def query_added(self) -> str:
        query = self.new_query()
        self.put_query(query.name, f"CREATE QUERY {query.name} AS {query.text};\n")
        self.feed_a_while()
        self.await_words(f"query {query.name} registered")
        self.came(query)
        return self.settle()

    def query_edited(self) -> str:
        if not self.later():
            self.query_added()
        old = self.rng.choice(self.later())
        self.replace(old)
        return self.settle()

    def replace(self, old: object) -> None:
        old.asked_to_go = counts(self.world)
        new = self.new_query(old.query.name)
        self.put_query(new.name, f"CREATE QUERY {new.name} AS {new.text};\n")
        self.feed_a_while()
        self.await_words(f"query {new.name} registered")
        old.gone = counts(self.world)
        self.came(new)

    def query_removed(self) -> str:
        if not self.later():
            self.query_added()
        old = self.rng.choice(self.later())
        old.asked_to_go = counts(self.world)
        self.query_file(old.query.name).unlink()
        self.await_words(f"query {old.query.name} removed")
        old.gone = counts(self.world)
        return self.settle()

    def query_broken(self) -> str:
        """A file with a mistake changes nothing, while the run goes on and when it starts again."""
        if not self.later():
            self.query_added()
        old = self.rng.choice(self.later())
        broken = self.rng.choice(
            ("SELEC n FROM a;", f"CREATE QUERY {old.query.name} AS SELECT", "\x00\xff(")
        )
        self.put_query(old.query.name, broken)
        self.await_words("the program has errors")
        self.settle()
        self.watched.kill()
        old.sure = (
            False  # whether a query whose file is broken outlives a restart is not said anywhere
        )
        self.start()
        outcome = self.settle()
        self.replace(old)
        self.settle()
        return outcome

    def query_file(self, name: str) -> Path:
        return self.program / f"{name}.cq"

    def put_query(self, name: str, text: str) -> None:
        aside = self.program / f"{name}.aside"
        aside.write_text(text, encoding="utf-8")
        self._heard = self.watched.said()
        aside.replace(self.query_file(name))

    def await_words(self, words: str) -> None:
        """Wait until the run says something, once more than before.

        Raises:
            Fault: when it does not.
        """
        before = self._heard.count(words) if words.endswith(("registered", "errors")) else 0

        def said() -> bool:
            return self.watched.said().count(words) > before or not self.watched.is_running

        if not wait_for(said, self.patience_s) or not self.watched.is_running:
            self.watched.check_words()
            raise Fault("wedged", 1, f"never said: {words}; {self.watched.said()[-300:]!r}")

    # The end

    def finish(self) -> None:
        """Stop following, let a finite run come to the end of the input, and compare with one that nobody disturbed."""
        self.settle()
        self.watched.stop(self.rng.choice((signal.SIGTERM, signal.SIGINT)))
        engine = self.rng.choice((self.engine, "local"))
        self.watched.start(self.arguments(follow=False, engine=engine), stdout=self.stdout())
        self.await_end(self.watched)
        for name in ("late", "rejects"):
            left_out = (self.folder / name).read_bytes()
            if left_out:
                raise Fault("lost", left_out.count(b"\n"), f"{name}: {left_out[:300]!r}")
        found = self.all_results()
        base = [each.query.name for each in self.standings if each.from_the_start]
        later = {each.query.name for each in self.standings} - set(base)
        expected = self.undisturbed()
        compare_exactly(without(found, later), expected, expected).raise_faults()
        over = {name: stream.latest + 1.0 for name, stream in self.world.streams.items()}
        must: Answer = Counter()
        may: Answer = Counter()
        for standing in self.standings:
            must += must_give(standing, self.world, over)
            may += may_give(standing, self.world, over)
        compare_exactly(without(found, DECIDED_AT_THE_END), must, may).raise_faults()

    def undisturbed(self) -> Answer:
        """What one run gives over all the input when nothing happens to it."""
        whole = self.folder / "whole"
        whole.mkdir()
        self.world.write_all(whole)
        (whole / "program").mkdir()
        shutil.copy2(self.program / "main.cq", whole / "program" / "main.cq")
        alone = Watched(whole / "log")
        arguments = [
            "run",
            str(whole / "program"),
            "--engine",
            "local",
            "--out",
            str(whole / "out.jsonl"),
        ]
        alone.start(arguments)
        try:
            self.await_end(alone)
        finally:
            alone.kill()
        return lines_of((whole / "out.jsonl").read_bytes())

    def await_end(self, process: Watched) -> None:
        if not wait_for(lambda: not process.is_running, 2 * self.patience_s):
            raise Fault("wedged", 1, "a finite run does not end")
        process.check_words()
        code = process.ended()
        if code != 0:
            raise Fault(
                "wedged", 1, f"a finite run ended with code {code}: {process.said()[-500:]!r}"
            )
