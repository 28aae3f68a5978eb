"""Random calls of a built-in function, made from its entry in the registry: a new function needs no line here.

Arguments are columns of the types that the rule takes, now and then a constant or NULL. The rows hold the values that are easy to
get wrong.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING

from cqc.compiler.functions.argument_rules import NUMBER, ArgumentRule
from cqc.compiler.meaning.types import ColumnType as T
from tests.support.oracle.duckdb_judge import EPOCH

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from cqc.compiler.functions.entry import ScalarEntry
    from tests.support.oracle.scalars import Row, Value

# Two columns of each kind, so that arguments can differ. `little` is BIGINT too, for positions and counts.
KINDS = ("whole", "little", "real", "text", "flag", "moment")
TYPES = {
    "whole": T.BIGINT,
    "little": T.BIGINT,
    "real": T.DOUBLE,
    "text": T.STRING,
    "flag": T.BOOLEAN,
    "moment": T.TIMESTAMP,
}
COLUMNS = [(f"{kind}_{number}", TYPES[kind]) for kind in KINDS for number in (1, 2)]
STREAM = f"CREATE STREAM s (ts BIGINT, {', '.join(f'{n} {t.value}' for n, t in COLUMNS)});"

VALUES: dict[str, list[Value]] = {
    "whole": [0, 1, -1, 7, -12, 10**6, 2**53 + 1, 2**63 - 1, -(2**63)],
    "little": [0, 1, 2, 3, -1, -2, -9, 20],
    "real": [0.0, -0.0, 1.0, -2.5, 0.1, 2.675, 1e7, -1e300, 1e-300, math.nan, math.inf, -math.inf],
    "text": [
        "",
        "a",
        "ab",
        "aXbXa",
        "École",
        "  two words ",
        "it's",
        "12",
        "%_",
        "x\ty",
        "日本",
        "e\u0301x",
    ],
    "flag": [True, False],
    "moment": [0, 1_704_067_205_500_000, -1],
}
CONSTANTS = {
    "whole": ["0", "1", "-3", "9223372036854775807"],
    "little": ["0", "1", "2", "-1", "9"],
    "real": ["0.5", "-2.5", "1e7"],
    "text": ["''", "'a'", "'X'", "'École'", "' '"],
    "flag": ["TRUE", "FALSE"],
    "moment": ["TIMESTAMP '2024-01-01 00:00:05'"],
}


def random_rows(random: Random, count: int) -> list[Row]:
    """Rows of the stream; a value in eight is NULL."""
    return [
        (
            number,
            *(
                None if random.random() < 0.125 else random.choice(VALUES[name.rpartition("_")[0]])
                for name, _ in COLUMNS
            ),
        )
        for number in range(count)
    ]


def random_call(random: Random, entry: ScalarEntry) -> str:
    """A call with as many arguments as the function takes, of types that go together."""
    most = entry.least + 2 if entry.most is None else entry.most
    rules = [entry.rule(at) for at in range(random.randint(entry.least, most))]
    alike = [set(kinds_of(rule)) for rule in rules if rule.united or rule.compared]
    together = random.choice([kind for kind in KINDS if all(kind in kinds for kinds in alike)])
    return f"{entry.name}({', '.join(argument(random, rule, together) for rule in rules)})"


def argument(random: Random, rule: ArgumentRule, together: str) -> str:
    is_alike = rule.united or rule.compared
    kind = together if is_alike else random.choice(kinds_of(rule))
    if is_alike and kind in ("whole", "real"):
        kind = random.choice(("whole", "real"))
    if rule.written_out or random.random() < 0.15:
        return random.choice(CONSTANTS[kind])
    return "NULL" if random.random() < 0.04 else f"{kind}_{random.choice((1, 2))}"


def kinds_of(rule: ArgumentRule) -> list[str]:
    """Kinds of columns that a rule takes: where it takes BIGINT and no DOUBLE, it counts something."""
    kinds = [kind for kind in KINDS if kind != "little" and TYPES[kind] in rule.takes]
    counts = T.BIGINT in rule.takes and not NUMBER.takes <= rule.takes
    return [("little" if counts and kind == "whole" else kind) for kind in kinds]


def same(left: Value, right: Value) -> bool:
    """Equal in type and value; functions that no processor rounds the same may differ in the last digit."""
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-14) or (math.isnan(left) and math.isnan(right))
    return type(left) is type(right) and left == right


def with_moments(types: Sequence[T], rows: Sequence[Row]) -> list[list[object]]:
    """The rows with their instants as datetimes, as one hands them to an engine."""
    return [
        [
            EPOCH + timedelta(microseconds=value)  # type: ignore[arg-type]  # a number
            if type_ is T.TIMESTAMP and value is not None
            else value
            for type_, value in zip(types, row, strict=True)
        ]
        for row in rows
    ]
