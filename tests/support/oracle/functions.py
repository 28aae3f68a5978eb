"""The built-in scalar functions on Python values, as Spark SQL computes them."""

from __future__ import annotations

import base64
import binascii
import decimal
import hashlib
import ipaddress
import json
import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

import re2

from cqc.compiler.meaning.types import ColumnType
from tests.support.oracle import casts
from tests.support.oracle.nested import COLLECTIONS
from tests.support.oracle.patterns import like
from tests.support.oracle.times import TIME_FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Value = int | float | str | bool | None

# Enough digits for every DOUBLE written out in full.
EXACT = decimal.Context(prec=2000)


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


def size(value: Value) -> tuple[bool, Value]:
    """NaN is the greatest number."""
    if isinstance(value, float) and math.isnan(value):
        return (True, 0.0)
    return (False, value)


def fitting(value: int) -> int | None:
    return value if -(2**63) <= value < 2**63 else None


def absolute(value: float) -> Value:
    return abs(value) if isinstance(value, float | Decimal) else fitting(abs(value))


def trimmed(first: str, text: str | None = None, *, ends: tuple[bool, bool]) -> str:
    """Without characters at one end or both: spaces, or those of the first of two texts."""
    unwanted, left = (" ", first) if text is None else (first, text)
    while ends[0] and left and left[0] in unwanted:
        left = left[1:]
    while ends[1] and left and left[-1] in unwanted:
        left = left[:-1]
    return left


def round_half_up(value: float, digits: int = 0) -> Value:
    """Half away from zero on the decimal digits that the number shows, so 2.675 rounds to 2.68."""
    if isinstance(value, Decimal):
        return at_digit(value, digits, ROUND_HALF_UP)
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        return value
    if digits > 400:
        return value
    if digits < -400:
        return 0.0 if isinstance(value, float) else 0
    written = Decimal(repr(value))
    rounded = (written.scaleb(digits, EXACT)).to_integral_value(ROUND_HALF_UP)
    exact = rounded.scaleb(-digits, EXACT)
    if isinstance(value, float):
        return float(exact) + 0.0  # Decimal keeps the sign of zero, Spark does not
    return fitting(int(exact))


def down(value: float | Decimal, digits: int = 0) -> Value:
    if isinstance(value, Decimal):
        return at_digit(value, digits, ROUND_FLOOR)
    return whole(value, math.floor)


def up(value: float | Decimal, digits: int = 0) -> Value:
    if isinstance(value, Decimal):
        return at_digit(value, digits, ROUND_CEILING)
    return whole(value, math.ceil)


def at_digit(value: Decimal, digits: int, rounding: str) -> Any:
    """A DECIMAL with so many digits after the point; one that has fewer keeps its own."""
    kept = min(digits, -value.as_tuple().exponent)  # type: ignore[operator]  # a number
    return EXACT.quantize(
        value.scaleb(kept, EXACT).to_integral_value(rounding).scaleb(-kept, EXACT),
        Decimal(1).scaleb(-max(kept, 0)),
    )


def whole(value: float, towards: Callable[[float], int]) -> int | None:
    """A BIGINT; NULL where there is none for the number."""
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        return None
    return fitting(towards(value))


def substring(text: str, position: int, length: int = 2**31 - 1) -> str:
    """Positions count from 1, negative ones from the end, 0 is the first; what is outside the text is not there."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = start + length
    return "".join(text[at] for at in range(max(start, 0), min(end, len(text))))


def remainder(left: float, right: float) -> Value:
    """The sign is that of the dividend."""
    if right == 0:
        return None
    if isinstance(left, float) or isinstance(right, float):
        bad = math.isinf(left) or math.isnan(left) or math.isnan(right)
        return math.nan if bad else math.fmod(left, right)
    size = abs(left) % abs(right)
    return -size if left < 0 else size


def power(base: float, exponent: float) -> float:
    """As Java's StrictMath.pow."""
    if exponent == 0:
        return 1.0
    if math.isnan(base) or math.isnan(exponent) or (abs(base) == 1 and math.isinf(exponent)):
        return math.nan
    is_odd = math.isfinite(exponent) and math.fmod(exponent, 2) in (1.0, -1.0)
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and is_odd else math.inf
    except ValueError:
        if base != 0:
            return math.nan  # a root of a negative number
        return -math.inf if math.copysign(1.0, base) < 0 and is_odd else math.inf


