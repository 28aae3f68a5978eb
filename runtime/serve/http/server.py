"""The server process: sockets, start, and a stop that drains what is in flight."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import ssl
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.errors import RunError
from cqc.runtime.networks.prompt_http import protocol_with
from cqc.runtime.serve.feeding import Feeding
from cqc.runtime.serve.http.access import Gate
from cqc.runtime.serve.http.app import Api
from cqc.runtime.serve.http.events import Watchers
from cqc.runtime.serve.http.recovering import Recovering
from cqc.runtime.serve.http.tokens import Tokens
from cqc.runtime.serve.journal import Durable
from cqc.runtime.serve.limits import Limits
from cqc.runtime.serve.live_program import LiveProgram
from cqc.runtime.serve.query_folder import QueryFolder
from cqc.runtime.serve.refusal import Refusal
from cqc.runtime.serve.service import Service
from cqc.runtime.serve.source_feed import SourceFeed
from cqc.runtime.serve.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cqc.compiler import Program
    from cqc.compiler.diagnostics.source import SourceFile
    from cqc.runtime.run.program_files import Stamp
    from cqc.runtime.run.range_feed import Carrier
    from cqc.runtime.spark.session.session import Session

_BACKLOG = 2048
_OWN_FILES = 64  # that the service needs beside connections
_TOLD = 20  # different troubles outside of requests
_DRAIN_S = 10  # for requests that are still being answered when the service stops
_GRACE_S = 0.4  # for what the engine is doing when the service stops; longer work is given up


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What `cqc serve` says."""

    programs: tuple[str, ...] = ()  # as named by the user: the queries of a folder may change
    sources: tuple[tuple[SourceFile, str], ...] = ()  # what of them was compiled
    stamp: Stamp | None = None  # of their files, before they were read
    host: str = "127.0.0.1"
    port: int = 8765
    tokens: Tokens = field(default_factory=Tokens)
    hosts: tuple[str, ...] = ()  # names under which it is reached, beside its address
    certificate: str | None = None  # files for TLS
    key: str | None = None
    binds: dict[str, str] = field(default_factory=dict)
    checkpoint: str | None = None
    queries: tuple[str, ...] = ()  # folders of query files
    limits: Limits = field(default_factory=Limits)
    engine: str = "local"  # or "spark": the program's sources come through it
    master: str | None = None
    strategy: Strategy = field(default_factory=Strategy)
    name: str = "cqc"  # of the program, for the ids of results


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
        _check_certificate(options.certificate, options.key)
        self._scheme = "http" if options.certificate is None else "https"
        self._listener = _listen(options.host, options.port)
        self._report = report
        self._troubles: set[str] = set()
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
        live = LiveProgram(options.programs, program.catalog, options.checkpoint, options.stamp)
        if options.sources:
            live.begin(program, options.sources)
            live.keep(options.sources)
        self.feeding = Feeding(source, live, folders, report)
        api = Api(self.worker, self._watchers, self.feeding, report)
        self._views = api.views
        gate = Gate(
            api.app, tokens=options.tokens, limits=options.limits, hosts=_own_names(options)
        )
        super().__init__(
            uvicorn.Config(
                gate,
                http=protocol_with(
                    options.limits.head_seconds,
                    options.limits.watcher_seconds,
                    _room_for(options.limits.connections),
                ),
                ws="none",
                ssl_certfile=options.certificate,
                ssl_keyfile=options.key,
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
        return f"{self._scheme}://{f'[{host}]' if ':' in host else host}:{port}"

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
        asyncio.get_running_loop().set_exception_handler(self._met_trouble)
        feeding = asyncio.ensure_future(self.feeding.run(self.worker))
        feeding.add_done_callback(self._feeding_ended)
        looking = asyncio.ensure_future(self._views.run())
        try:
            await self.serve(sockets=[self._listener])
        finally:
            self._source.stop()
            feeding.cancel()
            looking.cancel()
            with contextlib.suppress(asyncio.CancelledError, Refusal):
                await feeding
            with contextlib.suppress(asyncio.CancelledError, Refusal):
                await looking

    def _met_trouble(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What goes wrong outside of any request, such as a connection that breaks at the wrong moment: told once."""
        del loop
        error = context.get("exception")
        sentence = context["message"] if error is None else f"{context['message']}: {error}"
        if sentence not in self._troubles and len(self._troubles) < _TOLD:
            self._troubles.add(sentence)
            self._report(sentence)

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
        program,
        limits=options.limits,
        strategy=options.strategy,
        durable=durable,
        report=report,
        name=options.name,
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


def _room_for(connections: int) -> int:
    """How many connections there can be; the system is asked for as many files as that takes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OWN_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return max(1, min(connections, soft - _OWN_FILES))
    return connections


def _own_names(options: ServeOptions) -> list[str]:
    """What the service is called beside an address of this machine alone. Without tokens only what was asked for."""
    names = list(options.hosts)
    if options.tokens:
        # Not the full name: to ask for it may take as long as a name server that does not answer.
        names += [options.host, socket.gethostname()]
    return names


def _check_certificate(certificate: str | None, key: str | None) -> None:
    """Load what TLS needs, to find out whether it can be.

    Raises:
        RunError: when it cannot.
    """
    if certificate is None:
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        files = certificate if key is None else f"{certificate} and {key}"
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise RunError(f"no certificate and key in {files}: {reason}") from error


def _no_password() -> str:
    raise ValueError("the key must not need a password")


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named: only then does the event loop switch off Nagle's algorithm on what it accepts, and without that
    # the second part of an answer waits for the client to acknowledge the first, 40 ms on most systems.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
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
