"""`cqc serve`: the engine as a long-running service."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cqc.cli.interrupts import loading
from cqc.cli.options import parse_binds, parse_strategy, strategy_options
from cqc.cli.programs import load_program, program_argument
from cqc.cli.stop_at_once import INTERRUPTED, STOPS, end_on_interrupt

if TYPE_CHECKING:
    from types import FrameType

    from cqc.runtime.serve.server import ServiceServer

TOKEN_VARIABLE = "CQC_TOKEN"
_SWITCH_S = 0.0005


@click.command("serve")
@program_argument
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@click.option(
    "--token-file",
    type=click.Path(),
    help=f"Clients must show the token in this file (or in {TOKEN_VARIABLE}).",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="How the program's sources are read; the answers are the same.",
)
@click.option("--master", help="The Spark master; local mode by default.")
@click.option("--bind", "binds", multiple=True, metavar="NAME=PATH", help="Read NAME from PATH.")
@click.option(
    "--checkpoint", type=click.Path(), help="Survive a crash: queries, history and results."
)
@click.option(
    "--queries",
    multiple=True,
    metavar="DIR",
    help="A folder of .cq files that may change at any time.",
)
@click.option(
    "--max-queries", type=click.IntRange(min=1), help="How many may be registered at once."
)
@click.option("--max-body", type=click.IntRange(min=1), metavar="BYTES", help="Of one request.")
@click.option("--max-rows", type=click.IntRange(min=1), metavar="ROWS", help="Of one answer.")
@click.option(
    "--max-instants", type=click.IntRange(min=1), help="Of EVERY queries, due in one micro-batch."
)
@click.option(
    "--max-results",
    type=click.IntRange(min=1),
    help="Of one query in one micro-batch, beside one a row.",
)
@click.option(
    "--max-kept", type=click.IntRange(min=1), help="Combinations kept for one BEGIN-END query."
)
@click.option("--max-seconds", type=click.FloatRange(min=0.001), help="Of one invocation.")
@click.option(
    "--keep-results", type=click.IntRange(min=1), metavar="BYTES", help="For watchers that return."
)
@strategy_options
def serve_command(programs: tuple[str, ...], binds: tuple[str, ...], **given: Any) -> int:
    """Serve the programs until interrupted: register, invoke, unregister and watch queries over HTTP."""
    token = read_token(given["token_file"])
    _require_token(given["host"], token)
    program = load_program(programs)
    try:
        with loading():
            from cqc.runtime.serve.server import ServeOptions, ServiceServer
    except ImportError as error:
        raise click.UsageError(f"{error.name} is missing: pip install 'cqc[serve]'") from error

    options = ServeOptions(
        programs=programs,
        host=given["host"],
        port=given["port"],
        token=token,
        binds=parse_binds(binds, program),
        checkpoint=given["checkpoint"],
        queries=given["queries"],
        limits=_limits(given),
        engine=given["engine"],
        master=given["master"],
        strategy=parse_strategy(given),
    )
    server = ServiceServer(program, options, lambda text: click.echo(f"warning: {text}", err=True))
    return _serve(server)


def _limits(given: dict[str, Any]) -> Any:
    from cqc.runtime.serve.limits import Limits

    chosen = {
        "queries": given["max_queries"],
        "body_bytes": given["max_body"],
        "result_rows": given["max_rows"],
        "instants": given["max_instants"],
        "batch_results": given["max_results"],
        "kept_rows": given["max_kept"],
        "invoke_seconds": given["max_seconds"],
        "kept_result_bytes": given["keep_results"],
    }
    return Limits(**{name: value for name, value in chosen.items() if value is not None})


def _serve(server: ServiceServer) -> int:
    """Serve until a signal; both Ctrl-C and SIGTERM are a clean stop, and a second one does not wait for it.

    To be ended by SIGTERM is how a service ends when all is well, so it has the exit code 0.
    """
    received: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        received.append(number)
        server.stop()
        end_on_interrupt()

    # The engine's thread may compute for long; the one that answers requests must not wait 5 ms for each of its turns.
    sys.setswitchinterval(_SWITCH_S)
    previous = {number: signal.signal(number, stop) for number in STOPS}
    click.echo(f"serving on {server.address} (Ctrl-C stops)", err=True)
    try:
        server.serve_until_stopped()
    finally:
        for number, action in previous.items():
            signal.signal(number, action)
    click.echo("stopped", err=True)
    return INTERRUPTED if signal.SIGINT in received else 0


def read_token(path: str | None) -> str | None:
    """The token of a file, else of the environment, else none.

    Raises:
        click.UsageError: when the file cannot be read, or the token is empty or holds odd characters.
    """
    if path is None:
        token = os.environ.get(TOKEN_VARIABLE)
        if token is None:
            return None
    else:
        try:
            token = Path(path).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"cannot read a token from {path}") from error
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise click.UsageError("the token must be printable ASCII text without spaces")
    return token


def _require_token(host: str, token: str | None) -> None:
    from cqc.runtime.serve.access import is_loopback

    if token is None and not is_loopback(host):
        raise click.UsageError(
            f"to listen on {host} a token is required: --token-file FILE, or {TOKEN_VARIABLE}"
        )
