"""Kernels of code points, digests and URLs (the compiler's `functions/encoding.py`): by whole columns, or once for each distinct text.

What a kernel gets and gives is in `kernel.py`; NULL is its caller's.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.bytes.byte_columns import with_others
from cqc.runtime.columns.bytes.digests import crc32_of, md5_of, sha1_of, sha256_of
from cqc.runtime.columns.bytes.digit_texts import (
    base64_of,
    hex_of_base64,
    hex_of_numbers,
    hex_of_texts,
    lower_digits,
)
from cqc.runtime.columns.bytes.text_bytes import first_points
from cqc.runtime.columns.bytes.urls import url_decoded, url_encoded
from cqc.runtime.columns.sortable_columns import bytes_of_hex
from cqc.runtime.expressions.casts import cast
from cqc.runtime.expressions.row_by_row import FAILED, is_constant, row_kernel
from cqc.runtime.kernel import is_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel, PartialOutcome

_DIGESTS = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}


def bytes_kernel(
    function: Callable[..., Any], dtype: type[np.generic] | None = None
) -> PartialKernel:
    """The kernel of a function of bytes: those of BINARY, or of a text in UTF-8."""
    of_text = row_kernel(lambda text, *more: function(text.encode(), *more), dtype)
    of_binary = row_kernel(lambda text, *more: function(bytes.fromhex(text), *more), dtype)

    def kernel(first: Column, *more: Column) -> PartialOutcome:
        chosen = of_binary if first.type is ColumnType.BINARY else of_text
        return chosen(first, *more)

    return kernel


def _rows_of(texts: Any) -> Any:
    """An array, of one text where it is a constant."""
    return pa.array([texts.as_py()], texts.type) if isinstance(texts, pa.Scalar) else texts


def _as_given(made: Any, given: Column) -> Any:
    """One value where a constant was given."""
    return made[0] if is_constant(given) else made


def _base64(column: Column) -> PartialOutcome:
    values = _rows_of(column.values)
    if column.type is ColumnType.BINARY:
        values = bytes_of_hex(values)
    return _as_given(base64_of(values), column), None, None


def _unbase64(column: Column) -> PartialOutcome:
    made, failed = hex_of_base64(_rows_of(column.values))
    return _as_given(made, column), np.asarray(_as_given(failed, column)), None


def _ascii(column: Column) -> PartialOutcome:
    made = first_points(_rows_of(column.values))
    return np.asarray(_as_given(made, column)), None, None


def _hex(column: Column) -> PartialOutcome:
    if column.type in (ColumnType.BIGINT, ColumnType.DOUBLE):
        whole, failed = cast(column, ColumnType.BIGINT)
        made = hex_of_numbers(np.atleast_1d(whole.values))
        return _as_given(made, whole), failed, None
    if column.type is ColumnType.BINARY:
        return pc.ascii_upper(column.values), None, None
    shown = cast(column, ColumnType.STRING)[0]
    return _as_given(hex_of_texts(_rows_of(shown.values)), shown), None, None


def _unhex(column: Column) -> PartialOutcome:
    """BINARY is held as hexadecimal digits, so these stay what they are."""
    made, there = lower_digits(_rows_of(column.values))
    return _as_given(made, column), None, np.asarray(_as_given(there, column))


@lru_cache(maxsize=1)
def _one_character_texts() -> pa.StringArray:
    """By number; the last one is nothing. Not made at the start: the first array of texts loads pandas."""
    return pa.array([*map(chr, range(256)), ""], pa.string())


def _chr(number: Column) -> PartialOutcome:
    """The character of the last eight bits; nothing for a negative number."""
    codes = np.asarray(number.values)
    made = _one_character_texts().take(pa.array(np.where(codes < 0, 256, codes & 0xFF).reshape(-1)))
    return (made if codes.ndim else made[0]), None, None


def _digest_kernel(
    columnwise: Callable[..., Any], slowly: PartialKernel, sizes: Sequence[int] = ()
) -> PartialKernel:
    """A digest of whole columns, where the second argument, if there is one, is a constant among `sizes`."""

    def kernel(first: Column, *more: Column) -> PartialOutcome:
        chosen = [int(each.values) for each in more if is_constant(each)]
        known = len(chosen) == len(more) and all(each in sizes for each in chosen)
        if is_constant(first) or not known or is_plain():
            return slowly(first, *more)
        values = bytes_of_hex(first.values) if first.type is ColumnType.BINARY else first.values
        return columnwise(values, *(each or 256 for each in chosen)), None, None

    return kernel


def _url_encoded(text: str) -> str:
    return quote_plus(text, safe="*-_.").replace("~", "%7E")


_encode_slowly = row_kernel(_url_encoded)


def _url_encode(column: Column) -> PartialOutcome:
    if is_constant(column) or is_plain():
        return _encode_slowly(column)
    return url_encoded(column.values), None, None


def _url_decode(column: Column) -> PartialOutcome:
    if is_constant(column) or is_plain():
        return _decode_slowly(column)
    made, failed, left = url_decoded(column.values)
    return with_others(made, left, column.values, decoded), failed, None


def _sha2(data: bytes, bits: int) -> str | None:
    name = _DIGESTS.get(bits)
    return None if name is None else hashlib.new(name, data).hexdigest()


def _digest(name: str) -> Callable[[bytes], str]:
    make = getattr(hashlib, name)

    def digest(data: bytes) -> str:
        shown: str = make(data, usedforsecurity=False).hexdigest()
        return shown

    return digest


_ESCAPES = re.compile(r"(?:%[0-9a-fA-F]{2})+")


def decoded(text: str) -> Any:
    """What `url_encode` made it of; bytes that are no UTF-8 become the replacement character."""
    plain = text.replace("+", " ")
    parts, at = [], 0
    for found in _ESCAPES.finditer(plain):
        parts.append(plain[at : found.start()])
        parts.append(bytes.fromhex(found[0].replace("%", "")).decode(errors="replace"))
        at = found.end()
    parts.append(plain[at:])
    return FAILED if any("%" in part for part in parts[::2]) else "".join(parts)


_decode_slowly = row_kernel(decoded)

_UNRESERVED = r"A-Za-z0-9_\-!.~'()*"
_OTHER = r"[^\x00-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f\u3000]"
_ESCAPED = r"%[0-9a-fA-F]{2}"


def _characters(more: str) -> str:
    return rf"(?:[{_UNRESERVED}{more}]|{_OTHER}|{_ESCAPED})"


_URI = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*):)?"
    r"(?:(?P<opaque>(?<=:)(?!/)" + _characters(r";?:@&=+$,\[\]/") + r"+)"
    r"|(?://(?P<authority>(?!/)" + _characters(r";:@&=+$,\[\]") + r"+|(?=/)))?"
    r"(?P<path>" + _characters(r";:@&=+$,/") + r"*)"
    r"(?:\?(?P<query>" + _characters(r";/?:@&=+$,\[\]") + r"*))?)"
    r"(?:\#(?P<fragment>" + _characters(r";/?:@&=+$,\[\]") + r"*))?"
)
_SERVER = re.compile(
    r"(?:(?P<user>(?:[" + _UNRESERVED + r";:&=+$,]|" + _OTHER + "|" + _ESCAPED + r")*)@)?"
    r"(?P<host>\[[0-9A-Fa-f:.%a-z]+\]|(?:[A-Za-z0-9](?:[A-Za-z0-9\-]*[A-Za-z0-9])?\.)*"
    r"[A-Za-z](?:[A-Za-z0-9\-]*[A-Za-z0-9])?\.?|\d{1,3}(?:\.\d{1,3}){3})(?::(?P<port>\d*))?"
)


def url_part(url: str, part: str, key: str | None = None) -> Any:
    """One part of a URL, as Java's URI sees it: NULL where it has none, a failure where it is no URI."""
    found = _URI.fullmatch(url)
    if found is None or (found["scheme"] is not None and _is_bare(found)):
        return FAILED
    if found["authority"] is None and found["path"] == "//":
        return FAILED  # Java expects a server after two strokes
    if found["scheme"] is None and ":" in url.split("/", 1)[0].split("?", 1)[0].split("#", 1)[0]:
        return FAILED
    if key is not None:
        return _query_value(found["query"], key) if part == "QUERY" else None
    server = None if found["authority"] is None else _SERVER.fullmatch(found["authority"])
    if server is not None and len(server["port"] or "") > 9:
        server = None
    is_opaque = found["opaque"] is not None
    parts: dict[str, str | None] = {
        "HOST": server and server["host"],
        "PATH": None if is_opaque else found["path"],
        "QUERY": found["query"],
        "REF": found["fragment"],
        "PROTOCOL": found["scheme"],
        "FILE": _file(found),
        "AUTHORITY": found["authority"],
        "USERINFO": server and server["user"],
    }
    return parts.get(part)


