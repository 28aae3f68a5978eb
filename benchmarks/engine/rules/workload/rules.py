"""A rule as data, what it means, and its text in cq.

Every engine gets the same rules in its own language, and this file's `matches` is what all of them must agree with. A missing
field matches nothing: groups under NOT are written so that NULL counts as FALSE, as converters of detection rules do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Kind = Literal["contains", "ends", "starts", "whole", "pattern", "equal", "regex", "null"]
FOLDED = ("contains", "ends", "starts", "whole", "pattern")


@dataclass(frozen=True, slots=True)
class Atom:
    """One comparison. All but `equal` and `regex` are without case; the text of a `pattern` has `%` and `_`."""

    column: str
    kind: Kind
    text: str = ""

    def holds(self, value: str | None) -> bool:
        """Whether it is TRUE for a value."""
        if value is None:
            return self.kind == "null"
        folded, text = value.lower(), self.text.lower()
        match self.kind:
            case "contains":
                return text in folded
            case "ends":
                return folded.endswith(text)
            case "starts":
                return folded.startswith(text)
            case "whole":
                return folded == text
            case "pattern":
                return re.fullmatch(regex_of(text), folded, re.DOTALL) is not None
            case "equal":
                return value == self.text
            case "regex":
                return re.search(self.text, value) is not None
            case "null":
                return False


@dataclass(frozen=True, slots=True)
class Group:
    """Comparisons of which one must hold, or all; negated, the group must not hold."""

    atoms: tuple[Atom, ...]
    every: bool = False
    negated: bool = False
    is_true: bool = False  # written with IS TRUE, else plainly or with coalesce

    def holds(self, row: Mapping[str, str | None]) -> bool:
        """Whether a row has it, NULL being FALSE."""
        quantified = all if self.every else any
        return quantified(atom.holds(row.get(atom.column)) for atom in self.atoms) != self.negated


@dataclass(frozen=True, slots=True)
class Rule:
    """All groups must hold."""

    name: str
    stream: str
    groups: tuple[Group, ...]

    def matches(self, row: Mapping[str, str | None]) -> bool:
        """What the rule means, for one row."""
        return all(group.holds(row) for group in self.groups)

    def atoms(self) -> list[Atom]:
        """Every comparison."""
        return [atom for group in self.groups for atom in group.atoms]


def regex_of(pattern: str) -> str:
    """A LIKE pattern as a regular expression for the whole value."""
    pieces = {"%": ".*", "_": "."}
    return "".join(pieces.get(letter) or re.escape(letter) for letter in pattern)


def listed(group: Group) -> bool:
    """Whether the group is written as an IN list."""
    columns = {(atom.column, atom.kind) for atom in group.atoms}
    if len(columns) > 1 or group.every:
        return False
    kind = group.atoms[0].kind
    return (kind == "whole" and len(group.atoms) >= 3) or (kind == "equal" and len(group.atoms) > 1)


def like_of(atom: Atom) -> str:
    """The pattern of LIKE, its escape being a backslash."""
    if atom.kind == "pattern":
        return atom.text.replace("\\", "\\\\")
    text = re.sub(r"([\\%_])", r"\\\1", atom.text)
    before = "%" if atom.kind in ("contains", "ends") else ""
    return before + text + ("%" if atom.kind in ("contains", "starts") else "")


def quoted(text: str) -> str:
    """A text literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def cq_program(rules: Iterable[Rule], *, wide: str | None = None) -> str:
    """The rules as queries; `wide` is the one stream that all rows are in."""
    return "\n".join(f"CREATE QUERY {rule.name} AS {_select(rule, wide)};" for rule in rules) + "\n"


def _select(rule: Rule, wide: str | None) -> str:
    groups = [_group(group) for group in rule.groups]
    if wide is not None:
        groups.insert(0, f"category = {quoted(rule.stream)}")
    return f"SELECT host, record_id FROM {wide or rule.stream} WHERE {' AND '.join(groups)}"


def _group(group: Group) -> str:
    if listed(group):
        text = _in_list(group)
    else:
        text = (" AND " if group.every else " OR ").join(map(_atom, group.atoms))
    if group.negated:
        return f"NOT (({text}) IS TRUE)" if group.is_true else f"NOT coalesce({text}, FALSE)"
    if group.is_true:
        return f"(({text}) IS TRUE)"
    return f"({text})" if len(group.atoms) > 1 else text


def _in_list(group: Group) -> str:
    first = group.atoms[0]
    if first.kind == "equal":
        return f"{first.column} IN ({', '.join(quoted(each.text) for each in group.atoms)})"
    texts = ", ".join(quoted(each.text.lower()) for each in group.atoms)
    return f"lower({first.column}) IN ({texts})"


def _atom(atom: Atom) -> str:
    match atom.kind:
        case "equal":
            return f"{atom.column} = {quoted(atom.text)}"
        case "regex":
            return f"{atom.column} RLIKE {quoted(atom.text)}"
        case "null":
            return f"{atom.column} IS NULL"
        case _:
            return f"{atom.column} ILIKE {quoted(like_of(atom))}"
