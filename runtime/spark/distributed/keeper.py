"""Processes that keep the engines of cells, one for each partition that a node has.

Spark gives a partition to whichever of its Python workers is free, so an engine that stays in a worker is seldom where it is needed
next: with two workers it was there one time in eight, and each other time all tuples of the cell were read again. A worker
therefore asks the node's keeper of the partition, over a socket in a private folder, and passes on what the keeper wants to know
of the durable state and what it wants to change there.

Keepers are forked, when somebody asks for one, by a process that the daemon of the workers starts before anything else, with
the engine loaded and no threads. All of them end when the last holder of a pipe has gone: the daemon and its workers. Where there
is no keeper, because the session is not ours or its process has died, a worker does the work itself.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.runtime.errors import Halted
from cqc.runtime.spark.distributed.messages.spec import Header, Spec
from cqc.runtime.spark.distributed.messages.stop_flag import StopFlag
from cqc.runtime.spark.distributed.stages.cell import Cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cqc.runtime.spark.distributed.stages.cell import Store

FOLDER = "CQC_KEEPERS"  # by this variable of the environment the daemon tells its workers
_PREFIX = "cqc-keepers-"
_DOOR = "door"  # the socket where keepers are asked for
_MOST = 64  # keepers on a node
_MOST_SPECS = 2
_GONE = "whoever asked has gone"
_PAUSES_S = (0.01, 0.02, 0.05, 0.1, 0.2)  # between tries to reach a keeper


def start() -> None:
    """Start the process that forks keepers; called once, by the daemon."""
    _remove_left_behind()
    folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-")
    ours, theirs = os.pipe()
    try:
        door = _listen(folder, _DOOR)
    except OSError:  # the path is too long for a socket
        shutil.rmtree(folder, ignore_errors=True)
        return
    if os.fork() == 0:
        os.close(theirs)
        _detach()
        _fork_on_demand(folder, door, ours)
    os.close(ours)
    door.close()
    os.environ[FOLDER] = folder


def process(
    partition: int,
    digest: str,
    spec: Path,
    place: tuple[int, int],
    header: Header,
    blobs: Sequence[tuple[int, bytes]],
    store: Store,
) -> bytes | None:
    """Let the keeper of a partition do the work of one of its cells.

    Args:
        partition: of Spark's shuffle.
        digest: of what is to be done.
        spec: the file that says it.
        place: group and cell.
        header: of the micro-batch.
        blobs: tuples with the origin of each blob.
        store: what is durable of the cell.

    Returns:
        What the cell found, packed; None when there is no keeper.
    """
    folder = os.environ.get(FOLDER)
    if folder is None:
        return None
    try:
        with _connected(folder, str(partition % _MOST)) as connection:
            connection.send((digest, str(spec), place, header.to_json(), blobs, store.record()))
            while (said := connection.recv()) is None:
                connection.send(list(store.entries()))
    except (OSError, EOFError):
        return None
    kept: _Kept = said
    store.set_record(kept.record)
    for batch, blob in kept.put.items():
        store.put(batch, blob)
    for batch in kept.removed:
        store.remove(batch)
    return kept.found


@dataclass(slots=True)
class _Kept:
    """What a cell found, and what is to be changed of its durable state."""

    found: bytes = b""
    record: str = ""
    put: dict[int, bytes] = field(default_factory=dict)
    removed: list[int] = field(default_factory=list)


class _Distant:
    """What is durable of a cell, on the other end of a connection."""

    def __init__(self, connection: Connection, text: str | None) -> None:
        self._connection = connection
        self._text = text
        self.kept = _Kept()

    def record(self) -> str | None:
        return self._text

    def entries(self) -> Iterable[tuple[int, bytes]]:
        self._connection.send(None)
        found: list[tuple[int, bytes]] = self._connection.recv()
        return [*found, *self.kept.put.items()]

    def set_record(self, text: str) -> None:
        self.kept.record = text

    def put(self, batch: int, blob: bytes) -> None:
        self.kept.put[batch] = blob

    def remove(self, batch: int) -> None:
        self.kept.removed.append(batch)


class _Keeper:
    """The cells of one partition.

    Args:
        life: of the pipe whose end says that nobody is left who could ask.
    """

    def __init__(self, life: int) -> None:
        self._cells: dict[str, Cells] = {}
        self._life = life

    def answer(self, connection: Connection) -> None:
        """Do the work of one cell, as long as there is somebody who wants to know."""
        digest, spec, place, header, blobs, text = connection.recv()
        if digest not in self._cells:
            while len(self._cells) >= _MOST_SPECS:
                self._cells.pop(next(iter(self._cells)))
            self._cells[digest] = Cells(Spec.unpack(Path(spec).read_bytes(), digest))
        store = _Distant(connection, text)
        cells = self._cells[digest]
        cells.asks = self._asks(connection, StopFlag(Path(spec)))
        with suppress(
            Halted
        ):  # whoever asked has gone, or will hear why from the end of the connection
            output = cells.process(place, Header.from_json(header), blobs, store)
            store.kept.found = output.pack()
            connection.send(store.kept)

    def _asks(self, connection: Connection, flag: StopFlag) -> Callable[[], str]:
        """Whether the run was stopped, or the worker that waits for an answer has gone.

        Spark ends the workers of a run that has ended, by whatever way, and nobody says anything while a cell works: what can be
        read is the end.
        """
        looks = select.poll()
        for each in (connection.fileno(), self._life):
            looks.register(each, select.POLLIN | select.POLLHUP | select.POLLERR)
        return lambda: _GONE if looks.poll(0) else flag()


def _fork_on_demand(folder: str, door: socket.socket, life: int) -> None:
    """Fork a keeper for whoever asks for one that is not there."""
    for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the end of the pipe is what ends it
    keepers: dict[str, int] = {}

    def answer(connection: Connection) -> None:
        name: str = connection.recv()
        if name not in keepers or not _lives(keepers[name]):
            (Path(folder) / name).unlink(missing_ok=True)
            listening = _listen(folder, name)
            child = os.fork()
            if child == 0:
                try:
                    door.close()
                    connection.close()
                    _serve(listening, life, _Keeper(life).answer)
                finally:
                    os._exit(1)  # what is above on the stack belongs to the parent
            listening.close()
            keepers[name] = child
        connection.send(None)

    try:
        _serve(door, life, answer)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)


def _serve(listening: socket.socket, life: int, answer: Callable[[Connection], None]) -> None:
    """Answer one connection after another until nobody is left who could ask.

    An error ends the process: whoever asked then does the work itself, and meets the error where it can be told.
    """
    while life not in wait([listening, life]):
        accepted, _ = listening.accept()
        with Connection(accepted.detach()) as connection, suppress(EOFError, ConnectionError):
            answer(connection)


def _connected(folder: str, name: str) -> Connection:
    """A connection to a keeper, which is started if need be.

    On a busy machine one that is there may not be reached at once, and without it the whole cell would be read again; so it is
    tried a few times, with growing pauses.

    Raises:
        OSError: when there is nobody.
    """
    for pause_s in _PAUSES_S:
        try:
            return _connected_now(folder, name)
        except FileNotFoundError:  # the folder has gone, and with it all keepers
            raise
        except OSError:
            time.sleep(pause_s)
    return _connected_now(folder, name)


def _connected_now(folder: str, name: str) -> Connection:
    try:
        return _connect(folder, name)
    except OSError:
        with _connect(folder, _DOOR) as door:
            door.send(name)
            door.recv()
        return _connect(folder, name)


def _connect(folder: str, name: str) -> Connection:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.connect(str(Path(folder) / name))
    except OSError:
        made.close()
        raise
    return Connection(made.detach())


def _listen(folder: str, name: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(str(Path(folder) / name))
    made.listen(_MOST)
    return made


def _remove_left_behind() -> None:
    """Remove the folders of daemons whose keepers were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not owner.isdigit() or folder.lstat().st_uid != os.getuid():
            continue  # nobody is asked to remove what is another user's
        if not _lives(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _detach() -> None:
    """Let go of what belongs to the daemon: Spark waits for the end of its output."""
    with Path(os.devnull).open("r+b") as nothing:
        for number in (0, 1):
            os.dup2(nothing.fileno(), number)
