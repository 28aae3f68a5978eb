"""Random EQL queries and sequences over random events find what the reference evaluator finds."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import cqc
from cqc.importers.eql.parse import parse
from cqc.importers.eql.rule_set import Converter, Options
from cqc.importers.eql.rule_texts import RuleText
from tests.support.eql.reference import holds, sequences, written

START = datetime(2024, 1, 1, tzinfo=UTC)
FIELDS = ["process.name", "user.name", "event.type", "process.args", "port", "source.ip"]
TEXTS = [
    "cmd.exe",
    "CMD.EXE",
    "a%b",
    "a_b",
    "aXb",
    "",
    "7",
    "true",
    "start",
    "-enc",
    'say "x"',
    "C:\\x",
    "é",
    "10.1.2.3",
    "::1",
]
PATTERNS = [*TEXTS, "*", "cmd*", "*.exe", "a?b", "C:\\*", '*"*', "?", "*x*"]
REGEXES = ["cmd.*", "[0-9]+", "a.b", "(start|end)", "", ".*"]
NETS = ["10.0.0.0/8", "::/64", "192.168.0.0/16"]
SIGNS = ["<", "<=", ">", ">="]


def some_value(rng: random.Random, field: str) -> Any:
    if rng.random() < 0.2:
        return None
    if field == "port":
        return rng.choice([7, 443, 8080, -1, 2.5, "7", "x"])
    if field in ("event.type", "process.args") and rng.random() < 0.6:
        return [rng.choice(TEXTS) for _ in range(rng.randrange(3))]
    return rng.choice(TEXTS)


def some_event(rng: random.Random) -> dict[str, Any]:
    return {field: some_value(rng, field) for field in FIELDS}


def some_condition(rng: random.Random, depth: int = 3) -> tuple[Any, ...]:
    if depth and rng.random() < 0.6:
        kind = rng.choice(["and", "or", "not"])
        if kind == "not":
            return ("not", some_condition(rng, depth - 1))
        return (kind, [some_condition(rng, depth - 1) for _ in range(rng.choice([2, 3]))])
    field, blind = rng.choice(FIELDS), rng.random() < 0.5
    value: Any = rng.choice([*TEXTS, 7, 443, True])
    match rng.randrange(10):
        case 0:
            return (rng.choice(["equals", "differs"]), field, value)
        case 1:
            return ("order", rng.choice(SIGNS), "port", rng.choice([-1, 7, 100, 2.5]))
        case 2:
            return (rng.choice(["missing", "present"]), field)
        case 3 | 4:
            return (
                "matches",
                field,
                [rng.choice(PATTERNS) for _ in range(rng.choice([1, 2, 3]))],
                blind,
            )
        case 5:
            return ("regex", field, rng.choice(REGEXES), blind)
        case 6:
            choices = [rng.choice([*TEXTS, 7, 443]) for _ in range(rng.choice([1, 2, 3]))]
            return ("in", field, choices, blind)
        case 7:
            function = rng.choice(["startsWith", "endsWith", "stringContains"])
            return ("part", function, field, rng.choice(TEXTS), blind)
        case 8:
            return ("cidr", field, rng.sample(NETS, rng.choice([1, 2])))
        case _:
            return ("length", rng.choice(SIGNS), "process.name", rng.choice([0, 3, 7]))


def program_of(queries: list[str]) -> str:
    converter = Converter(Options())
    made = []
    for number, query in enumerate(queries):
        rule = RuleText(query, {"title": f"q{number}"}, "", Path("q.eql"))
        made.append(converter.statements(f"q{number}", rule, parse(query)[0]))
    return "\n".join([converter.streams.declarations, *made])


def as_column(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def found(program: str, events: list[tuple[float, dict[str, Any]]]) -> list[cqc.Result]:
    compiled = cqc.compile(program)
    with cqc.Engine(compiled) as engine:
        for at in range(0, len(events), 5):
            rows = [
                {"@timestamp": START + timedelta(seconds=time)}
                | {key: as_column(value) for key, value in event.items()}
                for time, event in events[at : at + 5]
            ]
            engine.push("events", rows)
        engine.finish()
        return list(engine.drain())


def seconds(time: Any) -> float:
    return (time - START).total_seconds()


def check_conditions(seed: int) -> None:
    rng = random.Random(seed)
    conditions = [some_condition(rng) for _ in range(8)]
    events = [(float(at), some_event(rng)) for at in range(30)]
    queries = [f"any where {written(each)}" for each in conditions]
    results = found(program_of(queries), events)
    for number, (condition, query) in enumerate(zip(conditions, queries, strict=True)):
        got = sorted(seconds(each.ts) for each in results if each.query == f"q{number}")
        wanted = [at for at, event in events if holds(condition, event)]
        assert got == wanted, (seed, query, [events[int(at)] for at in set(got) ^ set(wanted)][:1])


@pytest.mark.parametrize("seed", range(12))
def test_conditions_find_what_the_reference_finds(seed: int) -> None:
    check_conditions(seed)


KINDS = ["a", "b", "c"]


def some_sequence(rng: random.Random) -> tuple[list[tuple[Any, int, bool]], float, Any, list[str]]:
    steps: list[tuple[Any, int, bool]] = []
    while True:
        steps = [
            (
                ("equals", "kind", rng.choice(KINDS)),
                rng.choice([1, 1, 1, 2, 3]),
                rng.random() < 0.25,
            )
            for _ in range(rng.choice([1, 2, 3, 3]))
        ]
        steps = [(condition, 1 if absent else runs, absent) for condition, runs, absent in steps]
        present = [runs for _, runs, absent in steps if not absent]
        if present and sum(present) + len(steps) - len(present) >= 2:
            break
    may_end = present[0] == 1 and len(present) > 1
    until = ("equals", "kind", rng.choice(KINDS)) if may_end and rng.random() < 0.4 else None
    return (
        steps,
        float(rng.choice([3, 6, 12])),
        until,
        rng.choice([[], ["user.name"], ["user.name", "host"]]),
    )


def sequence_text(steps: Any, span: float, until: Any, keys: list[str]) -> str:
    parts = [
        f"{'!' if absent else ''}[any where {written(condition)}]{f' with runs={runs}' if runs > 1 else ''}"
        for condition, runs, absent in steps
    ]
    by = f" by {', '.join(keys)}" if keys else ""
    ending = f" until [any where {written(until)}]" if until else ""
    return f"sequence{by} with maxspan={int(span)}s {' '.join(parts)}{ending}"


def check_sequences(seed: int) -> None:
    rng = random.Random(seed)
    made = [some_sequence(rng) for _ in range(4)]
    events = [
        (
            float(rng.randrange(12)),
            {
                "kind": rng.choice(KINDS),
                "user.name": rng.choice(["x", "y", None]),
                "host": rng.choice("hh2"),
            },
        )
        for _ in range(24)
    ]
    events.sort(key=lambda each: each[0])
    texts = [sequence_text(*each) for each in made]
    results = found(program_of(texts), events)
    for number, (sequence, query) in enumerate(zip(made, texts, strict=True)):
        steps, span, until, keys = sequence
        present = [runs for _, runs, absent in steps if not absent]
        got = sorted(
            tuple(
                (
                    seconds(each.row[f"began_{at}" if runs > 1 else f"ts_{at}"]),
                    seconds(each.row[f"ts_{at}"]),
                )
                for at, runs in enumerate(present, 1)
            )
            for each in results
            if each.query == f"q{number}"
        )
        assert got == sequences(steps, span, until, keys, events), (seed, query)


@pytest.mark.parametrize("seed", range(12))
def test_sequences_find_what_the_reference_finds(seed: int) -> None:
    check_sequences(seed)
