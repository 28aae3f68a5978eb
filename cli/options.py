"""Values that options of several commands share: `--bind NAME=PATH`, queries, instants and strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from cqc.compiler import Program
    from cqc.compiler.physical.strategy import Strategy

SHOWN_NAMES = 20
ORDERS = ["adaptive", "AJW", "AWJ", "JAW", "JWA", "WAJ", "WJA"]
STRATEGY_OPTIONS = (
    click.option(
        "--join",
        default="auto",
        metavar="auto|flat|left-deep|bushy|TREE",
        help="The shape of joins; a TREE is written as ((A B) (C D)).",
    ),
    click.option(
        "--feedback",
        type=click.Choice(["auto", "on", "off", "exact", "bloom", "demand"]),
        default="auto",
        help="What a join tells its inputs not to send.",
    ),
    click.option(
        "--routing",
        type=click.Choice(["lottery", "selectivity", "fixed", "random"]),
        default="selectivity",
        help="Which operator a packet visits next.",
    ),
    click.option(
        "--order",
        type=click.Choice(ORDERS, case_sensitive=False),
        default="adaptive",
        metavar="ORDER",
        help="adaptive, or attribute, join and window conditions in a fixed order: AJW, AWJ, JAW, ...",
    ),
    click.option("--packet", default="auto", metavar="auto|N", help="Tuples in a packet."),
    click.option(
        "--sharing",
        type=click.Choice(["on", "off"]),
        default="on",
        help="off: every query has operators of its own.",
    ),
    click.option(
        "--maintenance",
        type=click.Choice(["auto", "lazy", "eager"]),
        default="auto",
        help="When results of BEGIN-END queries over one stream are found. auto: as they are used; lazy: when asked; eager: as tuples come.",
    ),
)


def strategy_options(command: Any) -> Any:  # Any: click's decorators are untyped here
    """The switches that change what a run costs, never what it answers."""
    for option in reversed(STRATEGY_OPTIONS):
        command = option(command)
    return command


def parse_binds(binds: tuple[str, ...], program: Program) -> dict[str, str]:
    """`NAME=PATH` pairs by the declared name.

    Raises:
        click.UsageError: for text without `=`, or a name that the program does not declare.
    """
    bound: dict[str, str] = {}
    for text in binds:
        name, separator, path = text.partition("=")
        if not separator or not name or not path:
            raise click.UsageError(f"--bind wants NAME=PATH, not {text!r}")
        relation = program.catalog.find(name.strip())
        if relation is None:
            raise click.UsageError(
                f"--bind {name}: the program declares no such stream or table{_declared(program)}"
            )
        bound[relation.name] = path
    return bound


def _declared(program: Program) -> str:
    names = [relation.name for relation in program.catalog.relations.values()]
    more = ", ..." if len(names) > SHOWN_NAMES else ""
    return f" (there are: {', '.join(names[:SHOWN_NAMES])}{more})" if names else ", and no other"


def check_only(only: tuple[str, ...], program: Program, option: str = "--only") -> tuple[str, ...]:
    """The queries that an option names.

    Raises:
        click.UsageError: for a name that the program does not have.
    """
    from cqc.compiler.meaning.catalog import fold

    for name in only:
        if fold(name) not in program.graph.queries:
            known = program.queries.names
            more = ", ..." if len(known) > SHOWN_NAMES else ""
            listing = ", ".join(known[:SHOWN_NAMES]) + more
            raise click.UsageError(f"{option} {name}: no such query (there are: {listing})")
    return only


def parse_at(text: str | None) -> int | None:
    """The instant of `--at` in microseconds.

    Raises:
        click.UsageError: for text that is no instant.
    """
    from cqc.runtime.options import parse_instant

    try:
        return None if text is None else parse_instant(text)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def parse_strategy(given: dict[str, Any]) -> Strategy:
    """The switches that change cost and never an answer.

    Raises:
        click.UsageError: for a shape or a packet size that is none.
    """
    from cqc.compiler.physical.strategy import Strategy, parse_join
    from cqc.runtime.options import parse_packet

    try:
        join = parse_join(given["join"])
        packet = parse_packet(given["packet"])
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return Strategy(
        join=join,
        feedback=given["feedback"],
        routing=given["routing"],
        order=given["order"],
        packet=packet,
        sharing=given["sharing"] == "on",
        maintenance=given["maintenance"],
    )
