"""What the work costs at least: `python -m cqc.benchmarks.engine.rules.peers.floor FOLDER FORMAT OUT`.

Written by hand for these rules: Arrow reads the columns that rules name, each column becomes a dictionary of its distinct values,
one Aho-Corasick automaton a column goes once over them, and only rules all of whose groups can hold are looked at, by row.
It knows nothing of streams, late rows, other expressions or queries that come and go.
"""

from __future__ import annotations

import sys
from functools import reduce
from operator import and_, or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ahocorasick_rs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import re2

from cqc.benchmarks.engine.rules.peers.found import Found, by_stream, needed_columns
from cqc.benchmarks.engine.rules.peers.read_arrow import read_columns
from cqc.benchmarks.engine.rules.workload.rules import Atom, Group, Rule, regex_of
from cqc.benchmarks.engine.rules.workload.rules_file import read_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.int64]

_NONE = np.empty(0, np.int64)


class Column:
    """One column: a code for every row, and for each comparison the codes of the values that fulfil it."""

    def __init__(self, values: Any, atoms: Sequence[Atom]) -> None:
        encoded = values.combine_chunks()
        if not pa.types.is_dictionary(encoded.type):
            encoded = encoded.dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.unify_dictionaries().combine_chunks()
        self.codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy()
        self._null = len(encoded.dictionary)
        self._values = encoded.dictionary
        self._small = pc.utf8_lower(self._values.cast(pa.large_string()))
        self._fulfilled = self._by_automaton([each for each in atoms if _literal(each)])
        for atom in atoms:
            if atom.kind == "null":
                self._fulfilled[atom] = np.array([self._null])
            elif atom.kind == "regex":
                self._fulfilled[atom] = self._by_regex(atom)
        for atom in [each for each in atoms if each.kind == "pattern"]:
            self._fulfilled[atom] = self._by_pattern(atom)

    def codes_of(self, atom: Atom) -> Codes:
        """The codes of the values that fulfil it."""
        return self._fulfilled.get(atom, _NONE)

    def _by_automaton(self, atoms: Sequence[Atom]) -> dict[Atom, Codes]:
        """All literals in one pass over the distinct values, one after the other in memory."""
        offsets = np.frombuffer(self._small.buffers()[1], np.int64)[: len(self._small) + 1]
        if not atoms or not offsets[-1]:
            return {}
        texts = list(dict.fromkeys(map(_literal, atoms)))
        automaton = ahocorasick_rs.BytesAhoCorasick([text.encode() for text in texts])
        letters: Any = np.frombuffer(self._small.buffers()[2], np.uint8)[: offsets[-1]]
        hits = automaton.find_matches_as_indexes(letters, overlapping=True)
        if not hits:
            return {}
        table = np.array(hits)
        table = table[np.argsort(table[:, 0], kind="stable")]
        owner = np.searchsorted(offsets, table[:, 1], "right") - 1
        inside = table[:, 2] <= offsets[owner + 1]
        begins, ends = table[:, 1] == offsets[owner], table[:, 2] == offsets[owner + 1]
        cuts = np.searchsorted(table[:, 0], np.arange(len(texts) + 1))
        place = {text: at for at, text in enumerate(texts)}
        found: dict[Atom, Codes] = {}
        for atom in atoms:
            at = place[_literal(atom)]
            part = slice(cuts[at], cuts[at + 1])
            if cuts[at] == cuts[at + 1]:
                continue
            held = inside[part].copy()
            if atom.kind in ("starts", "whole", "equal"):
                held &= begins[part]
            if atom.kind in ("ends", "whole", "equal"):
                held &= ends[part]
            codes = np.unique(owner[part][held])
            if atom.kind == "equal":
                codes = np.array(
                    [code for code in codes if self._values[code].as_py() == atom.text], np.int64
                )
            found[atom] = codes
        return found

    def _by_pattern(self, atom: Atom) -> Codes:
        """The longest piece of the pattern says which values are looked at."""
        regex = re2.compile(f"(?s){regex_of(atom.text.lower())}")
        codes = self._fulfilled.get(atom, _NONE)
        return np.array(
            [code for code in codes if regex.fullmatch(self._small[code].as_py())], np.int64
        )

    def _by_regex(self, atom: Atom) -> Codes:
        mask = pc.match_substring_regex(self._values, atom.text)
        return np.flatnonzero(mask.to_numpy(zero_copy_only=False))


def _literal(atom: Atom) -> str:
    """What the automaton looks for: the text, or the longest piece of a pattern."""
    if atom.kind == "pattern":
        return max(atom.text.lower().replace("_", "%").split("%"), key=len)
    return "" if atom.kind in ("regex", "null") else atom.text.lower()


class Stream:
    """The columns of one stream that rules read."""

    def __init__(self, path: Path, rules: Sequence[Rule], columns: Sequence[str]) -> None:
        self.table = read_columns(path, ["ts", "host", "record_id", *columns], dictionaries=True)
        by_column: dict[str, dict[Atom, None]] = {name: {} for name in columns}
        for rule in rules:
            for atom in rule.atoms():
                by_column[atom.column][atom] = None
        self._columns = {
            name: Column(self.table[name], list(atoms)) for name, atoms in by_column.items()
        }

    def rows_of(self, rule: Rule) -> Codes:
        """The rows of a rule: candidates of one group after the other."""
        positive = [group for group in rule.groups if not group.negated]
        if not all(map(self._possible, positive)):
            return _NONE
        rows: Codes | None = None
        for group in [*positive, *(each for each in rule.groups if each.negated)]:
            held = self._held(group, rows)
            if group.negated:
                held = ~held
            rows = np.flatnonzero(held) if rows is None else rows[held]
            if not len(rows):
                return _NONE
        return _NONE if rows is None else rows

    def _possible(self, group: Group) -> bool:
        quantified = all if group.every else any
        return quantified(
            len(self._columns[atom.column].codes_of(atom)) > 0 for atom in group.atoms
        )

    def _held(self, group: Group, rows: Codes | None) -> NDArray[np.bool_]:
        combined = and_ if group.every else or_
        return reduce(combined, (self._mask(atom, rows) for atom in group.atoms))

    def _mask(self, atom: Atom, rows: Codes | None) -> NDArray[np.bool_]:
        column = self._columns[atom.column]
        codes = column.codes if rows is None else column.codes[rows]
        wanted = column.codes_of(atom)
        if not len(wanted):
            return np.zeros(len(codes), np.bool_)
        fulfilling = np.zeros(column._null + 1, np.bool_)
        fulfilling[wanted] = True
        held: NDArray[np.bool_] = fulfilling[codes]
        return held


def main(folder: Path, form: str, out: str) -> None:
    """Read, answer and write."""
    rules = read_rules(folder)
    needed = needed_columns(rules)
    ending = "parquet" if form == "parquet" else "jsonl"
    found = Found(out)
    for name, own in by_stream(rules).items():
        stream = Stream(folder / "several" / f"{name}.{ending}", own, list(needed[name]))
        for rule in own:
            rows = stream.rows_of(rule)
            if len(rows):
                taken = stream.table.select(["ts", "host", "record_id"]).take(pa.array(rows))
                found.add(rule.name, zip(*(each.to_pylist() for each in taken), strict=True))
    found.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
