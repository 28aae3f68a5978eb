"""An entry of the registry: all that the compiler knows about one built-in function.

    ScalarEntry(
        "ceil",
        (one("x", NUMBER),),
        ColumnType.BIGINT,
        "The least whole number that is not below x.",
        ("ceil(2.1)", 3),
        aliases=("ceiling",),
        duckdb="TRY_CAST(ceil({0}) AS BIGINT)",
    )

The kernel of the same name is in the runtime (`runtime/expressions/`). A test pairs the two, another checks the example
on the engine and by both judges, and docs/functions.md is made of these entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.functions.sql_forms import PLAIN
from cqc.compiler.meaning.types import ColumnType, DecimalType, bounded

if TYPE_CHECKING:
    from cqc.compiler.functions.argument_rules import ArgumentRule
    from cqc.compiler.functions.constant_forms import Constant
    from cqc.compiler.functions.sql_forms import SqlForm

ResultRule = ColumnType | Callable[[Sequence[ColumnType]], ColumnType]


def first_type(types: Sequence[ColumnType]) -> ColumnType:
    """The result has the type of the first argument."""
    return types[0]


def sum_type(types: Sequence[ColumnType]) -> ColumnType:
    """The sum has the type of its values; a DECIMAL has ten digits more."""
    if isinstance(types[0], DecimalType):
        return bounded(types[0].digits + 10, types[0].scale)
    return types[0]


def mean_type(types: Sequence[ColumnType]) -> ColumnType:
    """The mean of durations is a duration, that of numbers a DOUBLE; a DECIMAL has four digits more after the point."""
    if isinstance(types[0], DecimalType):
        return bounded(types[0].digits + 4, types[0].scale + 4)
    return ColumnType.INTERVAL if types[0] is ColumnType.INTERVAL else ColumnType.DOUBLE


def shared_type(types: Sequence[ColumnType]) -> ColumnType:
    """The result has the one type that all united arguments were converted to (see `ArgumentRule.united`)."""
    return types[0]


@record
class Argument:
    """One argument by name; a repeated one is the last and may come any number of times, at least once."""

    name: str
    rule: ArgumentRule
    is_optional: bool = False
    is_repeated: bool = False


def one(name: str, rule: ArgumentRule) -> Argument:
    return Argument(name, rule)


def optional(name: str, rule: ArgumentRule) -> Argument:
    return Argument(name, rule, is_optional=True)


def many(name: str, rule: ArgumentRule) -> Argument:
    return Argument(name, rule, is_repeated=True)


def anyhow(name: str, rule: ArgumentRule) -> Argument:
    """An argument that may come any number of times, also none."""
    return Argument(name, rule, is_optional=True, is_repeated=True)


@record
class FunctionEntry:
    """What scalar functions and aggregates have in common."""

    name: str
    arguments: tuple[Argument, ...]
    result: ResultRule
    summary: str  # one line for the documentation
    example: tuple[str, Constant]  # a call, and what it gives
    aliases: tuple[str, ...] = ()
    duckdb: SqlForm = PLAIN
    spark: SqlForm = PLAIN

    @property
    def least(self) -> int:
        """How many arguments a call has at least."""
        return sum(not argument.is_optional for argument in self.arguments)

    @property
    def most(self) -> int | None:
        """How many arguments a call has at most; None is any number."""
        repeats = any(argument.is_repeated for argument in self.arguments)
        return None if repeats else len(self.arguments)

    def rule(self, position: int) -> ArgumentRule:
        """The rule for the argument at a position of a call."""
        return self.arguments[min(position, len(self.arguments) - 1)].rule

    def result_type(self, types: Sequence[ColumnType]) -> ColumnType:
        """The type of a call whose converted arguments have these types."""
        if isinstance(self.result, ColumnType):
            return self.result
        if self.result is shared_type:
            types = [type_ for at, type_ in enumerate(types) if self.rule(at).united]
        return self.result(types)

    def argument_type(self, position: int, result: ColumnType) -> ColumnType | None:
        """The type to which an argument of a call with this result is converted; None: it keeps its own."""
        rule = self.rule(position)
        if rule.united and self.result is shared_type:
            return result
        return rule.becomes


@record
class ScalarEntry(FunctionEntry):
    """A scalar function. NULL in, NULL out, unless `takes_null`: then the function decides itself what NULL means."""

    takes_null: bool = False
    constant: Callable[..., Constant] | None = (
        None  # the function on Python values, to fold calls on constants
    )
    takes_pattern: bool = False  # the second argument is a regular expression
    written: Callable[[Sequence[ColumnType], Sequence[Constant]], ColumnType] | None = (
        None  # the result's type where it depends on constants, which are None for what is none
    )
    operator: str | None = None  # how it is written where it is no call: `{0} & {1}`
    meets: Callable[[Sequence[ColumnType]], Sequence[ColumnType] | None] | None = (
        None  # the types that the arguments take together; None where they do not go together
    )


@record
class AggregateEntry(FunctionEntry):
    """An aggregate over the rows of a group. Its example is over the rows of `functions/aggregates.py`."""

    function: str | None = (
        None  # what it is another way to write of, in the names of `AggregateFunction`
    )
    needs_time: bool = False  # event time decides what comes first
    takes_nulls_clause: bool = False  # IGNORE NULLS may follow
    takes_order: bool = (
        False  # WITHIN GROUP (ORDER BY ...) may follow; it must where the argument is in it
    )
