"""The functions on text, on Python values as Spark SQL computes them."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import re2

from cqc.compiler.meaning.types import ColumnType
from tests.support.oracle import casts
from tests.support.oracle.number_functions import bits, whole

Value = int | float | str | bool | None


def trimmed(first: str, text: str | None = None, *, ends: tuple[bool, bool]) -> str:
    """Without characters at one end or both: spaces, or those of the first of two texts."""
    unwanted, left = (" ", first) if text is None else (first, text)
    while ends[0] and left and left[0] in unwanted:
        left = left[1:]
    while ends[1] and left and left[-1] in unwanted:
        left = left[:-1]
    return left


def substring(text: str, position: int, length: int = 2**31 - 1) -> str:
    """Positions count from 1, negative ones from the end, 0 is the first; what is outside the text is not there."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = start + length
    return "".join(text[at] for at in range(max(start, 0), min(end, len(text))))


def regex(text: str, pattern: str, _escape: str) -> bool | None:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.search(pattern, text, options) is not None
    except re2.error:
        return None


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
