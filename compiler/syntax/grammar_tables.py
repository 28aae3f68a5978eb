"""What Lark makes of the grammar, as plain data that is kept in a file.

Building the tables takes a quarter of a second, and loading Lark with its own file of them half a tenth, at every start. So what is wanted
of them is kept as numbers, texts and tuples in the user's cache folder, and Lark is loaded only where that file is not there, or
belongs to another grammar or another Python; where the folder cannot be written the tables are built each time.
"""

from __future__ import annotations

import marshal
import os
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cqc.grammar import grammar_text

if TYPE_CHECKING:
    from collections.abc import Iterable

_FORM = 2  # of the file; another one is not read
_SUM_BYTES = 4  # at its end, a sum of all bytes before: half a disk block that was lost must not make another grammar


class Rule(NamedTuple):
    """A rule of the grammar: its name, its parts with whether they are tokens, and what Lark's options say of it."""

    name: str
    parts: tuple[tuple[str, bool], ...]
    alias: str | None
    expand1: bool  # `?rule`: one value stays what it is
    left_out: tuple[
        bool, ...
    ]  # which places of the parts and between them are optional parts that are not there


class GrammarTables(NamedTuple):
    """For every state what a symbol does: the number of the next state, or that of the rule which ends there, inverted (`~`)."""

    rules: tuple[Rule, ...]
    states: dict[int, dict[str, int]]
    start: int
    end: int


def grammar_tables() -> GrammarTables:
    """The tables of single statements."""
    text = grammar_text()
    made_by = (_FORM, sys.version, text)
    file = _file()
    kept = None if file is None else _read(file, made_by)
    if kept is None:
        kept = _build(text)
        if file is not None:
            _write(file, made_by, kept)
    return kept


def _build(text: str) -> GrammarTables:
    from lark import Lark
    from lark.parsers.lalr_analysis import Shift

    lark = Lark(
        text,
        start="statement",
        parser="lalr",
        lexer="contextual",
        keep_all_tokens=True,
        maybe_placeholders=True,
    )
    machine: Any = lark.parser.parser.parser
    table = machine.parse_table
    number: dict[Any, int] = {}
    states = {
        state: {
            symbol: target if does is Shift else ~number.setdefault(target, len(number))
            for symbol, (does, target) in row.items()
        }
        for state, row in table.states.items()
    }
    rules = tuple(_plain(rule) for rule in number)
    return GrammarTables(
        rules, states, table.start_states["statement"], table.end_states["statement"]
    )


def _plain(rule: Any) -> Rule:
    return Rule(
        str(rule.origin.name),
        tuple((str(part.name), bool(part.is_term)) for part in rule.expansion),
        None if rule.alias is None else str(rule.alias),
        bool(rule.options.expand1),
        tuple(map(bool, rule.options.empty_indices)),
    )


def _file() -> Path | None:
    """Where the tables are kept: a folder of this user alone."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cqc"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # the latter when nobody knows where home is
        return None
    return folder / "grammar.tables" if os.access(folder, os.W_OK) else None


def _read(file: Path, made_by: tuple[Any, ...]) -> GrammarTables | None:
    """What a file keeps; None when there is none, or it was made by something else, or is no such file at all."""
    try:
        content = file.read_bytes()
        if _sum(content[:-_SUM_BYTES]) != content[-_SUM_BYTES:]:
            return None
        kept_by, rules, states, start, end = marshal.loads(content)
        if kept_by != made_by:
            return None
        return GrammarTables(_rules(rules), states, start, end)
    except (OSError, EOFError, ValueError, TypeError):
        return None


def _sum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(_SUM_BYTES, "little")


def _rules(kept: Iterable[Any]) -> tuple[Rule, ...]:
    return tuple(Rule(*rule) for rule in kept)


def _write(file: Path, made_by: tuple[Any, ...], made: GrammarTables) -> None:
    """Keep the tables; a reader beside us finds the file before or the file after, never half of one."""
    rules = tuple(tuple(rule) for rule in made.rules)
    half = file.with_suffix(f".{os.getpid()}")
    try:
        content = marshal.dumps((made_by, rules, made.states, made.start, made.end))
        half.write_bytes(content + _sum(content))
        half.replace(file)
    except OSError:  # a full disk: the next start builds them again
        half.unlink(missing_ok=True)
