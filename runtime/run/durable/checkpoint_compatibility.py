"""Whether a checkpoint belongs to a program: no stream with other columns, and at least one query in common.

A program may have changed while it did not run: queries that are new or gone are registered and unregistered at the start,
streams that are new begin with their first row, streams that are gone are forgotten. What cannot be is a stream with other
columns, or nothing in common at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.engine.snapshot import same_text
from cqc.runtime.errors import RunError
from cqc.runtime.run.query_set import texts_of

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.compiler import Program
    from cqc.compiler.meaning.catalog import Catalog
    from cqc.runtime.run.durable.checkpoint import Commit

Schema = dict[str, list[list[str]]]


def schema_of(catalog: Catalog) -> Schema:
    """The declared streams and their columns, as a checkpoint remembers them."""
    return {
        name: [[column.name, column.type.value] for column in relation.columns]
        for name, relation in catalog.relations.items()
        if relation.is_stream
    }


def check_program(program: Program, last: Commit, folder: Path) -> None:
    """See that a checkpoint belongs to a program.

    Raises:
        RunError: when it does not.
    """
    schema = schema_of(program.catalog)
    for name, columns in last.schema.items():
        if schema.get(name, columns) != columns:
            raise of_another_program(folder, f"its stream {name} has other columns")
    if last.schema and not last.schema.keys() & schema.keys():
        raise of_another_program(folder, f"its streams are {', '.join(sorted(last.schema)[:3])}")
    before = {query.name: query.text for query in last.engine.queries}
    now = texts_of(program, ())
    if before and not any(same_text(now.get(name, ""), text) for name, text in before.items()):
        raise of_another_program(folder, f"it runs {', '.join(sorted(before)[:3])}")


def of_another_program(folder: Path, reason: str) -> RunError:
    """The sentence for a checkpoint that does not fit."""
    return RunError(
        f"the checkpoint {folder} belongs to another program ({reason}): "
        "name another folder, or remove it to begin again"
    )
