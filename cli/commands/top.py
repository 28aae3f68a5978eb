"""`cqc top`: what a running service does, live in a terminal, or once as text."""

from __future__ import annotations

import shutil
import sys
import time
from typing import Any

import click

from cqc.cli.interrupts import loading

MISSING = "a live screen needs the package prompt_toolkit: pip install 'cqc[terminal]'. `cqc top --once` needs nothing."
_APART_S = 1.0  # the two looks of --once: rates are of the time between them


@click.command("top")
@click.option(
    "-s",
    "--service",
    "--url",
    "address",
    default="http://127.0.0.1:8765",
    envvar="CQC_SERVICE",
    show_default=True,
    metavar="URL",
)
@click.option("--token-file", type=click.Path(), help="The token (or the variable CQC_TOKEN).")
@click.option(
    "--cacert",
    type=click.Path(),
    envvar="CQC_CACERT",
    help="Trust services with a certificate of this authority (PEM).",
)
@click.option(
    "--interval", type=click.FloatRange(min=0.2), default=2.0, show_default=True, help="Seconds."
)
@click.option("--once", is_flag=True, help="Print one screen and end; so it is without a terminal.")
@click.option(
    "--sort", "sort_name", default="cost", show_default=True, help="busy, cost, results/s, ..."
)
@click.option(
    "--filter", "wanted", default="", help="Only queries with this in name, owner or text."
)
def top_command(
    address: str, interval: float, once: bool, sort_name: str, wanted: str, **given: Any
) -> int:
    """Show streams, alerts that fire, sinks, queries by cost, and results a second of a running service."""
    with loading():
        from cqc.cli.service_connection import Connection
        from cqc.cli.tokens import read_token
        from cqc.cli.top.figures import read_figures
        from cqc.cli.top.page import SORTS, View, page
    keys = {name: key for key, (name, _) in SORTS.items()}
    if sort_name not in keys:
        raise click.UsageError(f"--sort takes {', '.join(keys)}, not {sort_name!r}")
    view = View(sort=keys[sort_name], filter=wanted)
    connection = Connection(address, read_token(given["token_file"]), given["cacert"])
    figures = read_figures(connection)
    if once or not (sys.stdout.isatty() and sys.stdin.isatty()):
        time.sleep(_APART_S)
        figures = read_figures(connection, figures, sort=view.server_sort, search=view.filter)
        width, height = shutil.get_terminal_size((160, 60))
        for line in page(figures, view, width, height, address):
            click.echo(line)
        return 0
    try:
        from cqc.cli.top.live import LiveTop
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "prompt_toolkit":
            raise
        raise click.UsageError(MISSING) from error
    top = LiveTop(connection, address, interval, figures)
    top.view = view
    top.run()
    return 0
