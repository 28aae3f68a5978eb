"""From results to sinks: who sends where, with which ids, and what of it counts.

A micro-batch's results are rendered once for all their sinks, get their ids and numbers, and wait in the spool of each sink. `keep` puts
them on the disk before the micro-batch counts, `counted` lets the senders have them. What a commit must hold is `to_json`: the last
number of each spool, and the numbers of equal results.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.sink_types import SPOOL_BYTES, bytes_of
from cqc.runtime.deliver.results import merge
from cqc.runtime.errors import RunError
from cqc.runtime.files.names import folder_name
from cqc.runtime.files.private_files import private_folder
from cqc.runtime.files.sealed import read_sealed_json, write_sealed_json
from cqc.runtime.receivers.kinds import open_receiver
from cqc.runtime.receivers.receiver import Columns, Setting
from cqc.runtime.receivers.result_ids import ResultIds
from cqc.runtime.receivers.secret_values import revealed, without_secrets
from cqc.runtime.receivers.sender import Place, Sender, SinkStatus
from cqc.runtime.receivers.sent_rows import SentRows
from cqc.runtime.receivers.sink_test import send_test
from cqc.runtime.receivers.spool import FileSpool, MemorySpool
from cqc.runtime.sinks.lines import OPEN_LINES, line_arrays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Destinations
    from cqc.compiler.meaning.catalog import SinkDeclaration
    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.receivers.spool import Spool

_ROOM_S = 0.1  # how long to wait at a time for room in a spool
_SAY_AGAIN_S = 30.0


class SinkDelivery:
    """The sinks of a running program.

    Args:
        program: its name, part of every id.
        sinks: what is declared, by folded name.
        folder: for spools, in the checkpoint; None keeps them in memory.
        counts: what the last commit says (`to_json`); None for a new run.
        say: told what people should know.
        waiting: called while a full spool holds the engine back; may raise to stop.
    """

    def __init__(
        self,
        program: str,
        sinks: Mapping[str, SinkDeclaration],
        *,
        folder: Path | None = None,
        counts: Mapping[str, Any] | None = None,
        say: Callable[[str], None] = lambda text: None,
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        self._program, self._folder = program, folder
        self._say, self._waiting = say, waiting
        self._counts = dict(counts or {})
        self._ids = ResultIds(program)
        self._ids.restore(self._counts.get("ids", {}))
        self._run = self._run_of_folder()
        self._declared: dict[str, SinkDeclaration] = {}
        self._spools: dict[str, Spool] = {}
        self._senders: dict[str, Sender] = {}
        self._watermarks: dict[str, int] = {}
        self._sinks = dict(sinks)
        self._said: dict[str, float] = {}  # when something was said of a full spool
        for name, declared in sinks.items():
            if name in self._counts.get("last", {}):  # results may wait, whoever found them
                self.open(declared)

    @property
    def names(self) -> list[str]:
        """The sinks that are open."""
        return [each.name for each in self._declared.values()]

    def declare(self, sinks: Mapping[str, SinkDeclaration]) -> None:
        """Take in sinks of a program that has changed; those that are open stay as they are."""
        self._sinks |= {name: each for name, each in sinks.items() if name not in self._declared}

    def open_for(self, destinations: Iterable[Destinations | None]) -> None:
        """Open the sinks that queries name, before the first result: what is wrong with one is told at the start.

        Raises:
            RunError: when a spool or an option cannot be used.
        """
        for name in names_of(destinations):
            self.open(self._sinks[name])

    def open(self, declared: SinkDeclaration) -> None:
        """Open a sink.

        Raises:
            RunError: when its spool or its options cannot be used.
        """
        name = fold(declared.name)
        if name in self._declared:
            return
        options = revealed(declared.options, declared.folder)
        own = None if self._folder is None else self._folder / folder_name(name)
        status = SinkStatus(declared.name, declared.type)
        spool = self._open_spool(name, own, options)
        setting = Setting(
            declared.name,
            options,
            self._program,
            declared.folder,
            None if own is None else str(own),
            self._run,
        )
        letters = options.get("dead_letters")
        dead = None if own is None else own / "dead-letters.jsonl"
        self._declared[name], self._spools[name] = declared, spool
        self._senders[name] = Sender(
            status,
            spool,
            lambda: open_receiver(declared.type, setting),
            Place(None if own is None else own / "sent.json"),
            retries=int(options["retries"]) if "retries" in options else None,
            dead_letters=dead if letters is None else Path(declared.folder) / letters,
            say=self._say,
            hide=lambda text: without_secrets(text, declared.options, options),
        )
        self._senders[name].start()

    def write(
        self, blocks: Sequence[ResultBlock], destinations: Callable[[str], Destinations | None]
    ) -> list[ResultBlock]:
        """Put the results of a micro-batch into the spools of their sinks. Returns those that go where the command says."""
        sent: list[ResultBlock] = []
        rest: list[ResultBlock] = []
        given: dict[str, Destinations] = {}
        for block in blocks:
            to = destinations(block.query)
            if to is None or not to.into:
                rest.append(block)
            else:
                given[block.query] = to
                sent.append(block)
        if any(map(len, sent)):
            self._spool([block for block in sent if len(block)], given)
        return rest

    def forget(self, watermarks_us: Mapping[str, int]) -> None:
        """Take the watermarks of queries with kept numbers after a micro-batch: times below them are past in the next one."""
        self._ids.forget(self._watermarks)
        self._watermarks = dict(watermarks_us)

    @property
    def numbered(self) -> list[str]:
        """The queries of which equal results are counted."""
        return self._ids.queries

    def keep(self) -> None:
        """Put what waits on the disk, before its micro-batch counts.

        Raises:
            RunError: when that fails.
        """
        try:
            for spool in self._spools.values():
                spool.sync()
        except OSError as error:
            raise RunError(
                f"cannot write the spool of a sink: {error.strerror or error}"
            ) from error

    def counted(self) -> None:
        """What was written counts now: it may be sent."""
        for spool in self._spools.values():
            spool.release()

    def to_json(self) -> dict[str, Any]:
        """What a commit holds."""
        last = {name: spool.last for name, spool in self._spools.items()}
        return {"last": {**self._counts.get("last", {}), **last}, "ids": self._ids.to_json()}

    def measure(self) -> list[SinkStatus]:
        """What became of the results of each sink."""
        return [sender.measure() for sender in self._senders.values()]

    def test(self, name: str) -> str:
        """Send one marked result to a sink, past its spool. Returns its id.

        Raises:
            RunError: when there is no such sink, or it does not take the result.
        """
        declared = self._sinks.get(fold(name))
        if declared is None:
            known = ", ".join(each.name for each in self._sinks.values())
            raise RunError(f"there is no sink {name} (there are: {known})")
        return send_test(self._program, declared)

    def drain(self, seconds: float, waiting: Callable[[], None] = lambda: None) -> bool:
        """Wait until every spool is empty, or for so long. Returns whether they are."""
        until = time.monotonic() + seconds
        while not all(each.is_done for each in self._senders.values()):
            if time.monotonic() > until or all(
                each.is_done or each.failure is not None for each in self._senders.values()
            ):
                return False
            waiting()
            time.sleep(0.02)
        return True

    def close(self) -> None:
        """Stop sending. What still waits stays where there is a checkpoint, and is lost where there is none."""
        for sender in self._senders.values():
            sender.end()
        for spool in self._spools.values():
            spool.close()

    def _open_spool(self, name: str, own: Path | None, options: Mapping[str, str]) -> Spool:
        most = bytes_of(options.get("spool", "")) or SPOOL_BYTES
        if own is None:
            return MemorySpool(most)
        try:
            private_folder(own)
            return FileSpool(own / "spool", int(self._counts.get("last", {}).get(name, 0)), most)
        except OSError as error:
            raise RunError(f"cannot use {own} for a sink: {error.strerror or error}") from error

    def _run_of_folder(self) -> str:
        """A text that stays the same as long as the folder is there, and so as long as results are numbered on."""
        if self._folder is None:
            return os.urandom(8).hex()
        try:
            private_folder(self._folder)
            path = self._folder / "run.json"
            if not path.exists() or not self._counts:
                write_sealed_json(path, {"run": os.urandom(8).hex()})
            return str(read_sealed_json(path)["run"])
        except OSError as error:
            raise RunError(f"cannot use {self._folder}: {error.strerror or error}") from error

    def _spool(self, blocks: Sequence[ResultBlock], given: Mapping[str, Destinations]) -> None:
        ids = self._ids.number(blocks)
        block_of, _ = merge(blocks)
        queries = [(block.query, _columns(block)) for block in blocks]
        tails = pa.array([_tail(given[block.query]) for block in blocks], pa.string())
        sinks = self._sinks_of([given[block.query] for block in blocks])
        begin = 0
        for opened in line_arrays(blocks, OPEN_LINES):
            of, own_ids = block_of[begin : begin + len(opened)], ids.slice(begin, len(opened))
            begin += len(opened)
            lines = pc.binary_join_element_wise(
                opened, tails.take(pa.array(of)), ', "id": "', own_ids, '"}', ""
            )
            rows = SentRows(np.zeros(len(of), np.int64), own_ids, lines, of, queries)
            for name, takes in sinks.items():
                own = rows if takes.all() else rows.take(np.flatnonzero(takes[of]))
                self._append(name, own)

    def _sinks_of(self, given: Sequence[Destinations]) -> dict[str, NDArray[np.bool_]]:
        """For each sink which blocks go there."""
        sinks: dict[str, NDArray[np.bool_]] = {}
        for at, to in enumerate(given):
            for sink in map(fold, to.into):
                if sink not in sinks:
                    self.open(self._sinks[sink])
                    sinks[sink] = np.zeros(len(given), np.bool_)
                sinks[sink][at] = True
        return sinks

    def _append(self, name: str, rows: SentRows) -> None:
        if not len(rows):
            return
        self._make_room(name)
        spool = self._spools[name]
        rows = rows.numbered(spool.last + 1)
        try:
            spool.append(rows)
        except OSError as error:
            raise RunError(
                f"cannot write the spool of sink {self._declared[name].name}: {error.strerror or error}"
            ) from error

    def _make_room(self, name: str) -> None:
        """Wait for room in a full spool, or drop what is oldest, as the sink says."""
        spool, sender = self._spools[name], self._senders[name]
        if not spool.is_full:
            return
        declared = self._declared[name]
        full = f"the spool of sink {declared.name} is full"
        if declared.options.get("when_full", "block").lower() == "drop_oldest":
            gone = spool.drop_oldest()
            sender.skip_to(gone)
            self._say_at_times(name, f"{full}: its oldest results are dropped")
            return
        while spool.is_full and sender.failure is None:
            self._say_at_times(name, f"{full}: the run waits for its receiver")
            self._waiting()
            spool.wait_for_room(_ROOM_S)
        if sender.failure is not None:
            raise RunError(f"sink {declared.name} cannot go on: {sender.status.last_error}")

    def _say_at_times(self, name: str, text: str) -> None:
        """Say something of a sink now, and again only after a while, however often it happens."""
        if time.monotonic() - self._said.get(name, 0.0) > _SAY_AGAIN_S:
            self._said[name] = time.monotonic()
            self._say(text)


def _columns(block: ResultBlock) -> Columns:
    return Columns(
        block.names,
        tuple(str(column.type.value) for column in block.columns),
        str(block.time_type.value),
    )


def _tail(given: Destinations) -> str:
    """The user's own texts, as they stand in a line."""
    if not given.texts:
        return ""
    return f', "with": {json.dumps(dict(given.texts), ensure_ascii=False)}'


def names_of(destinations: Iterable[Destinations | None]) -> list[str]:
    """The folded names of sinks that are written to, each once."""
    named = [fold(name) for each in destinations if each is not None for name in each.into]
    return list(dict.fromkeys(named))
