"""The LALR tables of the grammar (`grammar_tables`), and the loop that reads a statement's kinds with them.

A kind can be several of the grammar's terminals: RANGE is the keyword inside `[` and a name elsewhere. As with Lark's
contextual lexer, the state of the parser decides: the first of the kind's terminals that the state accepts is meant.
The loop is our own because the kinds need no second lexer, which halves the time for a query of thousands of conditions.

Of a name the grammar makes a column, which is a primary, a signed value, a product, a sum, a comparison and so on up to an
expression. These steps make nothing, and what they lead to depends only on the states before and after the name and on
the terminal that follows, so a chain of them is walked once and remembered (`Reduce.leads`).
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics.diagnostic import InternalError
from cqc.compiler.diagnostics.record import record
from cqc.compiler.syntax.build_statements import StatementPieces
from cqc.compiler.syntax.grammar_tables import grammar_tables
from cqc.compiler.syntax.rule_values import make_value, single_helpers
from cqc.compiler.syntax.tokens import (
    ANY_COLUMN,
    COMPARISON,
    CONTEXTUAL,
    FOREIGN,
    NAME,
    NUMBER,
    PARAMETER,
    RESERVED,
    STRING,
    TYPE,
    UNIT,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cqc.compiler.syntax.pieces import Piece

END = "$END"
"""What Lark calls the end of the statement."""

_SYMBOLS = {
    "(": "LPAR",
    ")": "RPAR",
    "[": "LSQB",
    "]": "RSQB",
    ",": "COMMA",
    ".": "DOT",
    "*": "STAR",
    "+": "PLUS",
    "-": "MINUS",
    "/": "SLASH",
    "%": "PERCENT",
    "=": "EQUAL",
    "&": "AMPERSAND",
    "|": "VBAR",
    "^": "CIRCUMFLEX",
    "~": "TILDE",
    "::": "DOUBLE_COLON",
    "=>": "FAT_ARROW",
    PARAMETER: "PARAMETER",
    ANY_COLUMN: "ANY_COLUMN",
    "->": "ARROW",
    ":": "COLON",
    COMPARISON: "COMPARISON",
    NUMBER: "NUMBER",
    STRING: "STRING",
    NAME: "NAME",
    "ILIKE": "LIKE",
    "RLIKE": "LIKE",
    END: END,
}

TERMINALS: dict[str, tuple[str, ...]] = {
    **{word: (word,) for word in RESERVED},
    **{word: (word, "NAME") for word in CONTEXTUAL},
    **dict.fromkeys(FOREIGN, ("NAME",)),
    **{kind: (terminal,) for kind, terminal in _SYMBOLS.items()},
    "WITHIN": ("WITHIN", "NAME"),  # WITHIN GROUP; elsewhere the habit of another system
    UNIT: ("UNIT", "NAME"),
    TYPE: ("TYPE", "NAME"),
    "TIMESTAMP": ("TIMESTAMP", "TYPE", "NAME"),
    "DATE": ("DATE", "TYPE", "NAME"),
    "DECIMAL": ("DECIMAL", "TYPE", "NAME"),
    "NUMERIC": ("NUMERIC", "TYPE", "NAME"),
}
"""The terminals that a kind can be, keywords first."""


@record
class Reduce:
    """The end of a rule: how many values it takes, its name, and what makes one value of them (None: the value stays).

    `leads` remembers, by terminal and by the state before the rule, the state after it and after the rules of one value that
    follow and make nothing.
    """

    size: int
    rule: str
    make: Callable[..., Any] | None
    leads: dict[str, dict[int, int]] = field(default_factory=dict)


@record
class Tables:
    """For every state what a terminal does (go to a state, or end a rule), and where a rule leads."""

    actions: dict[int, dict[str, int | Reduce]]
    start: int
    end: int
    meant: dict[int, dict[str, tuple[str, int | Reduce | None]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """By state and kind which terminal is meant and what it does, as far as it was asked."""


@record
class Failure:
    """Kinds that are no statement: the number of the first that does not fit, and the terminals that would."""

    at: int
    expected: frozenset[str]


_building = threading.Lock()


@lru_cache(maxsize=1)
def tables() -> Tables:
    """The tables of single statements. Threads that ask at once wait for the one that builds them."""
    with _building:
        return _built()


@lru_cache(maxsize=1)
def _built() -> Tables:
    found, pieces = grammar_tables(), StatementPieces()
    single = single_helpers(found.rules)
    ends = [
        Reduce(len(rule.parts), rule.name, make_value(rule, pieces, single)) for rule in found.rules
    ]
    actions = {
        state: {symbol: target if target >= 0 else ends[~target] for symbol, target in row.items()}
        for state, row in found.states.items()
    }
    return Tables(actions, found.start, found.end)


def forget_tables() -> None:
    """Give the tables back; who needs them later makes them anew."""
    tables.cache_clear()
    _built.cache_clear()


def read_kinds(kinds: Sequence[str]) -> Piece | Failure:
    """Parse the kinds of a statement's tokens.

    Example:
        read_kinds(["SELECT", "*", "FROM", "x"]) is a Piece.
    """
    found = tables()
    actions, meant, end = found.actions, found.meant, found.end
    state = found.start
    states = [state]
    values: list[Any] = []
    # Twenty thousand tokens in one statement are normal, so the loop is written out.
    for at, kind in enumerate((*kinds, END)):
        try:
            terminal, action = meant[state][kind]
        except KeyError:
            terminal = _terminal(actions[state], kind)
            action = actions[state].get(terminal)
            meant[state][kind] = terminal, action
        while action is not None:
            if type(action) is int:
                state = action
                states.append(state)
                values.append(at)
                break
            size, make = action.size, action.make  # type: ignore[union-attr]  # no number, so the end of a rule
            if size == 1:
                if make is not None:
                    values[-1] = make(values[-1])
                states.pop()
            else:
                first = len(values) - size
                values[first:] = (make(*values[first:]),)  # type: ignore[misc]  # only one value is passed on
                del states[first + 1 :]
            before = states[-1]
            try:
                state = action.leads[terminal][before]  # type: ignore[union-attr]
            except KeyError:
                state = _lead(found, before, action, terminal)  # type: ignore[arg-type]
            states.append(state)
            if state == end and kind == END:
                piece: Piece = values[-1]
                return piece
            action = actions[state].get(terminal)
        else:
            return Failure(at, accepted(states_after(kinds[:at])))
    raise InternalError("the parser went on after the end")


def _lead(found: Tables, before: int, ended: Reduce, terminal: str) -> int:
    """Where the end of a rule leads, with the rules after it that only pass its value on; remembered."""
    action: int | Reduce | None = ended
    state = before
    while isinstance(action, Reduce):
        state = found.actions[before][action.rule]  # type: ignore[assignment]  # a rule always leads to a state
        following = found.actions[state].get(terminal)
        passes = isinstance(following, Reduce) and following.size == 1 and following.make is None
        action = following if passes and state != found.end else None
    ended.leads.setdefault(terminal, {})[before] = state
    return state


def _terminal(row: dict[str, int | Reduce], kind: str) -> str:
    """Which of a kind's terminals is meant in a state; nothing when it accepts none."""
    for terminal in TERMINALS.get(kind, ()):
        if terminal in row:
            return terminal
    return ""


