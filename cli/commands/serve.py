"""`cqc serve`: the engine as a long-running service."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from cqc.cli.interrupts import loading
from cqc.cli.options import parse_binds, parse_strategy, strategy_options
from cqc.cli.programs import load_again, program_argument
from cqc.cli.stop_at_once import INTERRUPTED, STOPS, end_on_interrupt
from cqc.cli.tokens import (
    READ_TOKEN_VARIABLE,
    TOKEN_VARIABLE,
    USER_TOKENS_VARIABLE,
    read_tokens,
)
from cqc.runtime.options import RunOptions
from cqc.runtime.run.program_files import stamp_of

if TYPE_CHECKING:
    from types import FrameType

    from cqc.runtime.serve.http.server import ServiceServer
    from cqc.runtime.serve.http.tokens import Tokens

_SWITCH_S = 0.0005


@click.command("serve")
@program_argument
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@click.option(
    "--token-file",
    type=click.Path(),
    help=f"Whoever shows the token in this file (or in {TOKEN_VARIABLE}) may do everything.",
)
@click.option(
    "--user-tokens",
    type=click.Path(),
    help=f"A file with a line NAME=TOKEN for each user (or {USER_TOKENS_VARIABLE}): register, push, remove their own.",
)
@click.option(
    "--read-token-file",
    type=click.Path(),
    help=f"A token (or {READ_TOKEN_VARIABLE}) to list, invoke and watch, and nothing else.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Another name under which clients reach the service (repeatable).",
)
@click.option("--cert", type=click.Path(), help="A certificate (PEM): HTTPS instead of HTTP.")
@click.option("--key", type=click.Path(), help="The key of --cert, when it is in another file.")
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
    "--max-queries", type=click.IntRange(min=1), help="How many queries may be registered at once."
)
@click.option(
    "--max-body",
    type=click.IntRange(min=1),
    metavar="BYTES",
    help="The largest body of one request.",
)
@click.option(
    "--max-body-rows",
    type=click.IntRange(min=1),
    metavar="ROWS",
    help="The most rows in one request.",
)
@click.option(
    "--max-rows", type=click.IntRange(min=1), metavar="ROWS", help="The most rows in one answer."
)
@click.option(
    "--max-instants",
    type=click.IntRange(min=1),
    help="The most instants that EVERY queries may answer in one micro-batch.",
)
@click.option(
    "--max-results",
    type=click.IntRange(min=1),
    help="How many results more than rows one query may have in one micro-batch.",
)
@click.option(
    "--max-kept",
    type=click.IntRange(min=1),
    help="The most combinations kept for one BEGIN-END query.",
)
@click.option(
    "--query-seconds",
    type=click.FloatRange(min=0.001),
    help="Stop a query that one micro-batch works for longer than this (10).",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(min=0.001),
    help="The longest time that one invocation may take.",
)
@click.option(
    "--keep-results",
    type=click.IntRange(min=1),
    metavar="BYTES",
    help="How many results to keep for watchers that come back.",
)
@click.option(
    "--name", help="The name of the program in the ids of results; its first file's by default."
)
@strategy_options
def serve_command(programs: tuple[str, ...], binds: tuple[str, ...], **given: Any) -> int:
    """Serve the programs until interrupted: register, invoke, unregister and watch queries over HTTP."""
    if given["key"] is not None and given["cert"] is None:
        raise click.UsageError("--key needs --cert")
    tokens = read_tokens(given["token_file"], given["user_tokens"], given["read_token_file"])
    _require_token(given["host"], tokens)
    stamp = stamp_of(programs)
    program, sources = load_again(programs, given["checkpoint"], is_live=True)
    try:
        with loading():
            from cqc.runtime.serve.http.server import ServeOptions, ServiceServer
    except ImportError as error:
        raise click.UsageError(f"{error.name} is missing: pip install 'cqc[serve]'") from error

    options = ServeOptions(
        programs=programs,
        sources=tuple(sources),
        stamp=stamp,
        host=given["host"],
        port=given["port"],
        tokens=tokens,
        hosts=given["hosts"],
        certificate=given["cert"],
        key=given["key"],
        binds=parse_binds(binds, program),
        checkpoint=given["checkpoint"],
        queries=given["queries"],
        limits=_limits(given),
        engine=given["engine"],
        master=given["master"],
        strategy=parse_strategy(given),
        name=RunOptions(programs=programs, name=given["name"]).program_name,
    )
    server = ServiceServer(
        program,
        options,
        lambda text: click.echo(f"warning: {text}", err=True),
        say=lambda text: click.echo(text, err=True),
    )
    return _serve(server)


def _limits(given: dict[str, Any]) -> Any:
    from cqc.runtime.serve.limits import Limits

    chosen = {
        "queries": given["max_queries"],
        "body_bytes": given["max_body"],
        "body_rows": given["max_body_rows"],
        "result_rows": given["max_rows"],
        "instants": given["max_instants"],
        "batch_results": given["max_results"],
        "kept_rows": given["max_kept"],
        "query_seconds": given["query_seconds"],
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


def _require_token(host: str, tokens: Tokens) -> None:
    from cqc.runtime.networks.hosts import is_loopback

    if not tokens and not is_loopback(host):
        raise click.UsageError(
            f"to listen on {host} a token is required: --token-file FILE, or {TOKEN_VARIABLE}"
        )
