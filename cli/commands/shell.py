"""`cqc shell`: statements typed in or piped in, over this process or a running service."""

from __future__ import annotations

import sys
from typing import Any

import click

from cqc.cli.interrupts import loading
from cqc.cli.programs import load_option

SHOWN_ROWS = 40  # of an answer, at a terminal


@click.command("shell")
@click.argument("programs", metavar="[PROGRAM]...", nargs=-1)
@load_option
@click.option("-s", "--url", "--service", "url", metavar="URL", help="Talk to a running service.")
@click.option("--bind", "binds", multiple=True, metavar="NAME=PATH", help="Read NAME from PATH.")
@click.option("--token-file", type=click.Path(), help="The token (or the variable CQC_TOKEN).")
@click.option(
    "--cacert",
    type=click.Path(),
    envvar="CQC_CACERT",
    help="Trust services with a certificate of this authority (PEM).",
)
def shell_command(
    programs: tuple[str, ...], url: str | None, binds: tuple[str, ...], **given: Any
) -> int:
    r"""Type statements and see their answers as tables.

    A SELECT runs over what the programs declare, to the end of its data; CREATE STREAM and the others add to it. With --url
    queries go to a running service. Statements end with `;` and may also come on standard input. \? lists the shell's commands.
    """
    if url is not None and (programs or binds):
        raise click.UsageError("a shell has PROGRAM, or --url and the program of that service")
    with loading():
        from cqc.cli.shell.commands import Shell
        from cqc.cli.shell.loop import pipe_loop, terminal_loop
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if url is not None:
        session: Any = _service(url, given, at_terminal)
    else:
        session = _local(programs, binds)
    shell = Shell(session, SHOWN_ROWS if at_terminal else None)
    return terminal_loop(shell) if at_terminal else pipe_loop(shell, sys.stdin)


def _local(programs: tuple[str, ...], binds: tuple[str, ...]) -> Any:
    from cqc.cli.options import parse_binds
    from cqc.cli.programs import read_sources

    if "-" in programs:
        raise click.UsageError("a shell reads statements from standard input, not a program")
    with loading():
        from cqc.cli.shell.local_session import LocalSession
    session = LocalSession(read_sources(programs), {})
    session.binds.update(parse_binds(binds, session.program))
    return session


def _service(url: str, given: dict[str, Any], at_terminal: bool) -> Any:
    from cqc.cli.service_connection import Connection
    from cqc.cli.shell.service_session import ServiceSession
    from cqc.cli.tokens import read_token

    connection = Connection(url, read_token(given["token_file"]), given["cacert"])
    return ServiceSession(connection, click.echo if at_terminal else None)