def states_after(kinds: Sequence[str]) -> list[int]:
    """The states that a beginning without a mistake leads through."""
    states = [tables().start]
    first_misfit(states, kinds)
    return states


def first_misfit(states: list[int], kinds: Iterable[str]) -> int | None:
    """Let kinds act on states, without making anything; which of them is the first not to fit, None when all do."""
    actions = tables().actions
    for at, kind in enumerate(kinds):
        if not _follow(states, _terminal(actions[states[-1]], kind)):
            return at
    return None


def accepted(states: list[int]) -> frozenset[str]:
    """The terminals that lead on from some states.

    The row of the last state has some more, which are accepted only where that state is reached another way; so each
    is tried.
    """
    row = tables().actions[states[-1]]
    candidates = [symbol for symbol in row if symbol == END or symbol.isupper()]
    return frozenset(symbol for symbol in candidates if _follow(list(states), symbol))


def _follow(states: list[int], terminal: str) -> bool:
    found = tables()
    while (action := found.actions[states[-1]].get(terminal)) is not None:
        if isinstance(action, int):
            states.append(action)
            return True
        del states[len(states) - action.size :]
        target = found.actions[states[-1]][action.rule]
        if target == found.end:
            return terminal == END
        states.append(target)  # type: ignore[arg-type]  # a rule always leads to a state
    return False
