"""The rules as SQL conditions over columns in small letters, for DuckDB and SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.benchmarks.engine.rules.workload.rules import quoted

if TYPE_CHECKING:
    from cqc.benchmarks.engine.rules.workload.rules import Atom, Group, Rule

SMALL = "small_"


def condition_of(rule: Rule, dialect: str) -> str:
    """A rule as the condition of a WHERE."""
    return " AND ".join(_group(group, dialect) for group in rule.groups)


def _group(group: Group, dialect: str) -> str:
    if group.every:
        text = " AND ".join(atom_of(atom, dialect) for atom in group.atoms)
    else:
        text = _any_of(group, dialect)
    return f"NOT coalesce({text}, FALSE)" if group.negated else f"({text})"


def _any_of(group: Group, dialect: str) -> str:
    parts: list[str] = []
    sets: dict[str, list[str]] = {}
    for atom in group.atoms:
        if atom.kind == "whole":
            sets.setdefault(SMALL + atom.column, []).append(quoted(atom.text.lower()))
        elif atom.kind == "equal":
            sets.setdefault(atom.column, []).append(quoted(atom.text))
        else:
            parts.append(atom_of(atom, dialect))
    parts += [f"{column} IN ({', '.join(texts)})" for column, texts in sets.items()]
    while len(parts) > 2:  # balanced: SQLite allows a thousand levels
        parts = [_both(parts[at : at + 2]) for at in range(0, len(parts), 2)]
    return " OR ".join(parts)


def _both(parts: list[str]) -> str:
    return f"({parts[0]} OR {parts[1]})" if len(parts) == 2 else parts[0]


def atom_of(atom: Atom, dialect: str, alias: str = "") -> str:
    """One comparison."""
    column, small, text = (
        alias + atom.column,
        alias + SMALL + atom.column,
        quoted(atom.text.lower()),
    )
    duckdb = dialect == "duckdb"
    match atom.kind:
        case "contains":
            return f"contains({small}, {text})" if duckdb else f"instr({small}, {text}) > 0"
        case "ends":
            short = f"substr({small}, -{len(atom.text)}) = {text}"
            return f"ends_with({small}, {text})" if duckdb else short
        case "starts":
            short = f"substr({small}, 1, {len(atom.text)}) = {text}"
            return f"starts_with({small}, {text})" if duckdb else short
        case "whole":
            return f"{small} = {text}"
        case "pattern":
            return f"{small} LIKE {text}"
        case "equal":
            return f"{column} = {quoted(atom.text)}"
        case "regex":
            regex = quoted(atom.text)
            return f"regexp_matches({column}, {regex})" if duckdb else f"{column} REGEXP {regex}"
        case "null":
            return f"{column} IS NULL"
