"""Parts of nested values and lambdas in SQL, in both dialects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.functions.sql_forms import CannotWriteError
from cqc.compiler.meaning import bound
from cqc.compiler.meaning.sortable import decimal_text
from cqc.compiler.meaning.types import ArrayType, ColumnType, DecimalType, MapType, StructType

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.emit.sql_dialect import Dialect
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.views import Unnest

    Write = Callable[[bound.Expression], str]
    Identifier = Callable[[str], str]

HIGHER_ORDER = ("exists", "any", "forall", "filter", "transform")
NESTED_CALLS = (bound.FIELD, bound.ITEM, bound.VARIABLE, *HIGHER_ORDER)


def nested_type_name(
    type_: ColumnType, name: Callable[[ColumnType], str], identifier: Identifier, *, spark: bool
) -> str | None:
    """The name of a type with parts or digits, or of BINARY; None for others."""
    if isinstance(type_, DecimalType):
        return f"DECIMAL({type_.digits}, {type_.scale})"
    if type_ is ColumnType.BINARY:
        return "BINARY" if spark else "BLOB"
    if isinstance(type_, ArrayType):
        inner = name(type_.element)
        return f"ARRAY<{inner}>" if spark else f"{inner}[]"
    if isinstance(type_, MapType):
        inner = f"{name(type_.key)}, {name(type_.item)}"
        return f"MAP<{inner}>" if spark else f"MAP({inner})"
    if isinstance(type_, StructType):
        between = ": " if spark else " "
        fields = ", ".join(f"{identifier(each)}{between}{name(t)}" for each, t in type_.fields)
        return f"STRUCT<{fields}>" if spark else f"STRUCT({fields})"
    return None


def constant(literal: bound.Literal, *, spark: bool) -> str | None:
    """A DECIMAL or BINARY constant; None for others."""
    value, type_ = literal.value, literal.type
    if not isinstance(value, str):
        return None
    if isinstance(type_, DecimalType):
        return (
            f"CAST('{decimal_text(value, type_.scale)}' AS DECIMAL({type_.digits}, {type_.scale}))"
        )
    if type_ is ColumnType.BINARY:
        return f"X'{value}'" if spark else f"unhex('{value}')"
    return None


def nested_call(
    call: bound.FunctionCall, write: Write, identifier: Identifier, *, spark: bool
) -> str:
    """A part of a nested value, or a function with a lambda."""
    if call.name == bound.VARIABLE:
        return _variable(_number(call.arguments[0]), spark=spark)
    if call.name == bound.FIELD:
        return _field(call, write, identifier, spark=spark)
    whole, inner = call.arguments
    if call.name == bound.ITEM:
        return _item(write(whole), write(inner), whole.type, spark=spark)
    assert isinstance(inner, bound.FunctionCall)
    first = _number(inner.arguments[0])
    body = write(inner.arguments[1])
    names = f"v{first}"
    if f"v{first + 1}" in body:
        names = f"(v{first}, v{first + 1})" if spark else f"v{first}, v{first + 1}"
    if spark:
        return f"{call.name}({write(whole)}, {names} -> {body})"
    return _duckdb_lambda(call.name, write(whole), names, body)


def _duckdb_lambda(name: str, array: str, names: str, body: str) -> str:
    if name == "transform":
        return f"list_transform({array}, lambda {names}: {body})"
    if name == "filter":
        return f"list_filter({array}, lambda {names}: {body})"
    wanted, otherwise = ("FALSE", "TRUE") if name == "forall" else ("TRUE", "FALSE")
    held = f"len(list_filter({array}, lambda {names}: ({body}) = {wanted})) > 0"
    unknown = f"len(list_filter({array}, lambda {names}: ({body}) IS NULL)) > 0"
    return (
        f"CASE WHEN {array} IS NULL THEN NULL WHEN {held} THEN {wanted} "
        f"WHEN {unknown} THEN NULL ELSE {otherwise} END"
    )


def _variable(number: int, *, spark: bool) -> str:
    if number % 2 and not spark:
        return f"(v{number} - 1)"  # DuckDB counts from 1
    return f"v{number}"


def _field(call: bound.FunctionCall, write: Write, identifier: Identifier, *, spark: bool) -> str:
    whole, number = call.arguments
    type_ = whole.type
    inner = type_.element if isinstance(type_, ArrayType) else type_
    assert isinstance(inner, StructType)
    name = identifier(inner.fields[_number(number)][0])
    if isinstance(type_, ArrayType) and not spark:
        return f"list_transform({write(whole)}, lambda part: part.{name})"
    return f"({write(whole)}).{name}"


def _item(whole: str, index: str, type_: ColumnType, *, spark: bool) -> str:
    if isinstance(type_, MapType):
        if spark:
            return f"try_element_at({whole}, {index})"
        return f"list_extract(map_extract({whole}, {index}), 1)"
    if spark:
        return f"get({whole}, try_cast({index} AS INT))"
    return f"CASE WHEN {index} >= 0 THEN ({whole})[{index} + 1] END"


def decimal_arithmetic(op: bound.ArithmeticOp, left: str, right: str, type_: ColumnType) -> str:
    """DuckDB's sum of DECIMAL; the digits of its products and quotients are others."""
    if op not in (bound.ArithmeticOp.ADD, bound.ArithmeticOp.SUBTRACT):
        raise CannotWriteError(f"{op.value}: DuckDB has other digits of DECIMAL results")
    assert isinstance(type_, DecimalType)
    return f"TRY_CAST({left} {op.value} {right} AS DECIMAL({type_.digits}, {type_.scale}))"


def _number(expression: bound.Expression) -> int:
    assert isinstance(expression, bound.Literal)
    assert isinstance(expression.value, int)
    return expression.value


def unnested_text(relation: Relation, unnest: Unnest, text: str, words: Dialect) -> str:
    """The rows of a view with one for each element of an array or map."""
    names = [words.identifier(column.name) for column in relation.declared]
    own, element = names[: unnest.output], names[unnest.output]
    assert relation.view is not None
    array = element
    if isinstance(relation.view.query.outputs[unnest.output].expression.type, MapType):
        array = f"map_entries({element})"
    if words.is_spark:
        outer = "OUTER " if unnest.outer else ""
        shown = ", ".join([*own, "`@`.e AS " + element])
        if not unnest.ordinality:
            return (
                f"SELECT {shown}\nFROM (\n{text}\n)\nLATERAL VIEW {outer}explode({array}) `@` AS e"
            )
        shown += f", CAST(`@`.n + 1 AS BIGINT) AS {names[-1]}"
        return f"SELECT {shown}\nFROM (\n{text}\n)\nLATERAL VIEW {outer}posexplode({array}) `@` AS n, e"
    parts = f"CASE WHEN len({array}) > 0 THEN {array} ELSE [NULL] END" if unnest.outer else array
    columns = [*own, f"unnest({parts}) AS {element}"]
    if unnest.ordinality:
        number = f"generate_subscripts({parts}, 1)"
        if unnest.outer:
            number = f"CASE WHEN len({array}) > 0 THEN {number} END"
        columns.append(f"{number} AS {names[-1]}")
    return f"SELECT {', '.join(columns)}\nFROM (\n{text}\n)"
