"""Random expressions of a wanted type, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

Names = list[tuple[str, str]]  # what an expression may name, with its type

BIGINTS = ["0", "1", "2", "3", "7", "-1", "10", "9223372036854775807", "9007199254740993"]
DOUBLES = ["0.0", "0.5", "1.5", "2.25", "-1.5", "1e7", "0.1", "2.675", "1e300", "3.0"]
TEXTS = ["''", "'a'", "'ab'", "'ABC'", "'école'", "'12'", "'it''s'", "'a_b'"]
PATTERNS = ["'a%'", "'%b'", "'%a%'", "'_b%'", "'a\\_b'", "'A\\%B'", "'%'", "''", "'É%'", "'%\\\\y'"]
REGEXES = ["'a'", "'^a'", "'b$'", "'[0-9]+'", "'a.c'", "'(a|é)'", "'^$'"]
COMPARISONS = ["=", "<>", "!=", "<", "<=", ">", ">="]


@dataclass
class Expressions:
    """Makes expressions over the given names."""

    rng: Random
    names: Names

    def of(self, type_: str, depth: int = 2) -> str:
        makers = {
            "BIGINT": self.bigint,
            "DOUBLE": self.double,
            "STRING": self.text,
            "BOOLEAN": self.condition,
            "TIMESTAMP": self.timestamp,
            "DATE": self.date,
        }
        return makers[type_](depth)

    def column(self, type_: str) -> str | None:
        fitting = [name for name, named_type in self.names if named_type == type_]
        return self.rng.choice(fitting) if fitting else None

    def leaf(self, type_: str, literals: list[str]) -> str:
        column = self.column(type_)
        if column is not None and self.rng.random() < 0.7:
            return column
        return f"CAST(NULL AS {type_})" if self.rng.random() < 0.03 else self.rng.choice(literals)

    def bigint(self, depth: int) -> str:
        if depth <= 0 or self.rng.random() < 0.3:
            return self.leaf("BIGINT", BIGINTS)
        a, b = self.bigint(depth - 1), self.bigint(depth - 1)
        return self.pick(
            f"({a} + {b})",
            f"({a} - {b})",
            f"({a} * {b})",
            f"({a} % {b})",
            f"(- {a})",
            f"abs({a})",
            f"round({a}, -1)",
            f"length({self.text(depth - 1)})",
            f"floor({self.double(depth - 1)})",
            f"ceil({self.double(depth - 1)})",
            f"CAST({self.text(depth - 1)} AS BIGINT)",
            f"CAST({self.double(depth - 1)} AS INT)",
            f"CAST({self.condition(0)} AS BIGINT)",
            f"{self.rng.choice(['least', 'greatest', 'coalesce'])}({a}, {b})",
            f"CASE WHEN {self.condition(depth - 1)} THEN {a} ELSE {b} END",
            f"CASE {a} WHEN {b} THEN {a} END",
        )

    def double(self, depth: int) -> str:
        if depth <= 0 or self.rng.random() < 0.3:
            return self.leaf("DOUBLE", DOUBLES)
        a, b = self.double(depth - 1), self.double(depth - 1)
        whole = self.bigint(depth - 1)
        return self.pick(
            f"({a} + {b})",
            f"({a} - {whole})",
            f"({a} * {b})",
            f"({whole} * {a})",
            f"({a} / {b})",
            f"({whole} / {self.bigint(depth - 1)})",
            f"({a} % {b})",
            f"(- {a})",
            f"abs({a})",
            f"round({a})",
            f"round({a}, {self.rng.choice(['1', '2', '-1'])})",
            f"CAST({whole} AS DOUBLE)",
            f"CAST({self.text(depth - 1)} AS DOUBLE)",
            "CAST('NaN' AS DOUBLE)",
            f"{self.rng.choice(['least', 'greatest', 'coalesce'])}({a}, {whole}, {b})",
            f"CASE WHEN {self.condition(depth - 1)} THEN {a} ELSE {whole} END",
        )

    def text(self, depth: int) -> str:
        if depth <= 0 or self.rng.random() < 0.4:
            return self.leaf("STRING", TEXTS)
        a = self.text(depth - 1)
        start = self.rng.choice(["1", "2", "0", "-2", "-9", "9"])
        return self.pick(
            f"lower({a})",
            f"upper({a})",
            f"concat({a}, {self.text(depth - 1)})",
            f"substring({a}, {start})",
            f"substring({a}, {start}, {self.rng.choice(['0', '1', '2', '-1', '8'])})",
            f"CAST({self.bigint(depth - 1)} AS STRING)",
            f"CAST({self.double(depth - 1)} AS STRING)",
            f"CAST({self.condition(0)} AS STRING)",
            f"coalesce({a}, {self.text(depth - 1)})",
            f"CASE WHEN {self.condition(depth - 1)} THEN {a} ELSE 'no' END",
        )

    def timestamp(self, depth: int) -> str:
        second = self.rng.randint(0, 12)
        literal = f"TIMESTAMP '2024-01-01 00:00:{second:02d}'"
        if depth <= 0 or self.rng.random() < 0.5:
            return self.leaf("TIMESTAMP", [literal])
        a = self.timestamp(depth - 1)
        return self.pick(
            f"({a} + INTERVAL '3' SECOND)",
            f"({a} - 1500 MS)",
            f"coalesce({a}, {literal})",
            f"greatest({a}, {literal})",
            f"CAST({self.text(0)} AS TIMESTAMP)",
        )

    def date(self, depth: int) -> str:
        literal = f"DATE '{self.rng.choice(['2023-12-31', '2024-01-01', '2024-01-02'])}'"
        if depth <= 0 or self.rng.random() < 0.5:
            return self.leaf("DATE", [literal])
        a = self.date(depth - 1)
        return self.pick(
            f"({a} + 1)",
            f"({a} - INTERVAL '2' DAY)",
            f"coalesce({a}, {literal})",
            f"CAST({self.timestamp(depth - 1)} AS DATE)",
            f"CAST({self.text(0)} AS DATE)",
        )

    def condition(self, depth: int) -> str:
        if depth <= 0:
            column = self.column("BOOLEAN")
            if column is not None and self.rng.random() < 0.3:
                return column
            return self.rng.choice(["TRUE", "FALSE", self.comparison(0)])
        choice = self.rng.random()
        if choice < 0.4:
            return self.comparison(depth - 1)
        if choice < 0.55:
            return self.test(depth - 1)
        if choice < 0.7:
            return self.matching(depth - 1)
        a, b = self.condition(depth - 1), self.condition(depth - 1)
        return self.pick(f"({a} AND {b})", f"({a} OR {b})", f"(NOT {a})", f"({a} OR {b})")

    def comparison(self, depth: int) -> str:
        type_ = self.rng.choice(
            ["BIGINT", "BIGINT", "DOUBLE", "DOUBLE", "STRING", "TIMESTAMP", "DATE"]
        )
        other = type_
        if type_ == "DATE" and self.rng.random() < 0.3:
            other = "TIMESTAMP"
        if type_ in ("BIGINT", "DOUBLE") and self.rng.random() < 0.3:
            other = self.rng.choice(["BIGINT", "DOUBLE"])
        return f"{self.of(type_, depth)} {self.rng.choice(COMPARISONS)} {self.of(other, depth)}"

    def test(self, depth: int) -> str:
        type_ = self.rng.choice(["BIGINT", "DOUBLE", "STRING"])
        a, b, c = (self.of(type_, depth) for _ in range(3))
        no = self.rng.choice(["", "NOT "])
        return self.pick(
            f"{a} {no}BETWEEN {b} AND {c}",
            f"{a} {no}IN ({b}, {c})",
            f"{a} IS {no}NULL",
            f"{a} IS {no}DISTINCT FROM {b}",
            f"({self.condition(depth)}) IS {no}{self.rng.choice(['TRUE', 'FALSE'])}",
            f"{no}coalesce({self.condition(depth)}, {self.rng.choice(['TRUE', 'FALSE'])})",
            f"({self.condition(depth)}) {self.rng.choice(['=', '<>'])} {self.rng.choice(['TRUE', 'FALSE'])}",
        )

    def matching(self, depth: int) -> str:
        a, no = self.text(depth), self.rng.choice(["", "NOT "])
        return self.pick(
            f"{a} {no}LIKE {self.rng.choice(PATTERNS)}",
            f"{a} {no}ILIKE {self.rng.choice(PATTERNS)}",
            f"{a} {no}RLIKE {self.rng.choice(REGEXES)}",
            f"{a} {no}LIKE 'a!_b%' ESCAPE '!'",
        )

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices)
