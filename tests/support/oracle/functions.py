"""The built-in scalar functions on Python values, as Spark SQL computes them."""

from __future__ import annotations

import binascii
import hashlib
import ipaddress
import math
from typing import TYPE_CHECKING, Any

from cqc.compiler.meaning.types import ColumnType
from tests.support.oracle.nested import COLLECTIONS
from tests.support.oracle.number_functions import (
    absolute,
    bits,
    bround,
    conv,
    div,
    down,
    haversine,
    logarithm,
    pmod,
    power,
    remainder,
    round_half_up,
    size,
    up,
    width_bucket,
    wrapped,
)
from tests.support.oracle.patterns import like
from tests.support.oracle.text_functions import (
    format_string,
    from_mime,
    get_json_object,
    in_hexadecimal,
    initcap,
    levenshtein,
    locate,
    mime,
    octets,
    pad,
    parse_url,
    regex,
    regexp_extract,
    regexp_extract_all,
    regexp_replace,
    repeated,
    sha2,
    split,
    split_part,
    substring,
    translate,
    trimmed,
    url_decode,
    url_encode,
)
from tests.support.oracle.times import TIME_FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Value = int | float | str | bool | None


def call(name: str, arguments: Sequence[Value], type_: ColumnType) -> Value:
    """The value of `name(arguments)`; `type_` is the type the binder gave the call."""
    if name in COLLECTIONS:
        return COLLECTIONS[name](*arguments)  # type: ignore[no-any-return]
    if name in TAKING_NULL:
        return TAKING_NULL[name](*(as_type(value, type_) for value in arguments))
    if any(value is None for value in arguments):
        return None
    return FUNCTIONS[name](*arguments)


def as_type(value: Value, type_: ColumnType) -> Value:
    """BIGINT as DOUBLE where the call is a DOUBLE."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return float(value) if is_whole and type_ is ColumnType.DOUBLE else value


PRIVATE = (
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "::1",
    "fc00::/7",
    "fe80::/10",
)


def in_nets(text: str, nets: Sequence[str]) -> bool:
    """Whether a text is an address in one of the nets; a mapped IPv4 address is that one."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return any(address in ipaddress.ip_network(net, strict=False) for net in nets)


def present(values: Sequence[Value]) -> list[Value]:
    return [value for value in values if value is not None]


def equal(left: Value, right: Value) -> bool:
    """`left = right` is TRUE: NaN equals itself, and BIGINT meets DOUBLE as DOUBLE."""
    if left is None or right is None:
        return False
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    return size(left) == size(right)


