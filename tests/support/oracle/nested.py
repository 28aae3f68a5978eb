"""Arrays, maps, structs and DECIMAL on Python values: lists, dicts, dicts by field, and Decimal."""

from __future__ import annotations

import json
import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Any

from cqc.compiler.meaning.bound import ArithmeticOp
from cqc.compiler.meaning.sortable import decimal_text
from cqc.compiler.meaning.types import ArrayType, ColumnType, DecimalType, MapType, StructType
from tests.support.oracle import casts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.views import Unnest

EXACT = Context(prec=400, rounding=ROUND_HALF_UP)


def constant(value: Any, type_: ColumnType) -> Any:
    """A literal: those of DECIMAL and BINARY are coded."""
    if value is not None and isinstance(type_, DecimalType):
        return Decimal(decimal_text(value, type_.scale))
    return bytes.fromhex(value) if value is not None and type_ is ColumnType.BINARY else value


def with_fields(relation: Relation, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row with the fields of its structs after it, which are columns too."""
    found = list(row)
    for column in relation.columns[len(row) :]:
        assert column.inside is not None
        found.append(field(found[column.inside[0]], column.inside[1]))
    return tuple(found)


def unnested(unnest: Unnest, row: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """One row for each element."""
    whole = row[unnest.output]
    own = row[: unnest.output]
    if isinstance(whole, dict):
        whole = [{"key": key, "value": item} for key, item in whole.items()]
    made = [(*own, each, at + 1) for at, each in enumerate(whole or ())]
    if not made and unnest.outer:
        made = [(*own, None, None)]
    return [each if unnest.ordinality else each[:-1] for each in made]


def field(whole: Any, number: int) -> Any:
    if isinstance(whole, list):
        return [field(each, number) for each in whole]
    return None if whole is None else list(whole.values())[number]


def item(whole: Any, at: Any) -> Any:
    if whole is None or at is None:
        return None
    if isinstance(whole, dict):
        return whole.get(at)
    return whole[at] if 0 <= at < len(whole) else None


def decimal_result(op: ArithmeticOp, left: Decimal, right: Decimal, type_: DecimalType) -> Any:
    if op in (ArithmeticOp.DIVIDE, ArithmeticOp.MODULO) and right == 0:
        return None
    exact = {
        ArithmeticOp.ADD: lambda: EXACT.add(left, right),
        ArithmeticOp.SUBTRACT: lambda: EXACT.subtract(left, right),
        ArithmeticOp.MULTIPLY: lambda: EXACT.multiply(left, right),
        ArithmeticOp.DIVIDE: lambda: EXACT.quantize(EXACT.divide(left, right), Decimal(f"1e-{39}")),
        ArithmeticOp.MODULO: lambda: EXACT.remainder(left, right),
    }[op]()
    return decimal_value(exact, type_)


def decimal_value(number: Decimal, type_: DecimalType) -> Decimal | None:
    """A number rounded half up to the scale of a type; NULL where it has too many digits."""
    made = EXACT.quantize(number, Decimal(f"1e-{type_.scale}"))
    return made if abs(made) < Decimal(10) ** (type_.digits - type_.scale) else None


def cast_decimal(value: Any, source: ColumnType, target: ColumnType) -> Any:
    """CAST from or to DECIMAL."""
    if isinstance(target, DecimalType):
        if isinstance(value, float) and not math.isfinite(value):
            return None
        try:
            number = Decimal(repr(value) if isinstance(value, float) else str(value).strip())
        except ArithmeticError:
            return None
        number = Decimal(int(value)) if isinstance(value, bool) else number
        if source is ColumnType.TIMESTAMP:
            number = number.scaleb(-6, EXACT)
        return decimal_value(number, target) if number.is_finite() else None
    if target is ColumnType.STRING:
        return f"{value:f}"
    if target is ColumnType.DOUBLE:
        return float(value)
    if target in (ColumnType.BIGINT, ColumnType.TIMESTAMP):
        is_time = target is ColumnType.TIMESTAMP  # microseconds; a DECIMAL is seconds
        whole = int(value.scaleb(6, EXACT) if is_time else value)
        return whole if -(2**63) <= whole < 2**63 else None
    return value != 0


def cast_nested(value: Any, source: ColumnType, target: ColumnType) -> Any:
    """CAST of nested values, part by part, or to text."""
    if target is ColumnType.STRING:
        return shown(value, source)
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        made = [casts.cast(each, source.element, target.element) for each in value]
        lost = any(a is not None and b is None for a, b in zip(value, made, strict=True))
        return None if lost else made
    raise NotImplementedError


def shown(value: Any, type_: ColumnType) -> str:
    if value is None:
        return "null"
    if isinstance(type_, ArrayType):
        return f"[{', '.join(shown(each, type_.element) for each in value)}]"
    if isinstance(type_, MapType):
        parts = [f"{shown(k, type_.key)} -> {shown(v, type_.item)}" for k, v in value.items()]
        return f"{{{', '.join(parts)}}}"
    if isinstance(type_, StructType):
        inner = zip(value.values(), type_.fields, strict=True)
        return f"{{{', '.join(shown(each, t) for each, (_, t) in inner)}}}"
    return str(casts.cast(value, type_, ColumnType.STRING))


def key(value: Any) -> tuple[bool, Any]:
    """NaN is the greatest number."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return (is_nan, 0 if is_nan else value)


def equal(left: Any, right: Any) -> bool:
    return left is not None and right is not None and key(left) == key(right)


def element_at(whole: Any, at: Any) -> Any:
    if whole is None or at is None:
        return None
    if isinstance(whole, dict):
        return whole.get(at)
    if at == 0 or abs(at) > len(whole):
        return None
    return whole[at - 1] if at > 0 else whole[at]


def contains(array: Any, value: Any) -> Any:
    if array is None or value is None:
        return None
    if any(equal(each, value) for each in array):
        return True
    return None if None in array else False


def position(array: Any, value: Any) -> Any:
    if array is None or value is None:
        return None
    return next((at + 1 for at, each in enumerate(array) if equal(each, value)), 0)


def join(array: Any, between: Any, *null: Any) -> Any:
    if array is None or between is None or null == (None,):
        return None
    texts = [null[0] if each is None and null else each for each in array]
    return between.join(each for each in texts if each is not None)


def distinct(array: Any) -> Any:
    if array is None:
        return None
    found: list[Any] = []
    for each in array:
        is_known = any(equal(each, other) or (each is None and other is None) for other in found)
        found += [] if is_known else [each]
    return found


def part(array: Any, start: Any, length: Any) -> Any:
    if array is None or start is None or length is None or start == 0 or length < 0:
        return None
    if not all(-(2**31) <= each < 2**31 for each in (start, length)):
        return None
    first = start - 1 if start > 0 else len(array) + start
    return array[first : first + length] if first >= 0 else []


def in_order(array: Any, *ascending: Any) -> Any:
    if array is None or ascending == (None,):
        return None
    known = sorted((each for each in array if each is not None), key=key)
    nulls = [None] * (len(array) - len(known))
    return nulls + known if ascending in ((), (True,)) else known[::-1] + nulls


def flat(array: Any) -> Any:
    return None if array is None or None in array else [e for each in array for e in each]


def made_map(*parts: Any) -> Any:
    keys = list(parts[::2])
    if None in keys or len(set(keys)) < len(keys):
        return None
    return dict(zip(keys, parts[1::2], strict=True))


def known(function: Callable[[Sequence[Any]], Any]) -> Callable[[Any], Any]:
    """A function of an array that is NULL where that is."""
    return lambda whole: None if whole is None else function(whole)


def extreme(choose: Any) -> Callable[[Any], Any]:
    return known(lambda a: choose((each for each in a if each is not None), key=key, default=None))


COLLECTIONS: dict[str, Callable[..., Any]] = {
    "size": known(len),
    "element_at": element_at,
    "array_contains": contains,
    "array_position": position,
    "array_join": join,
    "array_distinct": distinct,
    "array_max": extreme(max),
    "array_min": extreme(min),
    "slice": part,
    "sort_array": in_order,
    "flatten": flat,
    "array": lambda *values: list(values),
    "map": made_map,
    "map_keys": known(lambda whole: list(whole)),
    "map_values": known(lambda whole: list(whole.values())),  # type: ignore[attr-defined]
    "named_struct": lambda *parts: dict(zip(parts[::2], parts[1::2], strict=True)),
    "to_json": known(
        lambda whole: json.dumps(without_null(whole), ensure_ascii=False, separators=(",", ":"))
    ),
    "from_json": lambda text, _type: None if text is None else json.loads(text),
}


def without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_null(each) for name, each in value.items() if each is not None}
    return [without_null(each) for each in value] if isinstance(value, list) else value
