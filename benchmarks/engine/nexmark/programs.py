"""The queries of examples/nexmark as text, alone, together, and as variants of one another."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "nexmark"
NAMES = tuple(f"q{number}" for number in range(23))
_SINK = re.compile(r"CREATE SINK .*?;\n", re.DOTALL)


def declarations() -> str:
    """The streams and the table, without files."""
    text = (FOLDER / "streams.cq").read_text(encoding="utf-8")
    return re.sub(r"\s*WITH \(.*?\)(?=;)", "", text)


def query(name: str) -> str:
    """One query as it is written; results go where the benchmark says."""
    text = (FOLDER / f"{name}.cq").read_text(encoding="utf-8")
    return _SINK.sub("", text).replace(" INTO logged", "")


def program(names: tuple[str, ...] = NAMES, variants: int = 1) -> str:
    """Queries together; of each so many variants, which differ in a constant."""
    parts = [declarations()]
    for name in names:
        parts += [query(name) if at == 0 else variant(name, at) for at in range(variants)]
    return "\n".join(parts)


# What differs between the variants of a query: a constant of it for another, or a condition that it has not.
_CHANGES = {
    "q1": ("0.908 *", "0.{n} *"),
    "q2": ("% 123 = 0", "% 123 = {small}"),
    "q3": ("a.category = 10", "a.category = 10 AND a.reserve > {big}"),
    "q4": ("a.id = b.auction", "a.id = b.auction AND a.reserve > {big}"),
    "q5": (
        "FROM     HOP(bid, 2 SEC, 10 SEC)",
        "FROM     HOP(bid, 2 SEC, 10 SEC) WHERE auction % 100 <> {small}",
    ),
    "q6": ("a.id = b.auction", "a.id = b.auction AND a.reserve > {big}"),
    "q7": (
        "FROM    TUMBLE(bid, 10 SEC)",
        "FROM    TUMBLE(bid, 10 SEC) WHERE auction % 100 <> {small}",
    ),
    "q8": ("p.id = a.seller", "p.id = a.seller AND p.id % 100 <> {small}"),
    "q9": ("a.id = b.auction", "a.id = b.auction AND a.reserve > {big}"),
    "q11": ("GROUP BY", "WHERE bidder % 100 = {small} GROUP BY"),
    "q12": ("GROUP BY", "WHERE bidder % 100 = {small} GROUP BY"),
    "q14": ("> 1000000", "> {million}"),
    "q15": ("GROUP BY", "WHERE auction % 100 = {small} GROUP BY"),
    "q16": ("GROUP BY", "WHERE auction % 100 = {small} GROUP BY"),
    "q17": ("GROUP BY", "WHERE auction % 100 = {small} GROUP BY"),
    "q18": ("BEGIN", "WHERE auction % 100 = {small} BEGIN"),
    "q19": ("BEGIN", "WHERE auction % 100 = {small} BEGIN"),
    "q20": ("a.category = 10", "a.category = 10 AND b.auction % 100 = {small}"),
}
_ALONE = ("FROM   bid", "FROM   bid WHERE auction % 100 = {small}")


def variant(name: str, number: int) -> str:
    """A query under another name, with another constant."""
    old, new = _CHANGES.get(name, _ALONE)
    values = {
        "n": 900 + number,
        "small": number,
        "big": 100 * number,
        "million": 1_000_000 + 10_000 * number,
    }
    text = query(name)
    if name in ("q0", "q13", "q21", "q22", "q10"):
        text = _only_some(text, number)
    else:
        assert old in text, name
        text = text.replace(old, new.format(**values), 1)
    return re.sub(rf"\b{name}(?=\b|_bids)", f"{name}_v{number}", text)


def _only_some(text: str, number: int) -> str:
    """A projection of some of the bids."""
    body = text.rstrip().removesuffix(";")
    prefix = "b." if " bid b" in body else ""
    if "WHERE" in body:
        head, _, conditions = body.partition("WHERE")
        return f"{head}WHERE {prefix}auction % 100 = {number} AND ({conditions.strip()});\n"
    return f"{body} WHERE {prefix}auction % 100 = {number};\n"