def logarithm(base: float, x: float) -> Value:
    if base <= 0 or x <= 0:
        return None
    above, below = math.log(x), math.log(base)
    if below == 0:
        return math.nan if above == 0 or math.isnan(above) else math.copysign(math.inf, above)
    return above / below


def regex(text: str, pattern: str, _escape: str) -> bool | None:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.search(pattern, text, options) is not None
    except re2.error:
        return None


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


def haversine(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    values = (lat1, lon1, lat2, lon2)
    if any(math.isnan(value) or math.isinf(value) for value in values):
        return math.nan
    one, other = math.radians(lat1), math.radians(lat2)
    width = math.radians(lon2) - math.radians(lon1)
    chord = math.sin((other - one) / 2) ** 2
    chord += math.cos(one) * math.cos(other) * math.sin(width / 2) ** 2
    return 2 * 6371.0088 * math.asin(min(1.0, math.sqrt(chord)))


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


def pad(text: str, size: int, filling: str, *, left: bool) -> Value:
    if size <= len(text) or not filling:
        return text[:size] if size > 0 else ""
    if size > 2**20:
        return None
    added = ""
    while len(added) < size - len(text):
        added += filling[len(added) % len(filling)]
    return added + text if left else text + added


def repeated(text: str, times: int) -> Value:
    if times <= 0:
        return ""
    return None if len(text.encode()) * times > 2**20 else "".join(text for _ in range(times))


def translate(text: str, search: str, put: str) -> str:
    made = ""
    for character in text:
        at = search.find(character)
        made += character if at < 0 else put[at : at + 1]
    return made


def initcap(text: str) -> str:
    made, begins = "", True
    for at, character in enumerate(text):
        if character == " ":
            made += " "
        elif begins:
            made += character.title()
        else:
            # The whole text up to here decides how a sigma is written.
            word = text[text.rfind(" ", 0, at) + 1 :].split(" ")[0]
            inside = at - text.rfind(" ", 0, at) - 1
            made += word.lower()[len(word[:inside].lower()) :][: len(character.lower())]
        begins = character == " "
    return made


def split_part(text: str, separator: str, number: int) -> Value:
    parts = text.split(separator) if separator else [text]
    if number == 0:
        return None
    if abs(number) > len(parts):
        return ""
    return parts[number - 1] if number > 0 else parts[number]


def locate(part: Value, text: Value, *start: Value) -> Value:
    if start and (start[0] is None or not -(2**31) <= int(start[0]) < 2**31):
        return 0
    if part is None or text is None:
        return None
    begin = int(start[0]) if start and start[0] is not None else 1
    if begin < 1:
        return 0
    assert isinstance(part, str)
    assert isinstance(text, str)
    if part == "":
        return 1
    for at in range(begin - 1, len(text)):
        if text[at : at + len(part)] == part:
            return at + 1
    return 0


def quiet_regex(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None


def regexp_extract(text: str, pattern: str, group: int = 1) -> Value:
    regex_ = quiet_regex(pattern)
    if regex_ is None:
        return None
    found = regex_.search(text)
    if found is None:
        return ""
    if not 0 <= group <= regex_.groups:
        return None
    held: str | None = found[group]
    return "" if held is None else held


def regexp_extract_all(text: str, pattern: str, group: int = 1) -> list[str] | None:
    regex_ = quiet_regex(pattern)
    if regex_ is None:
        return None
    matches = list(regex_.finditer(text))
    if matches and not 0 <= group <= regex_.groups:
        return None
    return [found[group] or "" for found in matches]


def split(text: str, pattern: str, limit: int = -1) -> list[str] | None:
    regex_ = quiet_regex(pattern)
    if regex_ is None:
        return None
    if pattern == "":
        cut = min(limit if limit > 0 else len(text), len(text)) - 1
        return [*text[: max(cut, 0)], text[max(cut, 0) :]]
    parts = [0]
    for found in regex_.finditer(text):
        if found.end() > 0 and not (limit > 0 and len(parts) // 2 + 1 >= limit):
            parts += [found.start(), found.end()]
    parts.append(len(text))
    return [text[a:b] for a, b in zip(parts[::2], parts[1::2], strict=True)]


def from_mime(text: str) -> Any:
    """Java's decoder for MIME, a character at a time."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    held, at = "", 0
    while at < len(text) and text[at] != "=":
        held += text[at] if text[at] in alphabet else ""
        at += 1
    if len(held) % 4 == 1:
        return None
    if at < len(text):
        short = len(held) % 4 == 2 and text[at : at + 2] != "=="
        if len(held) % 4 == 0 or short or set(text[at:]) & set(alphabet):
            return None
    bits = "".join(f"{alphabet.index(character):06b}" for character in held)
    return bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits) // 8 * 8, 8))


def regexp_replace(text: str, pattern: str, put: str, start: int = 1) -> Value:
    regex_ = quiet_regex(pattern)
    if regex_ is None or start < 1:
        return None
    if start - 1 > len(text):
        return text
    made, at = text[: start - 1], start - 1
    for found in regex_.finditer(text, start - 1):
        written = java_replacement(put, found, regex_.groups)
        if written is None:
            return None
        made += text[at : found.start()] + written
        at = found.end()
    return made + text[at:]


def java_replacement(put: str, found: Any, groups: int) -> str | None:
    made, rest = "", put
    while rest:
        character, rest = rest[0], rest[1:]
        if character == "\\":
            if not rest:
                return None
            made, rest = made + rest[0], rest[1:]
        elif character == "$":
            digits = ""
            while rest and rest[0].isdigit() and (not digits or int(digits + rest[0]) <= groups):
                digits, rest = digits + rest[0], rest[1:]
            if not digits or int(digits) > groups:
                return None
            made += found[int(digits)] or ""
        else:
            made += character
    return made


def format_string(template: Value, *values: Value) -> Value:
    """The forms that the random calls use: %s, %d and %.2f."""
    if template is None:
        return None
    assert isinstance(template, str)
    made, rest = "", list(values)
    while (at := template.find("%")) >= 0:
        made, template = made + template[:at], template[at:]
        if template.startswith("%%"):
            made, template = made + "%", template[2:]
            continue
        if not rest:
            return None
        value = rest.pop(0)
        if template.startswith("%s"):
            made, template = made + shown(value), template[2:]
        elif template.startswith("%d"):
            if isinstance(value, bool | float | str):
                return None
            made, template = made + shown(value), template[2:]
        elif template.startswith("%05.1f"):
            if value is None:
                made += "    n"  # the precision cuts the word
            elif not isinstance(value, float):
                return None
            else:
                sign = "-" if value < 0 else ""
                exact = Decimal(repr(abs(value))).quantize(Decimal("0.1"), ROUND_HALF_UP)
                made += sign + str(exact).rjust(5 - len(sign), "0")
            template = template[6:]
        else:
            return None
    return made + template


def shown(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, float):
        text = casts.cast(value, ColumnType.DOUBLE, ColumnType.STRING)
    elif isinstance(value, bool):
        text = "true" if value else "false"
    else:
        text = str(value)
    return str(text)


def levenshtein(left: str, right: str, most: int | None = None) -> int:
    before = list(range(len(right) + 1))
    for row, one in enumerate(left, 1):
        now = [row]
        for column, other in enumerate(right, 1):
            now.append(min(now[-1] + 1, before[column] + 1, before[column - 1] + (one != other)))
        before = now
    return -1 if most is not None and before[-1] > most else before[-1]


def in_hexadecimal(value: Value) -> Value:
    if isinstance(value, float):
        value = whole(value, math.trunc)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{bits(value):X}"
    if isinstance(value, bytes):
        return value.hex().upper()
    return None if value is None else "".join(f"{byte:02X}" for byte in shown(value).encode())


def octets(value: Any) -> bytes:
    """The bytes of a BINARY or of a text."""
    return value if isinstance(value, bytes) else str(value).encode()


def mime(text: str) -> str:
    return "\r\n".join(base64.encodebytes(octets(text)).decode().split())


def sha2(text: str, bits: int) -> Value:
    names = {0: hashlib.sha256, 256: hashlib.sha256, 224: hashlib.sha224}
    more = {384: hashlib.sha384, 512: hashlib.sha512}
    make = names.get(bits) or more.get(bits)
    return None if make is None else make(octets(text)).hexdigest()


def url_encode(text: str) -> str:
    made = ""
    for byte in text.encode():
        character = chr(byte)
        plain = character.isascii() and (character.isalnum() or character in "*-_.")
        made += character if plain else "+" if character == " " else f"%{byte:02X}"
    return made


def url_decode(text: str) -> Value:
    made, at = b"", 0
    while at < len(text):
        if text[at] == "%":
            digits = text[at + 1 : at + 3]
            if len(digits) < 2 or not all(each in "0123456789abcdefABCDEF" for each in digits):
                return None
            made, at = made + bytes([int(digits, 16)]), at + 3
        else:
            made, at = made + (" " if text[at] == "+" else text[at]).encode(), at + 1
    return made.decode(errors="replace")


def parse_url(url: str, part: str, key: str | None = None) -> Value:
    """Enough of it for the example and for texts that are no URLs of more than a path."""
    if part not in ("PATH", "QUERY", "HOST") or "%" in url or " " in url or "\t" in url:
        return None
    scheme, _, rest = url.rpartition("://")
    host, slash, path = rest.partition("/") if scheme else ("", "", rest)
    path, question, query = (slash + path).partition("?")
    if key is not None:
        pairs = dict(each.split("=", 1) for each in query.split("&") if "=" in each)
        return pairs.get(key) if part == "QUERY" else None
    if part == "QUERY":
        return query if question else None
    return path if part == "PATH" else host or None


def get_json_object(text: str, path: str) -> Value:
    """Plain paths only: keys without dots, and places in brackets."""
    steps = re.findall(r"\.([A-Za-z]+)|\[(\d+)\]", path)
    if (
        not path.startswith("$")
        or "$" + "".join(f".{k}" if k else f"[{i}]" for k, i in steps) != path
    ):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        try:  # a number is read as far as it goes, when white space follows
            value, end = json.JSONDecoder().raw_decode(text)
        except ValueError:
            return None
        if not isinstance(value, int | float) or not text[end:][:1].isspace():
            return None
    for key, place in steps:
        try:
            value = value[key] if key else value[int(place)]
        except (KeyError, IndexError, TypeError):
            return None
    if value is None:
        return "null" if not steps else None
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return casts.double_to_text(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def bround(value: float, digits: int = 0) -> Value:
    if isinstance(value, Decimal):
        return at_digit(value, digits, ROUND_HALF_EVEN)
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        return value
    if digits > 400:
        return value
    if digits < -400:
        return 0.0 if isinstance(value, float) else 0
    scaled = Decimal(repr(value)).scaleb(digits, EXACT).to_integral_value(ROUND_HALF_EVEN)
    exact = scaled.scaleb(-digits, EXACT)
    return float(exact) + 0.0 if isinstance(value, float) else fitting(int(exact))


def pmod(left: float, right: float) -> Value:
    if isinstance(left, Decimal):
        rest = remainder(left, right)
        return remainder(rest + right, right) if rest is not None and rest < 0 else rest  # type: ignore[operator]  # DECIMAL
    rest = remainder(left, right)
    if rest is None or isinstance(rest, str) or not rest < 0:
        return rest
    if isinstance(rest, float) or isinstance(right, float):
        return remainder(rest + right, right)
    total = (rest + right + 2**63) % 2**64 - 2**63  # Java's addition wraps around
    return remainder(total, right)


def div(left: int, right: int) -> Value:
    if right == 0:
        return None
    size = abs(left) // abs(right)
    return fitting(size if (left < 0) == (right < 0) else -size)


def width_bucket(value: float, least: float, most: float, buckets: int) -> Value:
    ends = (least, most)
    if buckets <= 0 or buckets == 2**63 - 1 or math.isnan(value) or least == most:
        return None
    if any(math.isnan(end) or math.isinf(end) for end in ends):
        return None
    low, high = min(ends), max(ends)
    rises = least < most
    if value < low if rises else value > high:
        return 0
    if value >= high if rises else value <= low:
        return buckets + 1
    share = value - low if rises else high - value
    inside = float(buckets) * share / (high - low)
    return (int(inside) if math.isfinite(inside) else 0) + 1


def conv(number: str, source: int, target: int) -> Value:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    number = "".join(each.lower() if each.isascii() else each for each in number.strip(" "))
    if source not in range(2, 37) or abs(target) not in range(2, 37) or number == "":
        return None
    negative = number.startswith("-")
    good = ""
    for character in number.lstrip("-") if negative else number:
        if character not in digits[:source]:
            break
        good += character
    value = int(good, source) if good else 0
    if value >= 2**64:
        return None
    if negative and target > 0:
        signed = -value if value < 2**63 else -1
        value = signed % 2**64
    if target < 0 and value >= 2**63:
        negative, value = True, 2**64 - value
    written = ""
    while value:
        value, rest = divmod(value, abs(target))
        written = digits[rest] + written
    return ("-" if negative and target < 0 else "") + (written.upper() or "0")


def wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def bits(value: int) -> int:
    return value % 2**64


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
