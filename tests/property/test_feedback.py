"""Feedback changes no answer: clique and chain joins in every mode, shape and split, while queries come and go.

Values are few, so that most suspended values are asked for later, are absent again when their tuples are too old, and come once
more: that is where a result could be lost or repeated. The judge is the flat join without feedback, which the oracle judges.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

import cqc
from cqc.compiler.physical.strategy import Strategy

MODES = ("exact", "bloom", "demand", "auto")
SHAPES = ("flat", "left-deep", "bushy")


def clique(names: str, window: int, *, dropped: Random | None = None) -> tuple[str, str]:
    """Declarations, and the query over streams with an equality between every two; some are left out."""
    pairs = [(one, two) for at, one in enumerate(names) for two in names[at + 1 :]]
    if dropped is not None:
        pairs = [each for each in pairs if dropped.random() < 0.7] or pairs[:1]
    lines = []
    for name in names:
        columns = "".join(f", {one}{two} BIGINT" for one, two in pairs if name in (one, two))
        lines.append(
            f"CREATE STREAM {name} (ts BIGINT, id BIGINT{columns}, WATERMARK FOR ts AS ts - INTERVAL '3' SECOND);"
        )
    where = " AND ".join(f"{one}.{one}{two} = {two}.{one}{two}" for one, two in pairs)
    chosen = ", ".join(f"{name}.id AS {name}{name}" for name in names)
    query = f"SELECT {chosen} FROM {', '.join(names)} WHERE {where} MAXWINDOW {window} SEC"
    return "\n".join(lines), query


def batches(
    random: Random, program: cqc.Program, names: str, most: int
) -> list[dict[str, list[dict[str, int]]]]:
    """Micro-batches of uneven size; tuples come up to three seconds late."""
    found = []
    clock = number = 0
    for _ in range(random.choice((25, 60))):
        batch: dict[str, list[dict[str, int]]] = {}
        clock += random.choice((0, 1, 1, 2, 7))
        for name in names:
            columns = [each.name for each in program.catalog.relations[name.lower()].columns[2:]]
            rows = []
            for _ in range(random.choice((0, 1, 1, 3))):
                number += 1
                values = {column: random.randint(1, most) for column in columns}
                rows.append(
                    {"ts": max(0, clock - random.choice((0, 0, 1, 3))), "id": number, **values}
                )
            if rows:
                batch[name] = rows
        found.append(batch)
    return found


class Play:
    """One engine that gets the batches, with a second query that comes and goes."""

    def __init__(self, declarations: str, query: str, strategy: Strategy) -> None:
        self.engine = cqc.Engine(
            cqc.compile(f"{declarations}\nCREATE QUERY q AS {query};"), strategy=strategy
        )
        self.found: Counter[tuple[object, ...]] = Counter()

    def push(self, batch: dict[str, list[dict[str, int]]]) -> None:
        self.engine.push_batch(batch)
        for result in self.engine.drain():
            self.found[result.query, result.ts, *result.row.values()] += 1


def play(seed: int, strategies: list[Strategy]) -> list[Counter[tuple[object, ...]]]:
    random = Random(seed)
    names = "ABCDE"[: random.choice((3, 4, 4, 5))]
    window = random.choice((3, 8, 20))
    declarations, query = clique(names, window, dropped=random if seed % 2 else None)
    other = query.replace(f"MAXWINDOW {window}", f"MAXWINDOW {window + 5}")
    other = other.replace(" WHERE ", f" WHERE {names[0]}.id > 5 AND ")
    plays = [Play(declarations, query, each) for each in strategies]
    given = batches(random, cqc.compile(declarations), names, random.choice((2, 3, 5)))
    comes, goes = sorted(random.sample(range(len(given)), 2))
    for at, batch in enumerate(given):
        for each in plays:
            if at == comes:
                each.engine.register(f"{other};", name="other")
            if at == goes:
                each.engine.unregister("other")
            each.push(batch)
    return [each.found for each in plays]


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, 13])
def test_every_mode_in_every_shape_gives_the_answers_of_the_plain_join(seed: int) -> None:
    strategies = [Strategy(join=join, feedback=mode) for join in SHAPES for mode in ("off", *MODES)]
    plain, *others = play(seed, strategies)
    for strategy, found in zip(strategies[1:], others, strict=True):
        assert found == plain, f"seed {seed}, {strategy.join} {strategy.feedback}"
