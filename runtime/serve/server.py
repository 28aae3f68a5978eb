"""The server process: sockets, start, and a stop that drains what is in flight."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from cqc.runtime.errors import RunError
from cqc.runtime.options import Strategy
from cqc.runtime.serve.access import Gate
from cqc.runtime.serve.app import Api
from cqc.runtime.serve.durable import Durable
from cqc.runtime.serve.events import Watchers
from cqc.runtime.serve.feeding import Feeding
from cqc.runtime.serve.limits import Limits
from cqc.runtime.serve.live_program import LiveProgram
from cqc.runtime.serve.protocol import protocol_with
from cqc.runtime.serve.query_folder import QueryFolder
from cqc.runtime.serve.recovering import Recovering
from cqc.runtime.serve.refusal import Refusal
from cqc.runtime.serve.service import Service
from cqc.runtime.serve.source_feed import SourceFeed
from cqc.runtime.serve.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cqc.compiler import Program
    from cqc.runtime.serve.source_feed import Carrier
    from cqc.runtime.spark.session import Session

_BACKLOG = 2048
_DRAIN_S = 10  # for requests that are still being answered when the service stops
_GRACE_S = 0.4  # for what the engine is doing when the service stops; longer work is given up


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What `cqc serve` says."""

    programs: tuple[str, ...] = ()  # as named by the user: the queries of a folder may change
    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    binds: dict[str, str] = field(default_factory=dict)
    checkpoint: str | None = None
    queries: tuple[str, ...] = ()  # folders of query files
    limits: Limits = field(default_factory=Limits)
    engine: str = "local"  # or "spark": the program's sources come through it
    master: str | None = None
    strategy: Strategy = field(default_factory=Strategy)


class ServiceServer(uvicorn.Server):
    """One service and its listener.

    Args:
        report: told, in one sentence, of what goes wrong while it runs.
        session: a Spark session to use and leave open; one is started where the options ask for Spark.
        say: told now and then how far it is while it reads a large checkpoint.

    Raises:
        RunError: when data is missing, the checkpoint cannot be used, or the address is taken.
    """

    def __init__(
        self,
        program: Program,
        options: ServeOptions,
        report: Callable[[str], None],
        session: Session | None = None,
        say: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self._listener = _listen(options.host, options.port)
        self._report = report
        try:
            with Recovering(self._listener, say) as recovering:
                service, source, folders = _prepare(
                    program, options, session, report, recovering.progress
                )
        except BaseException:
            self._listener.close()
            raise
        self._source = source
        self._watchers = Watchers(options.limits.watchers)
        self.worker = Worker(service, self._watchers.ring, self.stop)
        live = LiveProgram(options.programs, program.catalog)
        self.feeding = Feeding(source, live, folders, report)
        api = Api(self.worker, self._watchers, self.feeding, report)
        gate = Gate(api.app, token=options.token, limits=options.limits)
        super().__init__(
            uvicorn.Config(
                gate,
                http=protocol_with(options.limits.head_seconds, options.limits.watcher_seconds),
                lifespan="off",
                log_config=None,
                log_level="critical",  # what concerns the user is told by `report`
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_DRAIN_S,
                timeout_keep_alive=75,
            )
        )

    @property
    def address(self) -> str:
        """Where the service answers."""
        host, port = self._listener.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the command's business; it calls `stop`."""
        yield

    def stop(self) -> None:
        """Answer what is being answered, take nothing new, and end; work that takes long is not finished."""
        if not self.should_exit:
            halt = threading.Timer(_GRACE_S, self.worker.service.halt)
            halt.daemon = True
            halt.start()
        self.should_exit = True

    def serve_until_stopped(self) -> None:
        """Answer requests until `stop`.

        Raises:
            RunError: when the service had to stop because nothing could be made durable any more, or no input can come.
        """
        try:
            asyncio.run(self._serve_and_feed())
        finally:
            self.worker.stop()
            self._source.close()
            self._listener.close()
        if self.worker.service.failure is not None:
            raise RunError(self.worker.service.failure)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Watchers are sent what there is before connections close."""
        self._watchers.close()
        await super().shutdown(sockets)

    async def _serve_and_feed(self) -> None:
        feeding = asyncio.ensure_future(self.feeding.run(self.worker))
        feeding.add_done_callback(self._feeding_ended)
        try:
            await self.serve(sockets=[self._listener])
        finally:
            self._source.stop()
            feeding.cancel()
            with contextlib.suppress(asyncio.CancelledError, Refusal):
                await feeding

    def _feeding_ended(self, feeding: asyncio.Future[None]) -> None:
        if not feeding.cancelled():
            self.stop()


def _prepare(
    program: Program,
    options: ServeOptions,
    session: Session | None,
    report: Callable[[str], None],
    progress: Callable[[float], None],
) -> tuple[Service, SourceFeed, list[QueryFolder]]:
    """The service as it was, or as it begins, with its tables filled; Spark starts meanwhile."""
    folders = [QueryFolder(Path(each)) for each in options.queries]
    for name, times in Counter(folder.name for folder in folders).items():
        if times > 1:  # nobody could tell whose queries are whose
            raise RunError(f"{times} folders of queries are called {name}; rename all but one")
    carrier = None if options.engine == "local" else _spark(options.master, session)
    try:
        return _fill(program, options, folders, carrier, report, progress)
    except BaseException:
        if carrier is not None:
            carrier.close()
        raise


def _spark(master: str | None, session: Session | None) -> Carrier:
    from cqc.runtime.spark.delivery import Delivery  # Spark is loaded only where it is asked for

    return Delivery(master, session)


def _fill(
    program: Program,
    options: ServeOptions,
    folders: list[QueryFolder],
    carrier: Carrier | None,
    report: Callable[[str], None],
    progress: Callable[[float], None],
) -> tuple[Service, SourceFeed, list[QueryFolder]]:
    durable = None
    if options.checkpoint is not None:
        durable = Durable(Path(options.checkpoint))
        durable.progress = progress
    service = Service(
        program, limits=options.limits, strategy=options.strategy, durable=durable, report=report
    )
    positions = None if durable is None else durable.positions
    spool = None if durable is None else durable.folder / "spool"
    source = SourceFeed(service.program.catalog, options.binds, positions, spool, carrier)
    if durable is None or not durable.has_tables:
        tables = source.tables()
        if tables:
            service.push(tables)
            service.commit()
    for folder in folders:
        folder.expect({entry.owner for entry in service.registry.from_files()})
    return service, source, folders


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(
            _BACKLOG
        )  # at once: whoever connects before the loop runs waits, and is not refused
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise RunError(f"cannot listen on {host} port {port}: {reason}") from error
    return listener
