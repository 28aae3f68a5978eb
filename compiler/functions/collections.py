"""Functions of arrays, maps and structs. Those that take a lambda (exists, filter, transform) are bound by `bind/nested.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.functions.argument_rules import (
    ANY_TYPE,
    ARRAY,
    ARRAY_OR_MAP,
    AS_TEXT,
    CONDITION,
    INT,
    MAP,
    NESTED,
    WRITTEN_TEXT,
    ArgumentRule,
    TypeSet,
)
from cqc.compiler.functions.entry import ScalarEntry, anyhow, one, optional
from cqc.compiler.functions.sql_forms import Refused
from cqc.compiler.meaning.types import (
    ArrayType,
    ColumnType,
    MapType,
    StructType,
    array_of,
    common_type,
    map_of,
    struct_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.functions.sql_forms import SqlCall

    Types = Sequence[ColumnType]

_NULL, _BIGINT, _STRING = ColumnType.NULL, ColumnType.BIGINT, ColumnType.STRING
_OF_TEXT = ArgumentRule("ARRAY of STRING", "an ARRAY", TypeSet((), ArrayType), _NULL)
_NO_ORDER = Refused("DuckDB orders and counts elements in its own way")
_OTHERWISE = Refused("DuckDB has another meaning of it")


def _element(type_: ColumnType) -> ColumnType:
    return type_.element if isinstance(type_, ArrayType) else _NULL


def _array_and_element(types: Types) -> Types | None:
    """An array, and something that its elements are compared with."""
    if types[0] is _NULL:
        return None
    met = common_type(_element(types[0]), types[1])
    return None if met is None else [array_of(met), met]


def _container_and_key(types: Types) -> Types | None:
    first = types[0]
    if isinstance(first, MapType):
        met = common_type(first.key, types[1])
        return None if met is not first.key else [first, met]
    return [first, _BIGINT] if types[1] in (_BIGINT, _NULL) else None


def _inner(types: Types) -> ColumnType:
    first = types[0]
    return first.item if isinstance(first, MapType) else _element(first)


def _as_texts(types: Types) -> Types:
    return [array_of(_STRING), *types[1:]]


def _has_order(types: Types) -> Types | None:
    return None if _element(types[0]).is_nested else types


def _flattened(types: Types) -> Types | None:
    return types if isinstance(_element(types[0]), ArrayType) else None


def _alike(types: Types) -> Types | None:
    met: ColumnType | None = _NULL
    for type_ in types:
        met = None if met is None else common_type(met, type_)
    return None if met is None else [_STRING if met is _NULL else met] * len(types)


def _pairs(types: Types) -> Types | None:
    """Keys and values by turns."""
    if len(types) % 2:
        return None
    keys, items = _alike(types[::2]), _alike(types[1::2])
    if keys is None or items is None or (keys and keys[0].is_nested):
        return None
    return [each for pair in zip(keys, items, strict=True) for each in pair]


def _map(types: Types) -> ColumnType:
    return map_of(types[0], types[1]) if types else map_of(_STRING, _STRING)


def _array(types: Types) -> ColumnType:
    return array_of(types[0]) if types else array_of(_STRING)


def _keys(types: Types) -> ColumnType:
    return array_of(types[0].key) if isinstance(types[0], MapType) else _NULL


def _values(types: Types) -> ColumnType:
    return array_of(types[0].item) if isinstance(types[0], MapType) else _NULL


def _first(types: Types) -> ColumnType:
    return types[0]


def _not_null(types: Types) -> Types | None:
    return None if types[0] is _NULL else types


COLLECTIONS = (
    ScalarEntry(
        "size",
        (one("x", ARRAY_OR_MAP),),
        _BIGINT,
        "How many elements or entries there are.",
        ("size(array(3, 5, NULL))", 3),
        aliases=("cardinality", "array_size"),
        takes_null=True,
        meets=_not_null,
        duckdb="len({0})",
        spark="CAST(size({0}) AS BIGINT)",
    ),
    ScalarEntry(
        "element_at",
        (one("x", ARRAY_OR_MAP), one("at", ANY_TYPE)),
        _inner,
        "The element at a place counted from 1, from the end where it is negative; a place that is not there fails. Of a map the value of a "
        "key, NULL where there is none.",
        ("element_at(array(3, 5), -1)", 5),
        takes_null=True,
        meets=_container_and_key,
        duckdb=_OTHERWISE,
        spark=lambda call: _spark_element(call),
    ),
    ScalarEntry(
        "array_contains",
        (one("x", ARRAY), one("value", ANY_TYPE)),
        ColumnType.BOOLEAN,
        "Whether an element equals the value; NULL where none does and one is NULL.",
        ("array_contains(array(3, 5), 5)", True),
        takes_null=True,
        meets=_array_and_element,
        duckdb=_OTHERWISE,
    ),
    ScalarEntry(
        "array_position",
        (one("x", ARRAY), one("value", ANY_TYPE)),
        _BIGINT,
        "The place, from 1, of the first element that equals the value; 0 where there is none.",
        ("array_position(array(3, 5), 5)", 2),
        takes_null=True,
        meets=_array_and_element,
        duckdb="coalesce(list_position({0}, {1}), CASE WHEN {0} IS NULL OR {1} IS NULL THEN NULL ELSE 0 END)",
    ),
    ScalarEntry(
        "array_join",
        (one("x", _OF_TEXT), one("between", AS_TEXT), optional("null", AS_TEXT)),
        _STRING,
        "The elements as one text; NULL is left out, or written as the third argument says.",
        ("array_join(array('a', NULL, 'b'), '-', '?')", "a-?-b"),
        takes_null=True,
        meets=_as_texts,
        duckdb=_OTHERWISE,
    ),
    ScalarEntry(
        "array_distinct",
        (one("x", ARRAY),),
        _first,
        "The elements without those that came before.",
        ("array_distinct(array(3, 3, 5))[1]", 5),
        takes_null=True,
        meets=_not_null,
        duckdb=_NO_ORDER,
    ),
    ScalarEntry(
        "array_max",
        (one("x", ARRAY),),
        _inner,
        "The greatest element that is not NULL.",
        ("array_max(array(3, NULL, 5))", 5),
        takes_null=True,
        meets=_has_order,
        duckdb="list_max({0})",
    ),
    ScalarEntry(
        "array_min",
        (one("x", ARRAY),),
        _inner,
        "The least element that is not NULL.",
        ("array_min(array(3, NULL, 5))", 3),
        takes_null=True,
        meets=_has_order,
        duckdb="list_min({0})",
    ),
    ScalarEntry(
        "slice",
        (one("x", ARRAY), one("start", INT), one("length", INT)),
        _first,
        "The elements from a place on, counted from 1, or from the end where it is negative. A start of 0 and a negative length fail.",
        ("slice(array(1, 2, 3, 4), 2, 2)[1]", 3),
        takes_null=True,
        meets=_not_null,
        duckdb=_OTHERWISE,
        spark="slice({0}, CAST({1} AS INT), CAST({2} AS INT))",
    ),
    ScalarEntry(
        "sort_array",
        (one("x", ARRAY), optional("ascending", CONDITION)),
        _first,
        "The elements in order, NULL first; with FALSE the other way round, NULL last.",
        ("sort_array(array(3, 1, 2))[0]", 1),
        takes_null=True,
        meets=_has_order,
        duckdb=_NO_ORDER,
        spark=lambda call: _spark_sorted(call.arguments),
    ),
    ScalarEntry(
        "flatten",
        (one("x", ARRAY),),
        _inner,
        "The elements of all arrays in an array; NULL where one of these is NULL.",
        ("flatten(array(array(1), array(2, 3)))[2]", 3),
        takes_null=True,
        meets=_flattened,
        duckdb=_OTHERWISE,
    ),
    ScalarEntry(
        "array",
        (anyhow("value", ANY_TYPE),),
        _array,
        "An array of the values, in the one type they share.",
        ("array(1, 2.5)[0]", 1.0),
        takes_null=True,
        meets=_alike,
        duckdb=lambda call: f"CAST([{', '.join(call.arguments)}] AS {_duckdb_type(call.type)})",
    ),
    ScalarEntry(
        "map",
        (anyhow("value", ANY_TYPE),),
        _map,
        "A map of keys and values by turns. A key that is NULL or comes twice fails.",
        ("map('a', 1, 'b', 2)['b']", 2),
        takes_null=True,
        meets=_pairs,
        duckdb=_OTHERWISE,
    ),
    ScalarEntry(
        "map_keys",
        (one("x", MAP),),
        _keys,
        "The keys of a map.",
        ("map_keys(map('a', 1, 'b', 2))[1]", "b"),
        takes_null=True,
        meets=_not_null,
    ),
    ScalarEntry(
        "map_values",
        (one("x", MAP),),
        _values,
        "The values of a map.",
        ("map_values(map('a', 1, 'b', 2))[1]", 2),
        takes_null=True,
        meets=_not_null,
    ),
    ScalarEntry(
        "named_struct",
        (one("name", WRITTEN_TEXT), one("value", ANY_TYPE), anyhow("more", ANY_TYPE)),
        lambda types: struct_of([]),
        "A struct of names, which are written out, and values by turns.",
        ("named_struct('a', 1, 'b', 'x').b", "x"),
        takes_null=True,
        duckdb=lambda call: _duckdb_struct(call.arguments),
    ),
)

NESTED_JSON = (
    ScalarEntry(
        "to_json",
        (one("x", NESTED),),
        _STRING,
        "A struct, map or array as JSON text; fields that are NULL are left out.",
        ("to_json(named_struct('a', 1, 'b', NULL))", '{"a":1}'),
        takes_null=True,
        meets=_not_null,
        duckdb=_OTHERWISE,
    ),
    ScalarEntry(
        "from_json",
        (one("text", AS_TEXT), one("type", WRITTEN_TEXT)),
        lambda types: _STRING,
        "What a JSON text says, as a struct, map or array whose type is written out; NULL where it does not fit.",
        ("from_json('{\"a\": 1}', 'a BIGINT').a", 1),
        takes_null=True,
        duckdb=_OTHERWISE,
    ),
)


def _spark_element(call: SqlCall) -> str:
    """Spark counts places of arrays in INT, and stops at place 0."""
    held, at = call.arguments
    is_map = isinstance(call.types[0], MapType)
    return f"try_element_at({held}, {at if is_map else f'nullif(try_cast({at} AS INT), 0)'})"


def _spark_sorted(arguments: Sequence[str]) -> str:
    """Spark wants to know the direction before it sees a row."""
    if len(arguments) == 1:
        return f"sort_array({arguments[0]})"
    array, ascending = arguments
    return (
        f"CASE WHEN {ascending} THEN sort_array({array}, TRUE) "
        f"WHEN NOT ({ascending}) THEN sort_array({array}, FALSE) END"
    )


def _duckdb_type(type_: ColumnType) -> str:
    """The name of a type in DuckDB, nested ones included."""
    if isinstance(type_, ArrayType):
        return f"{_duckdb_type(type_.element)}[]"
    if isinstance(type_, MapType):
        return f"MAP({_duckdb_type(type_.key)}, {_duckdb_type(type_.item)})"
    if isinstance(type_, StructType):
        return f"STRUCT({', '.join(f'{_quoted(n)} {_duckdb_type(t)}' for n, t in type_.fields)})"
    names = {_STRING: "VARCHAR", ColumnType.BINARY: "BLOB", ColumnType.TIMESTAMP: "TIMESTAMPTZ"}
    return names.get(type_, type_.value)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _duckdb_struct(arguments: Sequence[str]) -> str:
    pairs = zip(arguments[::2], arguments[1::2], strict=True)
    return f"{{{', '.join(f'{name}: {value}' for name, value in pairs)}}}"
