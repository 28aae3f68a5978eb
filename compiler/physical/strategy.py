"""The switches of a run that change what an answer costs, and never the answer."""

from __future__ import annotations

import itertools
import re

from cqc.compiler.diagnostics.record import record

JOINS = ("auto", "flat", "left-deep", "bushy")


@record
class Strategy:
    """Switches that change cost and never an answer."""

    join: str = "auto"
    feedback: str = "auto"
    routing: str = "selectivity"
    order: str = "adaptive"
    packet: int | None = None  # None: the engine adapts it
    sharing: bool = True
    nested_loops: bool = False  # trees compare every two rows, as in the papers: for benchmarks
    maintenance: str = "auto"  # of what pull queries ask for: eager, lazy, or as they are used


def parse_join(text: str) -> str:
    """The shape of joins: a name, or a tree such as ((A B) (C D)).

    Raises:
        ValueError: for anything else.
    """
    if text in JOINS:
        return text
    words = shape_words(text)
    depth, closed, is_tree = 0, 0, len(words) > 3 and words[0] == "("
    for word in words:
        is_tree = is_tree and not closed
        depth += (word == "(") - (word == ")")
        closed += depth == 0
    pairs = itertools.pairwise(words)
    if not is_tree or depth or ("(", ")") in pairs:
        raise ValueError(
            f'--join wants {", ".join(JOINS)} or a tree such as "((A B) (C D))", not {text!r}'
        )
    return text


def shape_words(text: str) -> list[str]:
    """The parentheses and names of a tree of joins."""
    return re.findall(r"[()]|[^()\s,]+", text)
