"""How a call of a function is written in SQL: a template, or a function where the text depends on types or arguments.

    "TRY_CAST(ceil({0}) AS BIGINT)"      a template: {0}, {1} ... are the arguments, {distinct} is `DISTINCT ` or nothing
    PLAIN                                the engine has the function under the same name, with the same meaning

Every text that a form gets or gives is one closed expression, safe to nest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Sequence


@record
class SqlCall:
    """A call that is to be written: its arguments as texts with their types, and the type of its result."""

    name: str
    arguments: Sequence[str]
    types: Sequence[ColumnType]
    type: ColumnType
    distinct: str = ""


SqlForm = str | Callable[[SqlCall], str]


class CannotWriteError(Exception):
    """A dialect has no words for something; the text is a sentence that says so."""


@record
class Refused:
    """The form of a function that a dialect cannot say."""

    reason: str

    def __call__(self, call: SqlCall) -> str:
        raise CannotWriteError(f"{call.name}: {self.reason}")


def write_call(form: SqlForm, call: SqlCall) -> str:
    """The text of a call in the given form.

    Example:
        write_call("abs({0})", SqlCall("abs", ["x"], [DOUBLE], DOUBLE)) == "abs(x)"
    """
    if isinstance(form, str):
        return form.format(*call.arguments, distinct=call.distinct)
    return form(call)


def PLAIN(call: SqlCall) -> str:  # noqa: N802 - reads as the constant form that it is
    """The function of the same name with the same arguments."""
    return f"{call.name}({call.distinct}{', '.join(call.arguments)})"


def for_bigint(form: SqlForm, otherwise: SqlForm = PLAIN) -> SqlForm:
    """One form where the first argument is BIGINT (or a duration, which is one in SQL), another where it is not."""

    def choose(call: SqlCall) -> str:
        is_whole = call.types[0] in (ColumnType.BIGINT, ColumnType.INTERVAL)
        return write_call(form if is_whole else otherwise, call)

    return choose


def for_duration(form: SqlForm, otherwise: SqlForm = PLAIN) -> SqlForm:
    """One form where the first argument is a duration, another where it is not."""

    def choose(call: SqlCall) -> str:
        return write_call(form if call.types[0] is ColumnType.INTERVAL else otherwise, call)

    return choose


def duckdb_with(expression: str, value: str) -> str:
    """`expression` of v in DuckDB's words, where v is the value: a value that is long is written once."""
    return f"[{expression} FOR v IN [{value}]][1]"
