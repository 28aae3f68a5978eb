"""Values that options of several commands share: `--bind NAME=PATH` and instants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cqc.compiler import Program


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
            known = ", ".join(relation.name for relation in program.catalog.relations.values())
            raise click.UsageError(f"--bind {name}: the program declares no such stream or table ({known})")
        bound[relation.name] = path
    return bound
