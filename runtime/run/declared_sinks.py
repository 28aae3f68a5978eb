"""The sinks of a run: results that name them go there and nowhere else, and a run that is done waits until they have been taken."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from cqc.runtime.errors import RunError
from cqc.runtime.notices import say
from cqc.runtime.receivers.sink_delivery import SinkDelivery

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from cqc.compiler.meaning.bound import Destinations
    from cqc.compiler.meaning.catalog import SinkDeclaration
    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.options import RunOptions
    from cqc.runtime.receivers.sender import SinkStatus


class DeclaredSinks:
    """Between an engine and the sinks of its program; does nothing where none is declared.

    Args:
        engine: knows where each query's results go.
        options: the program's name, and how long to wait at the end.
        sinks: what is declared, by folded name.
        folder: for what waits, in the checkpoint; None keeps it in memory.
        counts: what the last commit says.
        tell: told what people should know.

    Raises:
        RunError: when a sink cannot be opened.
    """

    def __init__(
        self,
        engine: Engine,
        options: RunOptions,
        sinks: Mapping[str, SinkDeclaration],
        *,
        folder: Path | None = None,
        counts: Mapping[str, Any] | None = None,
        tell: Callable[[str], None] = say,
    ) -> None:
        self._engine, self._options, self._tell = engine, options, tell
        self._folder, self._counts = folder, dict(counts or {})
        self._delivery: SinkDelivery | None = None
        # Where results of queries go: an alert that has left tells at last what is resolved by that.
        self._known: dict[str, Destinations | None] = {}
        self.waiting: Callable[[], None] = lambda: None  # called while a receiver is waited for
        self.declare(sinks)

    def declare(self, sinks: Mapping[str, SinkDeclaration]) -> None:
        """Take in what a program declares, and open what its queries name.

        Raises:
            RunError: when a sink cannot be opened.
        """
        if not sinks:
            return
        if self._delivery is None:
            self._delivery = SinkDelivery(
                self._options.program_name,
                sinks,
                folder=self._folder,
                counts=self._counts,
                say=self._tell,
                waiting=lambda: self.waiting(),
            )
            if self._folder is None:
                self._tell("without --checkpoint, results that wait for a sink are in memory only")
        self._delivery.declare(sinks)
        for declared in sinks.values():
            if declared.type == "spark" and self._options.engine != "spark":
                raise RunError(f"sink {declared.name} is of type spark, which needs --engine spark")
        self._known |= {name: self._engine.node(name).destinations for name in self._engine.queries}
        try:
            self._delivery.open_for(self._known[name] for name in self._engine.queries)
        except BaseException:
            self._delivery.close()
            raise

    def write(self, blocks: list[ResultBlock]) -> list[ResultBlock]:
        """Put results into the spools of their sinks. Returns those that go where the command says."""
        if self._delivery is None:
            return blocks
        running = set(self._engine.queries)
        for block in blocks:
            if block.query in running:
                self._known[block.query] = self._engine.node(block.query).destinations
        rest = self._delivery.write(blocks, self._known.get)
        self._delivery.forget(
            {
                query: self._engine.watermark_of(query)
                for query in self._delivery.numbered
                if query in running
            }
        )
        return rest

    def keep(self) -> None:
        """Put what waits on the disk, before its micro-batch counts."""
        if self._delivery is not None:
            self._delivery.keep()

    def counted(self) -> None:
        """What was written counts: it may be sent."""
        if self._delivery is not None:
            self._delivery.counted()

    def to_json(self) -> dict[str, Any]:
        """What a commit must hold."""
        return self._counts if self._delivery is None else self._delivery.to_json()

    def drain(self) -> None:
        """Wait until everything was sent.

        Raises:
            RunError: when that takes too long, or a sink can take nothing any more.
        """
        delivery, seconds = self._delivery, self._options.drain_s
        began = time.monotonic()
        if delivery is None or delivery.drain(seconds, lambda: self.waiting()):
            return
        left = [each for each in delivery.measure() if each.waiting]
        told = "; ".join(
            f"{each.waiting:,} for sink {each.name} ({each.last_error or 'its receiver is slow'})"
            for each in left
        )
        stays = "they are lost, because there is no --checkpoint"
        if self._folder is not None:
            stays = "they stay in the checkpoint and are sent at the next start"
        is_late = time.monotonic() - began >= seconds
        within = f" within {seconds:g} s" if is_late else ""
        raise RunError(f"results were not sent{within}: {told}; {stays}")

    def measure(self) -> tuple[SinkStatus, ...]:
        """What became of the results of each sink."""
        return () if self._delivery is None else tuple(self._delivery.measure())

    def test(self, name: str) -> str:
        """Send one marked result to a sink, past its spool. Returns its id.

        Raises:
            RunError: when there is no such sink, or it does not take the result.
        """
        if self._delivery is None:
            raise RunError("the program declares no sink")
        return self._delivery.test(name)

    def close(self) -> tuple[SinkStatus, ...]:
        """Stop sending. Returns what became of the results of each sink."""
        if self._delivery is not None:
            self._delivery.close()
        return self.measure()