def java_int(*places: int) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Arguments at these places are 32-bit numbers in Spark; another one makes the call NULL."""

    def wrap(function: Callable[..., Value]) -> Callable[..., Value]:
        def checked(*arguments: Value) -> Value:
            for place in places:
                if place < len(arguments) and not -(2**31) <= int(arguments[place] or 0) < 2**31:
                    return None
            return function(*arguments)

        return checked

    return wrap


# Functions for which NULL is a value like others. All others are NULL as soon as one argument is.
def unless_null(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: None if None in values else function(*values)


TAKING_NULL: dict[str, Callable[..., Value]] = {
    **COLLECTIONS,
    "nanvl": lambda x, otherwise: otherwise if x is not None and math.isnan(x) else x,
    "isnan": lambda x: x is not None and math.isnan(x),
    "nvl": lambda value, otherwise: otherwise if value is None else value,
    "nvl2": lambda value, known, unknown: unknown if value is None else known,
    "nullif": lambda value, other: None if equal(value, other) else value,
    "if": lambda condition, then, otherwise: then if condition else otherwise,
    "coalesce": lambda *values: next(iter(present(values)), None),
    "concat_ws": lambda between, *parts: (
        None if between is None else str(between).join(map(str, present(parts)))
    ),
    "locate": locate,
    "split": unless_null(java_int(2)(split)),
    "regexp_extract_all": unless_null(java_int(2)(regexp_extract_all)),
    "format_string": format_string,
    "least": lambda *values: min(present(values), key=size, default=None),  # type: ignore[type-var]  # one type
    "greatest": lambda *values: max(present(values), key=size, default=None),  # type: ignore[type-var]  # one type
}

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "instant": lambda seconds: round(seconds * 1_000_000),
    "abs": absolute,
    "round": round_half_up,
    "floor": down,
    "ceil": up,
    "sign": lambda x: x if x == 0 or math.isnan(x) else math.copysign(1.0, x),
    "lower": lambda text: text.lower(),
    "upper": lambda text: text.upper(),
    "length": len,
    "concat": lambda *parts: "".join(parts),
    "substring": java_int(1, 2)(substring),
    "left": java_int(1)(lambda text, count: text[:count] if count > 0 else ""),
    "right": java_int(1)(
        lambda text, count: text[max(len(text) - count, 0) :] if count > 0 else ""
    ),
    "lpad": java_int(1)(lambda text, size, filling=" ": pad(text, size, filling, left=True)),
    "rpad": java_int(1)(lambda text, size, filling=" ": pad(text, size, filling, left=False)),
    "repeat": java_int(1)(repeated),
    "translate": translate,
    "initcap": initcap,
    "levenshtein": java_int(2)(levenshtein),
    "instr": lambda text, part: text.index(part) + 1 if part in text else 0,
    "split_part": java_int(2)(split_part),
    "regexp_like": lambda text, pattern: regex(text, pattern, ""),
    "regexp_extract": java_int(2)(regexp_extract),
    "regexp_replace": java_int(3)(regexp_replace),
    "ascii": lambda text: ord(text[:1] or "\0"),
    "chr": lambda number: "" if number < 0 else chr(number % 256),
    "hex": in_hexadecimal,
    "base64": mime,
    "unbase64": from_mime,
    "unhex": lambda text: (
        bytes.fromhex("0" * (len(text) % 2) + text)
        if set(text) <= set("0123456789abcdefABCDEF")
        else None
    ),  # type: ignore[dict-item]  # bytes
    "md5": lambda text: hashlib.md5(octets(text)).hexdigest(),
    "sha1": lambda text: hashlib.sha1(octets(text)).hexdigest(),
    "sha2": java_int(1)(sha2),
    "crc32": lambda text: binascii.crc32(octets(text)),
    "url_encode": url_encode,
    "url_decode": url_decode,
    "parse_url": parse_url,
    "get_json_object": get_json_object,
    "bround": bround,
    "pmod": pmod,
    "div": div,
    "width_bucket": width_bucket,
    "conv": java_int(1, 2)(conv),
    "bin": lambda number: f"{bits(number):b}",
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: (x | y) - (x & y),
    "~": lambda x: -1 - x,
    "shiftleft": java_int(1)(lambda x, places: wrapped(x * 2 ** (places % 64))),
    "shiftright": java_int(1)(lambda x, places: x // 2 ** (places % 64)),
    "sqrt": lambda x: math.nan if x < 0 else math.sqrt(x),
    "mod": remainder,
    "pi": lambda: math.pi,
    "e": lambda: math.e,
    "cbrt": math.cbrt,
    "pow": power,
    "exp": lambda x: math.inf if x > 709.8 else math.exp(x),
    "ln": lambda x: None if x <= 0 else math.log(x),
    "log": lambda x, y=None: logarithm(math.e, x) if y is None else logarithm(x, y),
    "log10": lambda x: None if x <= 0 else math.log10(x),
    "log2": lambda x: None if x <= 0 else math.log2(x),
    "radians": lambda x: x * (math.pi / 180),
    "degrees": lambda x: x * (180 / math.pi),
    "sin": lambda x: math.nan if math.isinf(x) else math.sin(x),
    "cos": lambda x: math.nan if math.isinf(x) else math.cos(x),
    "tan": lambda x: math.nan if math.isinf(x) else math.tan(x),
    "asin": lambda x: math.nan if abs(x) > 1 else math.asin(x),
    "acos": lambda x: math.nan if abs(x) > 1 else math.acos(x),
    "atan": math.atan,
    "atan2": lambda y, x: math.atan2(y + 0.0, x + 0.0),  # Spark makes -0.0 to 0.0
    "trim": lambda *texts: trimmed(*texts, ends=(True, True)),
    "ltrim": lambda *texts: trimmed(*texts, ends=(True, False)),
    "rtrim": lambda *texts: trimmed(*texts, ends=(False, True)),
    "replace": lambda text, find, put="": text.replace(find, put) if find else text,
    "reverse": lambda text: "".join(reversed(text)),
    "startswith": lambda text, part: text[: len(part)] == part,
    "endswith": lambda text, part: text[len(text) - len(part) :] == part if part else True,
    "contains": lambda text, part: text.find(part) >= 0,
    "like": lambda text, pattern, escape: like(text, pattern, escape, fold_case=False),
    "ilike": lambda text, pattern, escape: like(text, pattern, escape, fold_case=True),
    "rlike": regex,
    "cidr_match": lambda text, *nets: in_nets(text, nets),
    "is_private_ip": lambda text: in_nets(text, PRIVATE),
    "haversine": haversine,
    **{
        name: java_int(*places)(TIME_FUNCTIONS[name])
        for name, places in (
            ("date_add", (1,)),
            ("date_sub", (1,)),
            ("add_months", (1,)),
            ("make_date", (0, 1, 2)),
            ("make_timestamp", (0, 1, 2, 3, 4)),
        )
    },
}
FUNCTIONS = {**TIME_FUNCTIONS, **FUNCTIONS}