def _is_bare(found: re.Match[str]) -> bool:
    """Nothing after the scheme, or `//` and nothing."""
    return (
        not found["opaque"]
        and not found["path"]
        and found["authority"] is None
        and found["query"] is None
    )


def _file(found: re.Match[str]) -> str | None:
    if found["opaque"]:
        return None
    path: str = found["path"]
    return path if found["query"] is None else f"{path}?{found['query']}"


def _query_value(query: str | None, key: str) -> str | None:
    """The key is a regular expression, as in Spark."""
    if query is None:
        return None
    try:
        found = re.search(rf"(?:&|^){key}=([^&]*)", query)
    except re.error:
        return None
    return found[1] if found else None


KERNELS: dict[str, Kernel] = {}

PARTIAL_KERNELS: dict[str, PartialKernel] = {
    "ascii": _ascii,
    "chr": _chr,
    "hex": _hex,
    "base64": _base64,
    "unbase64": _unbase64,
    "unhex": _unhex,
    "md5": _digest_kernel(md5_of, bytes_kernel(_digest("md5"))),
    "sha1": _digest_kernel(sha1_of, bytes_kernel(_digest("sha1"))),
    "sha2": _digest_kernel(sha256_of, bytes_kernel(_sha2), (0, 224, 256)),
    "crc32": _digest_kernel(crc32_of, bytes_kernel(zlib.crc32, np.int64)),
    "url_encode": _url_encode,
    "url_decode": _url_decode,
    "parse_url": row_kernel(url_part),
}

NODES: dict[str, NodeMaker] = {}
