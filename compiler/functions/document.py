"""The page docs/functions.md, made from the registry: `python -m cqc.compiler.functions.document` prints it.

`make functions` writes the file. A test says so when the file is not what the registry gives.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cqc.compiler.functions.aggregates import AGGREGATES, EXAMPLE_COLUMNS, EXAMPLE_ROWS
from cqc.compiler.functions.entry import ScalarEntry, shared_type
from cqc.compiler.functions.registry import SCALAR_FAMILIES
from cqc.compiler.meaning.times.instants import format_day, format_instant
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cqc.compiler.functions.constant_forms import Constant
    from cqc.compiler.functions.entry import Argument, FunctionEntry

_OPENING = """\
# The functions

*Made from the registry by `make functions`; change the entry in `compiler/functions/`, not this page.*

Functions mean what they mean in Spark SQL's ANSI mode, but a failure is NULL and counted. A function of NULL is NULL, except
where a * stands. `[, x]` may be left out, and `...` is any number of arguments like the one before. A *number* is BIGINT or
DOUBLE. Arguments of *any one type* share it: BIGINT becomes DOUBLE beside a DOUBLE, and other types do not mix.
Names do not care about case.
"""

_TABLE = "| Call | Gives | | Example |\n|---|---|---|---|\n"


def page() -> str:
    """The whole page."""
    families = [f"## {family}\n\n{_table(entries)}" for family, entries in SCALAR_FAMILIES.items()]
    return "\n".join([_OPENING, *families, _aggregates()])


def _aggregates() -> str:
    names = ", ".join(EXAMPLE_COLUMNS)
    rows = ", ".join(f"({', '.join(map(_written, row))})" for row in EXAMPLE_ROWS)
    opening = (
        "## Aggregates\n\n"
        "Rows in which the argument is NULL do not count; `DISTINCT` before the argument counts equal values once."
        f" The examples are over the rows ({names}) = {rows}.\n\n"
    )
    return opening + _table(AGGREGATES)


def _table(entries: Iterable[FunctionEntry]) -> str:
    return _TABLE + "".join(_row(entry) for entry in entries)


def _row(entry: FunctionEntry) -> str:
    star = " *" if isinstance(entry, ScalarEntry) and entry.takes_null else ""
    also = f" Also `{'`, `'.join(entry.aliases)}`." if entry.aliases else ""
    call, value = entry.example
    shown = _written(value)
    if entry.result is ColumnType.TIMESTAMP and isinstance(value, int):
        shown = f"TIMESTAMP '{format_instant(value)}'"
    if entry.result is ColumnType.DATE and isinstance(value, int):
        shown = f"DATE '{format_day(value)}'"
    cells = (
        f"`{call_text(entry)}`{star}",
        _result(entry),
        f"{entry.summary}{also}",
        f"`{call}` is `{shown}`",
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def call_text(entry: FunctionEntry) -> str:
    """How a function is called, or an operator written, with what its arguments are."""
    if isinstance(entry, ScalarEntry) and entry.operator is not None:
        shown = [f"{argument.name}: {argument.rule.shown}" for argument in entry.arguments]
        return entry.operator.format(*shown)
    return f"{entry.name}({signature(entry.arguments)})"


def signature(arguments: Sequence[Argument]) -> str:
    """The arguments as they are shown.

    Example:
        signature((one("x", NUMBER), optional("digits", POSITION))) == "x: number [, digits: BIGINT]"
    """
    shown = ""
    for at, argument in enumerate(arguments):
        part = (", " if at else "") + f"{argument.name}: {argument.rule.shown}"
        shown += f" [{part}]" if argument.is_optional else part
        shown += ", ..." if argument.is_repeated else ""
    return shown


def _result(entry: FunctionEntry) -> str:
    if isinstance(entry.result, ColumnType):
        return entry.result.value
    return (
        "the type they share" if entry.result is shared_type else "the type of its first argument"
    )


def _written(value: Constant) -> str:
    """A value as a query would write it."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).upper() if isinstance(value, bool) else repr(value)


if __name__ == "__main__":
    sys.stdout.write(page())
