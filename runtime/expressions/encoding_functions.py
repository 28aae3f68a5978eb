"""Kernels of code points, digests and URLs (the compiler's `functions/encoding.py`), once for each distinct text.

What a kernel gets and gives is in `kernel.py`; NULL is its caller's.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.sortable_columns import hex_of_bytes
from cqc.runtime.expressions.casts import cast
from cqc.runtime.expressions.row_by_row import FAILED, row_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel, PartialOutcome

_LINE = 76
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


def _in_lines(data: bytes) -> str:
    encoded = base64.b64encode(data).decode()
    return "\r\n".join(encoded[at : at + _LINE] for at in range(0, len(encoded), _LINE))


_hex_text = row_kernel(lambda text: text.encode().hex().upper())
_hex_whole = row_kernel(lambda number: format(number & (2**64 - 1), "X"))


def _hex(column: Column) -> PartialOutcome:
    if column.type in (ColumnType.BIGINT, ColumnType.DOUBLE):
        whole, failed = cast(column, ColumnType.BIGINT)
        values, _, present = _hex_whole(whole)
        return values, failed, present
    if column.type is ColumnType.BINARY:
        return pc.ascii_upper(column.values), None, None
    texts = cast(column, ColumnType.STRING)[0].values
    if isinstance(texts, pa.Scalar):
        return _hex_text(Column(ColumnType.STRING, texts))
    return pc.ascii_upper(hex_of_bytes(texts, None)), None, None


_DIGITS_ALONE = r"^(?:[0-9a-fA-F]{2})*$"


def _unhex(column: Column) -> PartialOutcome:
    """BINARY is held as hexadecimal digits, so these stay what they are."""
    texts = column.values
    odd = pc.equal(pc.bit_wise_and(pc.binary_length(texts), 1), 1)
    whole = pc.if_else(odd, pc.binary_join_element_wise("0", texts, ""), texts)
    there = pc.fill_null(pc.match_substring_regex(whole, _DIGITS_ALONE), False)
    if isinstance(there, pa.Scalar):
        return pc.ascii_lower(whole), None, np.asarray(there.as_py())
    return pc.ascii_lower(whole), None, there.to_numpy(zero_copy_only=False)


_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]+")


def bytes_of_base64(text: str) -> Any:
    """What Java's decoder for MIME makes of a text, in hexadecimal: what is not base64's is passed over, but not within the padding."""
    digits, padding, rest = text.partition("=")
    digits = _NOT_BASE64.sub("", digits)
    over = len(digits) % 4
    if over == 1 or (padding and (over == 0 or _NOT_BASE64.sub("", rest))):
        return FAILED
    if padding and over == 2 and not rest.startswith("="):
        return FAILED
    return base64.b64decode(digits + "=" * (-over % 4)).hex()


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
    "ascii": row_kernel(lambda text: ord(text[0]) if text else 0, np.int64),
    "chr": row_kernel(lambda number: chr(number & 0xFF) if number >= 0 else ""),
    "hex": _hex,
    "base64": bytes_kernel(_in_lines),
    "unbase64": row_kernel(bytes_of_base64),
    "unhex": _unhex,
    "md5": bytes_kernel(_digest("md5")),
    "sha1": bytes_kernel(_digest("sha1")),
    "sha2": bytes_kernel(_sha2),
    "crc32": bytes_kernel(zlib.crc32, np.int64),
    "url_encode": row_kernel(lambda text: quote_plus(text, safe="*-_.").replace("~", "%7E")),
    "url_decode": row_kernel(decoded),
    "parse_url": row_kernel(url_part),
}

NODES: dict[str, NodeMaker] = {}
