"""Families of queries that differ in little: what sharing is for, and where it would go wrong.

A family has one skeleton (streams, join columns) and varies constants, windows, SELECT lists and how many of the streams
a member uses; some members are identical.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.generators.expressions import BIGINTS, COMPARISONS, DOUBLES, PATTERNS, TEXTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from tests.support.generators.schema import ColumnDeclared, Declared

WINDOWS = ["0 SEC", "500 MS", "1 SEC", "2 SEC", "3 SEC", "6 SEC"]


@dataclass
class Families:
    """Makes families over a schema."""

    rng: Random
    schema: Sequence[Declared]

    def filters(self) -> list[str]:
        """Many rules over one stream, each a few atoms."""
        stream = self.stream()
        members = [
            f"SELECT {self.outputs(stream, 't')} FROM {stream.name} t WHERE {self.rule(stream, 't')}"
            for _ in range(self.rng.randint(3, 9))
        ]
        return self.with_twins(members)

    def joins(self) -> list[str]:
        """Joins along one chain of streams; members use a prefix of it."""
        chain = [self.stream() for _ in range(self.rng.randint(2, 3))]
        keyed = self.rng.random() < 0.7
        members = [self.join(chain, keyed=keyed) for _ in range(self.rng.randint(2, 5))]
        return self.with_twins(members)

    def join(self, chain: Sequence[Declared], *, keyed: bool) -> str:
        used = chain[: self.rng.randint(2, len(chain))]
        aliases = [f"t{number}" for number in range(len(used))]
        conditions = [
            self.link(left, right, keyed=keyed) for left, right in itertools.pairwise(aliases)
        ]
        for stream, alias in zip(used, aliases, strict=True):
            if self.rng.random() < 0.5:
                conditions.append(self.atom(stream, alias))
        window = self.rng.choice(WINDOWS)
        relative = self.relative(aliases) if self.rng.random() < 0.4 else ""
        froms = ", ".join(f"{s.name} {a}" for s, a in zip(used, aliases, strict=True))
        outputs = self.outputs(used[0], aliases[0])
        return (
            f"SELECT {outputs} FROM {froms} WHERE {' AND '.join(conditions)}"
            f" MAXWINDOW {window}{relative}"
        )

    def link(self, left: str, right: str, *, keyed: bool) -> str:
        if keyed:
            return f"{left}.k = {right}.k"
        scale, offset = self.rng.choice(["1", "2", "0.5"]), self.rng.choice(["0", "1", "-1", "0.5"])
        return f"{left}.k {self.rng.choice(['<', '<=', '>', '>='])} {scale} * {right}.k + {offset}"

    def relative(self, aliases: Sequence[str]) -> str:
        earlier, later = aliases[0], aliases[-1]
        limit = self.rng.choice(["500 MS", "1 SEC", "2 SEC"])
        return self.rng.choice(
            [
                f" WINDOW {earlier}.ts <= {later}.ts",
                f" WINDOW {later}.ts - {earlier}.ts <= {limit}",
                f" WINDOW {earlier}.ts > {later}.ts - {limit}",
            ]
        )

    def rule(self, stream: Declared, alias: str) -> str:
        atoms = [self.atom(stream, alias) for _ in range(self.rng.randint(1, 4))]
        joint = self.rng.choice([" AND ", " AND ", " OR "])
        rule = joint.join(atoms)
        if self.rng.random() < 0.2:
            rule = f"NOT ({rule})"
        return f"({rule}) AND {self.atom(stream, alias)}" if self.rng.random() < 0.2 else rule

    def atom(self, stream: Declared, alias: str) -> str:
        column = self.rng.choice([c for c in stream.columns if c.type not in ("TIMESTAMP", "DATE")])
        name = f"{alias}.{column.name}"
        if self.rng.random() < 0.1:
            return f"{name} IS {self.rng.choice(['', 'NOT '])}NULL"
        if column.type == "BOOLEAN":
            return self.rng.choice([name, f"NOT {name}", f"{name} = FALSE", f"{name} IS NOT TRUE"])
        if column.type == "STRING":
            return self.text_atom(name)
        return self.number_atom(name, column)

    def number_atom(self, name: str, column: ColumnDeclared) -> str:
        pool = BIGINTS if column.type == "BIGINT" else DOUBLES
        pool = [*pool, "2.5", "1", "CAST('Infinity' AS DOUBLE)"]
        one, two = self.rng.choice(pool), self.rng.choice(pool)
        op, no = self.rng.choice(COMPARISONS), self.rng.choice(["", "NOT "])
        return self.rng.choice(
            [
                f"{name} {op} {one}",
                f"{name} {op} {one}",
                f"{one} {op} {name}",
                f"{name} {no}BETWEEN {one} AND {two}",
                f"{name} {no}IN ({one}, {two})",
                f"{name} * 2 {op} {one}",
                f"-3 * {name} + 1 {op} {one}",
                f"{name} / 3 {op} {two}",
                f"{name} + 0.1 {op} {two}",
            ]
        )

    def text_atom(self, name: str) -> str:
        no = self.rng.choice(["", "NOT "])
        return self.rng.choice(
            [
                f"{name} = {self.rng.choice(TEXTS)}",
                f"{name} <> {self.rng.choice(TEXTS)}",
                f"{name} {no}IN ({self.rng.choice(TEXTS)}, {self.rng.choice(TEXTS)})",
                f"{name} >= {self.rng.choice(TEXTS)}",
                f"{name} {no}LIKE {self.rng.choice(PATTERNS)}",
                f"{name} {no}ILIKE {self.rng.choice(PATTERNS)}",
                f"{name} {no}RLIKE '[a-z]b'",
                f"lower({name}) = 'ab'",
            ]
        )

    def outputs(self, stream: Declared, alias: str) -> str:
        columns = self.rng.sample(stream.columns, self.rng.randint(1, 3))
        return ", ".join(f"{alias}.{column.name}" for column in columns)

    def stream(self) -> Declared:
        return self.rng.choice([relation for relation in self.schema if relation.is_stream])

    def with_twins(self, members: list[str]) -> list[str]:
        """Some members twice."""
        return members + [member for member in members if self.rng.random() < 0.2]
