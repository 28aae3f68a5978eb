"""`cqc sink test NAME`: does the receiver of a sink take what it is sent?"""

from __future__ import annotations

import urllib.parse
from typing import Any

import click

from cqc.cli.commands.client import service_options
from cqc.cli.service_connection import Connection
from cqc.cli.tokens import read_token


@click.group("sink")
def sink_command() -> None:
    """Try a sink."""


@sink_command.command("test")
@click.argument("name")
@click.argument("programs", nargs=-1, metavar="[PROGRAM]...")
@service_options
def test_command(name: str, programs: tuple[str, ...], **given: Any) -> int:
    """Send one marked test result to the sink NAME.

    Of a running service, or, with programs, of these: then no service is needed. Of files and tables only the connection is tried.
    """
    id_ = _of_programs(name, programs) if programs else _of_service(name, given)
    click.echo(f"sink {name} took the test result {id_}")
    return 0


def _of_service(name: str, given: dict[str, Any]) -> str:
    connection = Connection(given["address"], read_token(given["token_file"]), given["cacert"])
    path = f"/sinks/{urllib.parse.quote(name, safe='')}/test"
    return str(connection.send("POST", path, {})["id"])


def _of_programs(name: str, programs: tuple[str, ...]) -> str:
    from cqc.cli.programs import load_program
    from cqc.compiler.meaning.catalog import fold
    from cqc.runtime.errors import RunError
    from cqc.runtime.options import RunOptions
    from cqc.runtime.receivers.sink_test import send_test

    sinks = load_program(programs).catalog.sinks
    declared = sinks.get(fold(name))
    if declared is None:
        known = ", ".join(each.name for each in sinks.values())
        raise RunError(
            f"there is no sink {name} (there are: {known})"
            if known
            else "the program declares no sink"
        )
    return send_test(RunOptions(programs=programs).program_name, declared)
