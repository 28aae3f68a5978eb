"""Column types, and how types meet in expressions.

`INTERVAL` is the type of durations (int microseconds) and `NULL` of the bare NULL literal; no column has them.
Values: BIGINT int, DOUBLE float, STRING str, BOOLEAN bool, TIMESTAMP int microseconds since the epoch (UTC), DATE int days since
the epoch, INTERVAL int microseconds, NULL None. A DECIMAL or BINARY constant is a `str` in the form of `sortable.py`.

There is one object for each type, so types are compared by `is`, those with parts too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_DIGITS = 38
_AS_NUMBERS = frozenset(("BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP", "DATE", "INTERVAL"))


class ColumnType:
    """The type of a column or of an expression; `value` is how it is written."""

    BIGINT: ClassVar[ColumnType]
    DOUBLE: ClassVar[ColumnType]
    STRING: ClassVar[ColumnType]
    BOOLEAN: ClassVar[ColumnType]
    TIMESTAMP: ClassVar[ColumnType]
    DATE: ClassVar[ColumnType]
    INTERVAL: ClassVar[ColumnType]
    NULL: ClassVar[ColumnType]
    BINARY: ClassVar[ColumnType]

    __slots__ = ("held_as_text", "value")

    is_nested: ClassVar[bool] = False  # whether values have parts: arrays, maps and structs

    def __init__(self, value: str) -> None:
        self.value = value
        # Whether columns of it hold Arrow text: text itself, and what is coded as text (`columns/nested.py`, `sortable.py`).
        self.held_as_text = value not in _AS_NUMBERS

    def __repr__(self) -> str:
        return f"<ColumnType.{self.value}: {self.value!r}>"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return type_of_text, (self.value,)

    def __copy__(self) -> ColumnType:
        return self

    def __deepcopy__(self, memo: object) -> ColumnType:
        return self

    @property
    def name(self) -> str:
        return self.value

    @property
    def is_numeric(self) -> bool:
        return (
            self is ColumnType.BIGINT or self is ColumnType.DOUBLE or isinstance(self, DecimalType)
        )

    @property
    def has_order(self) -> bool:
        """Whether values can be compared with `<`."""
        return not self.is_nested


class DecimalType(ColumnType):
    """`DECIMAL(digits, scale)`: `scale` of the digits are after the point."""

    __slots__ = ("digits", "scale")

    def __init__(self, digits: int, scale: int) -> None:
        super().__init__(f"DECIMAL({digits}, {scale})")
        self.digits = digits
        self.scale = scale


class ArrayType(ColumnType):
    """`ARRAY<element>`."""

    __slots__ = ("element",)

    is_nested = True

    def __init__(self, element: ColumnType) -> None:
        super().__init__(f"ARRAY<{element.value}>")
        self.element = element


class MapType(ColumnType):
    """`MAP<key, item>`; a declared one has STRING keys."""

    __slots__ = ("item", "key")

    is_nested = True

    def __init__(self, key: ColumnType, item: ColumnType) -> None:
        super().__init__(f"MAP<{key.value}, {item.value}>")
        self.key = key
        self.item = item


class StructType(ColumnType):
    """`STRUCT<a: T, ...>`."""

    __slots__ = ("fields",)

    is_nested = True

    def __init__(self, fields: tuple[tuple[str, ColumnType], ...]) -> None:
        super().__init__(f"STRUCT<{', '.join(f'{_field(n)}: {t.value}' for n, t in fields)}>")
        self.fields = fields

    def position(self, name: str) -> int | None:
        """Where a field of this name is, matching case-insensitively."""
        wanted = name.lower()
        return next((at for at, (own, _) in enumerate(self.fields) if own.lower() == wanted), None)


_PLAIN = re.compile(r"[^\W\d]\w*")


def _field(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else f"`{name.replace('`', '``')}`"


_KNOWN: dict[str, ColumnType] = {}


def _scalar(name: str) -> ColumnType:
    _KNOWN[name] = ColumnType(name)
    return _KNOWN[name]


ColumnType.BIGINT = _scalar("BIGINT")
ColumnType.DOUBLE = _scalar("DOUBLE")
ColumnType.STRING = _scalar("STRING")
ColumnType.BOOLEAN = _scalar("BOOLEAN")
ColumnType.TIMESTAMP = _scalar("TIMESTAMP")
ColumnType.DATE = _scalar("DATE")
ColumnType.INTERVAL = _scalar("INTERVAL")
ColumnType.NULL = _scalar("NULL")
ColumnType.BINARY = _scalar("BINARY")


def _interned(made: ColumnType) -> ColumnType:
    return _KNOWN.setdefault(made.value, made)


def decimal(digits: int, scale: int) -> ColumnType:
    """The type of numbers with so many digits, of which so many are after the point."""
    return _interned(DecimalType(digits, scale))


def array_of(element: ColumnType) -> ColumnType:
    """The type of arrays of values of a type."""
    return _interned(ArrayType(element))


def map_of(key: ColumnType, item: ColumnType) -> ColumnType:
    """The type of maps."""
    return _interned(MapType(key, item))


def struct_of(fields: Sequence[tuple[str, ColumnType]]) -> ColumnType:
    """The type of structs with these fields."""
    return _interned(StructType(tuple(fields)))


TYPE_NAMES = {
    "BIGINT": ColumnType.BIGINT,
    "INT": ColumnType.BIGINT,
    "INTEGER": ColumnType.BIGINT,
    "DOUBLE": ColumnType.DOUBLE,
    "FLOAT": ColumnType.DOUBLE,
    "REAL": ColumnType.DOUBLE,
    "STRING": ColumnType.STRING,
    "VARCHAR": ColumnType.STRING,
    "TEXT": ColumnType.STRING,
    "BOOLEAN": ColumnType.BOOLEAN,
    "TIMESTAMP": ColumnType.TIMESTAMP,
    "DATE": ColumnType.DATE,
    "BINARY": ColumnType.BINARY,
    "DECIMAL": decimal(10, 0),
    "NUMERIC": decimal(10, 0),
}


def type_named(word: str) -> ColumnType:
    """The type that a word stands for. One that is no type was reported; like NULL it goes with everything, so no more is said."""
    return TYPE_NAMES.get(word.upper(), ColumnType.NULL)


_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|[^\W\d]\w*|\d+|[<>(),:])")


def type_of_text(text: str) -> ColumnType:
    """The type that is written so.

    Raises:
        ValueError: for a text that is no type.
    """
    known = _KNOWN.get(text)
    if known is not None:
        return known
    tokens = _TOKEN.findall(text)
    made, at = _read(text, tokens, 0)
    if at != len(tokens) or "".join(tokens) != re.sub(r"\s+(?=(?:[^`]*`[^`]*`)*[^`]*$)", "", text):
        raise ValueError(f"{text} is not a type")
    return made


def _read(text: str, tokens: list[str], at: int) -> tuple[ColumnType, int]:
    def expect(token: str) -> None:
        nonlocal at
        if at >= len(tokens) or tokens[at] != token:
            raise ValueError(f"{text} is not a type")
        at += 1

    word = tokens[at].upper() if at < len(tokens) else ""
    at += 1
    if word in ("DECIMAL", "NUMERIC") and at < len(tokens) and tokens[at] == "(":
        numbers = [token for token in tokens[at:] if token.isdigit()][:2]
        closing = tokens.index(")", at)
        inside = [int(number) for number in numbers[: (closing - at) // 2]]
        return decimal(inside[0], inside[1] if len(inside) > 1 else 0), closing + 1
    if word == "ARRAY":
        expect("<")
        element, at = _read(text, tokens, at)
        expect(">")
        return array_of(element), at
    if word == "MAP":
        expect("<")
        key, at = _read(text, tokens, at)
        expect(",")
        item, at = _read(text, tokens, at)
        expect(">")
        return map_of(key, item), at
    if word == "STRUCT":
        expect("<")
        fields: list[tuple[str, ColumnType]] = []
        while True:
            name = tokens[at]
            at += 1
            if at < len(tokens) and tokens[at] == ":":
                at += 1
            inner, at = _read(text, tokens, at)
            plain = name[1:-1].replace("``", "`") if name.startswith("`") else name
            fields.append((plain, inner))
            if at < len(tokens) and tokens[at] == ",":
                at += 1
                continue
            expect(">")
            return struct_of(fields), at
    known = TYPE_NAMES.get(word) or _KNOWN.get(word)
    if known is None:
        raise ValueError(f"{text} is not a type")
    return known, at


def common_type(left: ColumnType, right: ColumnType) -> ColumnType | None:
    """The type in which two values can be compared or mixed, or None when there is none."""
    if left is right:
        return left
    if left is ColumnType.NULL:
        return right
    if right is ColumnType.NULL:
        return left
    if left.is_numeric and right.is_numeric:
        return _common_number(left, right)
    if {left, right} == {ColumnType.DATE, ColumnType.TIMESTAMP}:
        return ColumnType.TIMESTAMP
    if isinstance(left, ArrayType) and isinstance(right, ArrayType):
        element = common_type(left.element, right.element)
        return None if element is None else array_of(element)
    if isinstance(left, MapType) and isinstance(right, MapType):
        key, item = common_type(left.key, right.key), common_type(left.item, right.item)
        return None if key is None or item is None else map_of(key, item)
    if isinstance(left, StructType) and isinstance(right, StructType):
        return _common_struct(left, right)
    return None


def _common_number(left: ColumnType, right: ColumnType) -> ColumnType:
    if ColumnType.DOUBLE in (left, right):
        return ColumnType.DOUBLE
    one, other = as_decimal(left), as_decimal(right)
    scale = max(one.scale, other.scale)
    whole = max(one.digits - one.scale, other.digits - other.scale)
    return bounded(whole + scale, scale)


def as_decimal(type_: ColumnType) -> DecimalType:
    """The DECIMAL in which a number of this type meets one; BIGINT has 20 digits, as in Spark."""
    if isinstance(type_, DecimalType):
        return type_
    made = decimal(20, 0)
    assert isinstance(made, DecimalType)
    return made


def bounded(digits: int, scale: int) -> ColumnType:
    """A DECIMAL with at most 38 digits: those after the point are cut, as far as what is before it asks for."""
    return decimal(min(digits, MOST_DIGITS), min(scale, MOST_DIGITS))


def adjusted(digits: int, scale: int) -> ColumnType:
    """The DECIMAL of a result: where 38 digits are not enough, six after the point stay if there are as many."""
    if digits <= MOST_DIGITS:
        return decimal(digits, scale)
    whole = digits - scale
    least = min(scale, 6)
    return decimal(MOST_DIGITS, max(MOST_DIGITS - whole, least))


def _common_struct(left: StructType, right: StructType) -> ColumnType | None:
    if len(left.fields) != len(right.fields):
        return None
    fields = []
    for (name, one), (second, other) in zip(left.fields, right.fields, strict=True):
        met = common_type(one, other)
        if met is None or name.lower() != second.lower():
            return None
        fields.append((name, met))
    return struct_of(fields)
