"""The client of a running service: register, queries, invoke, unregister, watch.

Tables on a terminal, `--format json` for programs. Nothing here needs more than Python's own library.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cqc.cli.service_connection import Connection, ServiceError
from cqc.cli.tables import aligned, cell
from cqc.cli.tokens import read_token

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_ADDRESS = "http://127.0.0.1:8765"
_GIVE_UP_S = 120.0  # a service that restarts may read its checkpoint for a while
_LONGEST_PAUSE_S = 2.0
_WIDEST_TEXT = 60


def service_options(command: Any) -> Any:  # Any: click's decorators are untyped here
    """Where the service is, and how answers are shown."""
    for option in (
        click.option(
            "-s",
            "--service",
            "--url",
            "address",
            default=DEFAULT_ADDRESS,
            envvar="CQC_SERVICE",
            show_default=True,
            metavar="URL",
        ),
        click.option(
            "--token-file", type=click.Path(), help="The token (or the variable CQC_TOKEN)."
        ),
        click.option(
            "--cacert",
            type=click.Path(),
            envvar="CQC_CACERT",
            help="Trust services with a certificate of this authority (PEM).",
        ),
        click.option("--format", "form", type=click.Choice(["table", "json"]), default="table"),
    ):
        command = option(command)
    return command


def _connect(given: dict[str, Any]) -> Connection:
    return Connection(given["address"], read_token(given["token_file"]), given["cacert"])


@click.command("register")
@click.argument("text", metavar="TEXT|@FILE|-")
@click.option("--name", help="What to call it; the next free q1, q2, ... by default.")
@click.option("--owner", help="Who it is for.")
@click.option(
    "--replace", is_flag=True, help="Take the place of the query of this name, if there is one."
)
@service_options
def register_command(
    text: str, name: str | None, owner: str | None, replace: bool, form: str, **given: Any
) -> int:
    """Register a query: its text, @FILE to read it from a file, or - for standard input."""
    query = _text_of(text)
    body = {"text": query, "name": name, "owner": owner, "replace": replace}
    answer = _connect(given).send("POST", "/queries", body)
    if form == "json":
        click.echo(json.dumps(answer))
        return 0
    how = "invoke" if answer["kind"] == "pull" else "watch"  # EVERY delivers by itself
    click.echo(f"registered {answer['name']} (cqc {how} {answer['name']})")
    for warning in answer.get("warnings", ()):
        click.echo(f"warning: {warning}", err=True)
    return 0


def _path_of(name: str) -> str:
    # A terminal may send bytes that are no text; the service says that it has no such query.
    return f"/queries/{urllib.parse.quote(name, safe='', errors='surrogateescape')}"


def _text_of(argument: str) -> str:
    if argument == "-":
        return sys.stdin.read()
    if not argument.startswith("@"):
        return argument
    try:
        return Path(argument[1:]).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"cannot read {argument[1:]}: {error}") from error


@click.command("queries")
@service_options
def queries_command(form: str, **given: Any) -> int:
    """List the queries of a service with their owner, age, results and cost."""
    queries = _connect(given).send("GET", "/queries")["queries"]
    if form == "json":
        for query in queries:
            click.echo(json.dumps(query))
        return 0
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "name": lambda query: query["name"],
        "kind": lambda query: "stopped" if query.get("stopped") else query["kind"],
        "owner": lambda query: query["owner"],
        "age": lambda query: _duration(query["age_seconds"]),
        "results": lambda query: f"{query['results']:,}",
        "invoked": lambda query: f"{query['invocations']:,}",
        "cost": lambda query: f"{query['cost_seconds'] * 1000:,.1f} ms",
        "kept": lambda query: _size(query.get("kept_bytes", 0)),
        "text": lambda query: _one_line(query["text"]),
    }
    rows = [[show(query) for show in columns.values()] for query in queries]
    right = [title in ("age", "results", "invoked", "cost", "kept") for title in columns]
    click.echo("\n".join(aligned(list(columns), rows, right)))
    for query in queries:
        if query.get("stopped"):
            click.echo(f"warning: query {query['name']} was stopped: {query['stopped']}", err=True)
    return 0


@click.command("sinks")
@service_options
def sinks_command(form: str, **given: Any) -> int:
    """List the sinks of a service: what was sent, what waits, what went wrong."""
    sinks = _connect(given).send("GET", "/sinks")["sinks"]
    if form == "json":
        for sink in sinks:
            click.echo(json.dumps(sink))
        return 0
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "name": lambda sink: sink["name"],
        "type": lambda sink: sink["type"],
        "state": lambda sink: "failing" if sink["is_failing"] else "ok",
        "sent": lambda sink: f"{sink['sent']:,}",
        "waiting": lambda sink: f"{sink['waiting']:,}",
        "bytes": lambda sink: _size(sink["waiting_bytes"]),
        "refused": lambda sink: f"{sink['dead']:,}",
        "dropped": lambda sink: f"{sink['dropped']:,}",
        "last error": lambda sink: _one_line(sink["last_error"]),
    }
    rows = [[show(sink) for show in columns.values()] for sink in sinks]
    right = [title in ("sent", "waiting", "bytes", "refused", "dropped") for title in columns]
    click.echo("\n".join(aligned(list(columns), rows, right)))
    return 0


@click.command("alerts")
@click.argument("name", required=False)
@service_options
def alerts_command(form: str, name: str | None, **given: Any) -> int:
    """List the alerts of a service, and the keys that are pending or firing: of all of them, or of the one that is named."""
    path = "/alerts" if name is None else f"/alerts?{urllib.parse.urlencode({'query': name})}"
    found = _connect(given).send("GET", path)
    alerts = [each for each in found["alerts"] if name is None or each["name"] == name]
    if name is not None and not alerts:
        raise ServiceError(f"there is no alert {name}")
    if form == "json":
        for each in found["keys"]:
            click.echo(json.dumps(each, ensure_ascii=False))
        return 0
    rows = [
        [each["name"], each["severity"] or "", *(f"{each[count]:,}" for count in _COUNTED)]
        for each in alerts
    ]
    click.echo("\n".join(aligned(["alert", "severity", *_COUNTED], rows, [False] * 2 + [True] * 3)))
    if found["keys"]:
        click.echo("")
        keys = [
            [
                each["alert"],
                each["state"],
                ", ".join(f"{part} = {value}" for part, value in each["key"].items()),
                str(each["since"]),
                str(each["last"]),
                f"{each['count']:,}",
            ]
            for each in found["keys"]
        ]
        titles = ["alert", "state", "key", "since", "last seen", "count"]
        click.echo("\n".join(aligned(titles, keys, [False] * 5 + [True])))
    return 0


_COUNTED = ("pending", "firing", "results")


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDEST_TEXT else line[: _WIDEST_TEXT - 1] + "…"


def _size(count: int) -> str:
    return f"{count / 1024:,.0f} KB" if count < 1024 * 1024 else f"{count / 1024 / 1024:,.1f} MB"


def _duration(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


@click.command("invoke")
@click.argument("name")
@click.option("--at", metavar="INSTANT", help="The instant asked about; the latest by default.")
@service_options
def invoke_command(name: str, at: str | None, form: str, **given: Any) -> int:
    """Ask a query with BEGIN-END for its value."""
    path = f"{_path_of(name)}/invoke"
    if at is not None:
        path += "?" + urllib.parse.urlencode({"at": at})
    answer = _connect(given).send("GET", path)
    for warning in answer["warnings"]:
        click.echo(f"warning: {warning}", err=True)
    if form == "json":
        for row in answer["rows"]:
            click.echo(
                json.dumps(
                    {"query": answer["query"], "at": answer["at"], "row": row}, ensure_ascii=False
                )
            )
        return 0
    titles = [column["name"] for column in answer["columns"]]
    right = [column["type"] in ("BIGINT", "DOUBLE") for column in answer["columns"]]
    rows = [[cell(row[title]) for title in titles] for row in answer["rows"]]
    click.echo(f"{answer['query']} at {cell(answer['at'])}")
    click.echo("\n".join(aligned(titles, rows, right)))
    return 0


@click.command("unregister")
@click.argument("name")
@service_options
def unregister_command(name: str, form: str, **given: Any) -> int:
    """Remove a query."""
    connection = _connect(given)
    connection.send("DELETE", _path_of(name))
    click.echo(json.dumps({"unregistered": name}) if form == "json" else f"unregistered {name}")
    return 0


@click.command("watch")
@click.argument("name", required=False)
@click.option("--new", is_flag=True, help="Only results from now on, not those that are kept.")
@click.option("--limit", type=click.IntRange(min=1), help="Stop after so many results.")
@service_options
def watch_command(
    name: str | None,
    new: bool,
    limit: int | None,
    form: str,
    **given: Any,
) -> int:
    """Follow the results of one query, or of all: first those that are kept, then new ones as they come."""
    path = "/results" if name is None else f"{_path_of(name)}/results"
    connection = _connect(given)
    shown = 0
    last_id: str | None = None
    failures = 0
    broken = 0.0
    while not failures or time.monotonic() < broken + _GIVE_UP_S:
        try:
            for event in connection.events(f"{path}?since={'now' if new else 'start'}", last_id):
                failures = 0
                last_id = event.id or last_id
                if event.kind == "result":
                    _show_result(event.data, form)
                    shown += 1
                    if shown == limit:
                        return 0
                elif event.kind == "gap":
                    click.echo("warning: some results are no longer kept", err=True)
                elif event.kind == "end":
                    error = json.loads(event.data).get("error")
                    if error is not None:
                        raise ServiceError(error)
                    return 0
        except ServiceError as error:
            if not error.may_pass or last_id is None:
                raise
        if not failures:
            broken = time.monotonic()
            click.echo("warning: the connection broke; trying again", err=True)
        failures += 1
        time.sleep(min(0.1 * 2**failures, _LONGEST_PAUSE_S))
    raise ServiceError(f"no connection to {given['address']}")


def _show_result(text: str, form: str) -> None:
    if form == "json":
        click.echo(text)
        return
    result = json.loads(text)
    when = cell(result.get("ts", result.get("at")))
    row = "  ".join(f"{key}={cell(value)}" for key, value in result["row"].items())
    click.echo(f"{when}  {result['query']}  {row}")
