"""Random queries with outer joins and EXISTS, over three small streams and a table, with their input.

Everything is small on purpose: few keys, few instants, so that ties, missing partners and several partners are common.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

STREAMS = ("A", "B", "C")
VALUES = (None, 0, 1, 2)
KEYS = (None, 1, 2, 2)


@dataclass(frozen=True)
class AbsenceCase:
    """A program, the rows of its table, and (stream, row) in the order of arrival."""

    seed: int
    declarations: str
    query: str
    table: list[tuple[int | None, ...]]
    arrivals: list[tuple[str, tuple[int | None, ...]]]

    @property
    def program(self) -> str:
        return self.declarations + self.query


def absence_case(seed: int, *, pull: bool = False, most: int = 24) -> AbsenceCase:
    random = Random(seed)
    delay = random.choice((0, 0, 2))
    watermark = f", WATERMARK FOR ts AS ts - {delay} SEC" if delay else ""
    kind = random.choice(("BIGINT", "TIMESTAMP"))
    declarations = "".join(
        f"CREATE STREAM {name} (ts {kind}, k BIGINT, x BIGINT{watermark});\n" for name in STREAMS
    )
    declarations += "CREATE TABLE T (k BIGINT, x BIGINT);\n"
    table = [(random.choice(KEYS), random.choice(VALUES)) for _ in range(random.randint(0, 4))]
    unit = 1 if kind == "BIGINT" else 1_000_000
    now = 0
    arrivals: list[tuple[str, tuple[int | None, ...]]] = []
    for _ in range(random.randint(0, most)):
        now += random.choice((0, 0, 1, 1, 2, 4))
        ts = max(0, now - random.randint(0, delay)) * unit
        row = (ts, random.choice(KEYS), random.choice(VALUES))
        arrivals.append((random.choice(STREAMS), row))
    query = _Maker(random, pull=pull).query()
    return AbsenceCase(seed, declarations, query, table, arrivals)


class _Maker:
    """Writes one query."""

    def __init__(self, random: Random, *, pull: bool) -> None:
        self.random = random
        self.pull = pull
        self.number = 0

    def query(self) -> str:
        random = self.random
        items = [self.item() for _ in range(random.choice((1, 1, 2, 2, 3)))]
        if not self.pull or len(items) == 1 or random.random() < 0.8:
            items[0] = (items[0][0], random.choice(STREAMS))
        text = self.listed(items[0])
        windows: list[str] = []
        has_outer = False
        before = [items[0]]  # what the next JOIN joins: commas bind loosest
        for item in items[1:]:
            kind = random.choice(
                (
                    "LEFT JOIN",
                    "LEFT JOIN",
                    "LEFT OUTER JOIN",
                    "RIGHT JOIN",
                    "FULL JOIN",
                    ",",
                    "JOIN",
                )
            )
            if item[1] == "T" and kind in ("RIGHT JOIN", "FULL JOIN") and not self.pull:
                kind = "LEFT JOIN"
            if (
                not self.pull
                and all(each[1] == "T" for each in before)
                and kind not in (",", "JOIN")
            ):
                kind = "JOIN"
            has_outer |= kind not in (",", "JOIN")
            if kind == ",":
                text += f", {self.listed(item)}"
                before = [item]
                continue
            on = [self.condition(random.choice(before), item)]
            if random.random() < 0.3:
                on.append(self.filter(item if random.random() < 0.7 else random.choice(before)))
            if random.random() < 0.4 and item[1] != "T":
                streams = [each for each in before if each[1] != "T"]
                if streams:
                    on.append(self.between(random.choice(streams), item))
            text += f" {kind} {self.listed(item)} ON {' AND '.join(on)}"
            before.append(item)
        where = [self.filter(random.choice(items)) for _ in range(random.choice((0, 0, 1)))]
        if has_outer and random.random() < 0.3:
            where.append(f"{random.choice(items)[0]}.k IS NULL")
        if has_outer and random.random() < 0.2:
            where.append(f"coalesce({random.choice(items)[0]}.x, 1) > 0")
        asked = random.choice((0, 1, 1, 2)) if not has_outer else random.choice((0, 0, 1))
        streams = [each for each in items if each[1] != "T"]
        where += [self.exists(streams or items, items) for _ in range(asked)]
        outputs = ", ".join(
            f"{alias}.{column} AS {alias}_{column}"
            for alias, relation in items
            for column in (("k", "x") if relation == "T" else ("ts", "x"))
        )
        parts = [f"SELECT {outputs} FROM {text}"]
        if where:
            parts.append("WHERE " + " AND ".join(where))
        if windows:
            parts.append("WINDOW " + " AND ".join(windows))
        if len(items) > 1 and (not self.pull or random.random() < 0.5):
            parts.append(f"MAXWINDOW {random.randint(0, 4)} SEC")
        if self.pull:
            parts.append(f"BEGIN NOW - {random.randint(0, 12)} SEC END NOW")
        return " ".join(parts) + ";"

    def item(self) -> tuple[str, str]:
        self.number += 1
        return f"i{self.number}", self.random.choice((*STREAMS, *STREAMS, "T"))

    def listed(self, item: tuple[str, str]) -> str:
        extent = ""
        if item[1] != "T" and self.random.random() < 0.1:
            extent = f" [RANGE {self.random.randint(1, 5)} SEC]"
        return f"{item[1]} AS {item[0]}{extent}"

    def condition(self, one: tuple[str, str], two: tuple[str, str]) -> str:
        random = self.random
        if random.random() < 0.75:
            column = random.choice(("k", "k", "x"))
            return f"{one[0]}.k = {two[0]}.{column}"
        return f"{one[0]}.x {random.choice(('<', '>=', '<>'))} {two[0]}.x"

    def filter(self, item: tuple[str, str]) -> str:
        random = self.random
        return f"{item[0]}.x {random.choice(('<', '>', '<=', '='))} {random.randint(0, 2)}"

    def between(self, one: tuple[str, str], two: tuple[str, str]) -> str:
        """Bounds of the second's event time from both sides, open or closed."""
        random = self.random
        low, high = sorted((random.randint(-3, 3), random.randint(-3, 3)))
        above, below = random.choice((">", ">=")), random.choice(("<", "<="))
        first, second = f"{one[0]}.ts", f"{two[0]}.ts"
        return f"{second} {above} {first} + {low} SEC AND {second} {below} {first} + {high} SEC"

    def exists(
        self, around: list[tuple[str, str]], everything: list[tuple[str, str]], depth: int = 0
    ) -> str:
        random = self.random
        outer = random.choice(around)
        inner = [self.item() for _ in range(random.choice((1, 1, 1, 2)))]
        windows, where = [], []
        for at, item in enumerate(inner):
            beside = outer if at == 0 or random.random() < 0.5 else inner[0]
            where.append(self.condition(beside, item))
            if item[1] == "T":
                continue
            timed = beside if beside[1] != "T" else outer
            if timed[1] != "T":
                windows.append(self.between(timed, item))
        if random.random() < 0.3:
            where.append(self.filter(random.choice(inner)))
        if depth == 0 and random.random() < 0.2 and inner[0][1] != "T":
            where.append(self.exists([inner[0]], [*everything, *inner], depth + 1))
        sources = ", ".join(self.listed(item) for item in inner)
        window = f" WINDOW {' AND '.join(windows)}" if windows else ""
        negated = random.choice(("", "NOT "))
        if random.random() < 0.3:
            where = where[1:] or ["TRUE"]
            picked = f"{inner[0][0]}.{random.choice(('k', 'x'))}"
            left = f"{outer[0]}.{random.choice(('k', 'x'))}"
            condition = " AND ".join(where)
            return f"{left} {negated}IN (SELECT {picked} FROM {sources} WHERE {condition}{window})"
        return f"{negated}EXISTS (SELECT 1 FROM {sources} WHERE {' AND '.join(where)}{window})"
