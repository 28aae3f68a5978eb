"""The rules in Polars: `python -m cqc.benchmarks.engine.rules.peers.polars_rules FOLDER FORMAT RULES_A_SELECT OUT`.

Written as one would by hand for speed: only the columns that rules read, small letters made once a column, and lists of
patterns by Polars' own automaton (`contains_any`) or as sets.
"""

from __future__ import annotations

import sys
from functools import reduce
from operator import and_, or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from cqc.benchmarks.engine.rules.peers.found import Found, by_stream, needed_columns
from cqc.benchmarks.engine.rules.workload.rules import regex_of
from cqc.benchmarks.engine.rules.workload.rules_file import read_rules

if TYPE_CHECKING:
    from cqc.benchmarks.engine.rules.workload.rules import Atom, Group, Rule

_SMALL = "small_"
_BY_AUTOMATON = 4  # literals of one list


def frame_of(path: Path, columns: dict[str, bool]) -> Any:
    """The columns that rules read, each in small letters, and as it is where a rule asks for that."""
    names = list(dict.fromkeys(["ts", "host", "record_id", *columns]))
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path, columns=names)
    else:
        frame = pl.read_ndjson(path, schema=dict.fromkeys(names, pl.String))
    small = [pl.col(name).str.to_lowercase().alias(_SMALL + name) for name in columns]
    kept = [name for name in names if columns.get(name, True) or name in ("host", "record_id")]
    return frame.select([*kept, *small])


def condition_of(rule: Rule) -> Any:
    """A rule as an expression."""
    return reduce(and_, map(_group, rule.groups))


def _group(group: Group) -> Any:
    if group.every:
        parts = [_atom(atom) for atom in group.atoms]
        found = reduce(and_, parts)
    else:
        found = _any_of(group)
    return ~found.fill_null(value=False) if group.negated else found


def _any_of(group: Group) -> Any:
    lists: dict[tuple[str, str], list[Atom]] = {}
    for atom in group.atoms:
        lists.setdefault((atom.column, atom.kind), []).append(atom)
    parts: list[Any] = []
    for (column, kind), atoms in lists.items():
        texts = [atom.text.lower() for atom in atoms]
        if kind == "contains" and len(atoms) >= _BY_AUTOMATON:
            parts.append(pl.col(_SMALL + column).str.contains_any(texts))
        elif kind == "whole":
            parts.append(pl.col(_SMALL + column).is_in(texts))
        elif kind == "equal":
            parts.append(pl.col(column).is_in([atom.text for atom in atoms]))
        else:
            parts += [_atom(atom) for atom in atoms]
    return parts[0] if len(parts) == 1 else _balanced(parts)


def _balanced(parts: list[Any]) -> Any:
    """OR of many without a tower of them."""
    while len(parts) > 1:
        parts = [reduce(or_, parts[at : at + 2]) for at in range(0, len(parts), 2)]
    return parts[0]


def _atom(atom: Atom) -> Any:
    column, small, text = pl.col(atom.column), pl.col(_SMALL + atom.column), atom.text.lower()
    match atom.kind:
        case "contains":
            return small.str.contains(text, literal=True)
        case "ends":
            return small.str.ends_with(text)
        case "starts":
            return small.str.starts_with(text)
        case "whole":
            return small == text
        case "pattern":
            return small.str.contains(f"(?s)^{regex_of(text)}$")
        case "equal":
            return column == atom.text
        case "regex":
            return column.str.contains(atom.text)
        case "null":
            return column.is_null()


def main(folder: Path, form: str, together: int, out: str) -> None:
    """Read, answer and write."""
    rules = read_rules(folder)
    needed = needed_columns(rules)
    ending = "parquet" if form == "parquet" else "jsonl"
    found = Found(out)
    for stream, own in by_stream(rules).items():
        frame = frame_of(folder / "several" / f"{stream}.{ending}", needed[stream])
        for at in range(0, len(own), together):
            _answer(frame, own[at : at + together], found)
    found.close()


def _answer(frame: Any, rules: list[Rule], found: Found) -> None:
    """Several rules by one select; rows are fetched for those that found some."""
    masks = frame.select([condition_of(rule).alias(rule.name) for rule in rules])
    for mask in masks:
        if mask.any():
            rows = frame.select("ts", "host", "record_id").filter(mask)
            found.add(mask.name, rows.iter_rows())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
