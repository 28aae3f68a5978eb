"""Random Sigma rules over random events find what the reference evaluator finds; correlations what brute force finds."""

from __future__ import annotations

import random
from typing import Any

import pytest

pytest.importorskip("sigma.rule")

from tests.support.sigma.reference import rule_matches
from tests.support.sigma.running import LOGSOURCE, convert, found

FIELDS = ["Image", "CommandLine", "User", "x.y", "Size"]
PIECES = [
    "a",
    "B",
    "cmd",
    ".exe",
    "\\",
    "%",
    "_",
    " ",
    "-e",
    "/c",
    "é",
    "ß",
    "'",
    "10",
    "*",
    "?",
    "|",
]
TEXTS = [
    "",
    "cmd.exe",
    "CMD.EXE",
    "a%b",
    "a_b",
    "aXb",
    "10",
    "7",
    "7.5",
    "true",
    "10.1.2.3",
    "\\\\",
]
MODIFIERS = [
    *([], ["contains"], ["startswith"], ["endswith"], ["cased"], ["contains", "cased"]),
    *(["contains", "all"], ["windash", "contains"], ["base64offset", "contains"]),
    *(["wide", "base64offset", "contains"], ["base64"], ["neq"]),
]
REGEXES = ["cmd", "^a.b$", "[0-9]+", "(?:a|b)%", r"\.exe$", "A"]


def some_text(rng: random.Random, *, wild: bool) -> str:
    if rng.random() < 0.4:
        return rng.choice(TEXTS)
    pieces = [each for each in PIECES if wild or each not in ("*", "?")]
    return "".join(rng.choice(pieces) for _ in range(rng.randint(1, 4)))


def some_item(rng: random.Random) -> tuple[str, Any]:
    field = rng.choice(FIELDS)
    kind = rng.random()
    if kind < 0.08:
        return f"{field}|exists", rng.random() < 0.5
    if kind < 0.16:
        flags = rng.choice(["", "|i", "|i|s", "|m"])
        return f"{field}|re{flags}", rng.choice(REGEXES)
    if kind < 0.24:
        return f"{field}|{rng.choice(['lt', 'lte', 'gt', 'gte'])}", rng.choice([7, 10, 7.5])
    if kind < 0.32:
        shape = rng.choice(["", "|contains", "|startswith", "|endswith"])
        return f"{field}|fieldref{shape}", rng.choice(FIELDS)
    if kind < 0.36:
        return f"{field}|cidr", rng.choice(
            ["10.0.0.0/8", "10.1.2.0/29", "10.1.2.3/32", "10.0.0.0/15"]
        )
    if kind < 0.42:
        return field, rng.choice([None, 7, 10, True, 7.5, [], [7, "cmd.exe"], ["", "a"]])
    modifiers = rng.choice(MODIFIERS)
    encoded = any("base64" in each for each in modifiers)
    count = rng.choice([1, 1, 2, 3])
    values = [some_text(rng, wild=not encoded) for _ in range(count)]
    if encoded:  # wide characters are of ASCII only, and nothing cannot be encoded
        values = ["".join(c for c in each if c.isascii()) or "x" for each in values]
        values = [each.replace("\\", "") or "x" for each in values]
    return "|".join([field, *modifiers]), values if count > 1 else values[0]


def some_rule(rng: random.Random, number: int) -> dict[str, Any]:
    names = [f"{rng.choice(['sel', 'filter'])}_{at}" for at in range(rng.randint(1, 3))]
    detection: dict[str, Any] = {}
    for name in names:
        items = [dict([some_item(rng) for _ in range(rng.randint(1, 2))]) for _ in range(2)]
        words = [some_text(rng, wild=True) or "a" for _ in range(2)]
        keywords = rng.choice([words, words[0], {"|all": words}, [*words, items[0]]])
        detection[name] = rng.choice([items[0], items, items, items, keywords])
    shapes = [
        "1 of them",
        "all of them",
        "not 1 of them",
        "1 of sel*",
        "not all of them",
        "any of them",
    ]
    used = [shape for shape in shapes if "sel*" not in shape or any(n[:3] == "sel" for n in names)]
    plain = " and not ".join(names)
    detection["condition"] = rng.choice(
        [*used, plain, f"not ({' or '.join(names)})", " or ".join(names)]
    )
    return {"title": f"rule {number}", "logsource": LOGSOURCE, "detection": detection}


def some_event(rng: random.Random) -> dict[str, Any]:
    event: dict[str, Any] = {}
    for field in FIELDS:
        kind = rng.random()
        if kind < 0.2:
            continue
        if kind < 0.3:
            event[field] = rng.choice([None, 7, 10, True, 7.5, False])
        elif kind < 0.6:
            event[field] = rng.choice(TEXTS)
        else:
            event[field] = some_text(rng, wild=True)
    return event


@pytest.mark.parametrize("seed", range(12))
def test_random_rules_find_what_the_reference_finds(seed: int) -> None:
    rng = random.Random(seed)
    rules = [some_rule(rng, number) for number in range(40)]
    events = [(float(at), some_event(rng)) for at in range(60)]
    program = convert(rules, mapping=())
    flat = program.replace(" FROM 'x.y'", "")  # events of this test have one level
    answers = found(flat, events)
    for number, rule in enumerate(rules):
        expected = [at for at, event in events if rule_matches(rule, event)]
        got = sorted(time for time, _ in answers[f"rule_{number}"])
        assert got == expected, (rule, [events[int(at)] for at in set(got) ^ set(expected)])


def base(name: str, kind: str) -> dict[str, Any]:
    return {
        "title": f"base {name}",
        "name": name,
        "logsource": LOGSOURCE,
        "detection": {"s": {"kind": kind}, "condition": "s"},
    }


BASES = [base("ra", "a"), base("rb", "b"), base("rc", "c")]
KINDS = {"ra": "a", "rb": "b", "rc": "c"}
Timed = tuple[float, dict[str, Any]]


def brute_force(correlation: dict[str, Any], events: list[Timed]) -> list[tuple[float, Any]]:
    """When each group begins to satisfy the condition, judged at each of its events over the closed span before it.

    A group that was silent for longer than the span begins anew.
    """
    rules = correlation.get("rules") or ["ra", "rb", "rc"]
    group_by = correlation.get("group-by", [])
    span = float(correlation["timespan"][:-1])
    wanted = [KINDS[each] for each in rules]
    groups: dict[Any, list[Timed]] = {}
    for time, event in events:
        if event["kind"] in wanted:
            groups.setdefault(tuple(event.get(each) for each in group_by), []).append((time, event))
    found_at = []
    for key, own in groups.items():
        was, last = False, float("-inf")
        for time in sorted({time for time, _ in own}):
            inside = [each for each in own if time - span <= each[0] <= time]
            now = holds(correlation, rules, inside)
            if now and not (was and time - last <= span):
                found_at.append((time, key))
            was, last = now, time
    return sorted(found_at, key=repr)


def holds(correlation: dict[str, Any], rules: list[str], inside: list[Timed]) -> bool:
    condition = correlation.get("condition")
    kind = correlation["type"]
    if isinstance(condition, str):
        seen = {name: any(e["kind"] == KINDS[name] for _, e in inside) for name in KINDS}
        if kind == "temporal":
            return bool(eval(condition, {}, seen))
        steps = [each for each in condition.split(" and ") if not each.startswith("not ")]
        absent = [each[4:] for each in condition.split(" and ") if each.startswith("not ")]
        return chain(inside, steps) and not any(seen[each] for each in absent)
    if kind == "temporal_ordered":
        return chain(inside, rules)
    values = [float(e["v"]) for _, e in inside if e.get("v") is not None]
    if kind == "event_count":
        number: float | None = len(inside)
    elif kind == "value_count":
        number = len(set(values))
    elif kind == "temporal":
        number = len({e["kind"] for _, e in inside})
        condition = condition or {"gte": len(rules)}
    elif not values:
        return False
    elif kind == "value_sum":
        number = sum(values)
    elif kind == "value_avg":
        number = sum(values) / len(values)
    else:
        percent = 50 if kind == "value_median" else condition["percentile"]  # type: ignore[index]
        at = percent / 100 * (len(values) - 1)
        ranked = sorted(values)
        low = int(at)
        high = min(low + 1, len(ranked) - 1)
        number = ranked[low] + (at - low) * (ranked[high] - ranked[low])
    ((sign, count),) = [(k, v) for k, v in condition.items() if k not in ("field", "percentile")]  # type: ignore[union-attr]
    return {
        "gte": number >= count,
        "gt": number > count,
        "lt": number < count,
        "lte": number <= count,
        "eq": number == count,
        "neq": number != count,
    }[sign]


def chain(inside: list[Timed], steps: list[str]) -> bool:
    """Whether some events of the steps come one after the other (or at once)."""
    latest = float("-inf")
    for step in steps:
        later = [time for time, e in inside if e["kind"] == KINDS[step] and time >= latest]
        if not later:
            return False
        latest = min(later)
    return True


SIGNS = ["gte", "gte", "gt", "lt", "lte", "eq", "neq"]


def some_correlation(rng: random.Random) -> dict[str, Any]:
    kind = rng.choice(
        [
            "event_count",
            "value_count",
            "temporal",
            "temporal_ordered",
            "value_sum",
            "value_avg",
            "value_median",
            "value_percentile",
            "extended",
            "extended_ordered",
        ]
    )
    correlation: dict[str, Any] = {
        "type": {"extended": "temporal", "extended_ordered": "temporal_ordered"}.get(kind, kind),
        "timespan": f"{rng.choice([1, 3, 5, 10])}s",
    }
    if rng.random() < 0.7:
        correlation["group-by"] = rng.choice([["user"], ["user", "host"]])
    if kind == "extended":
        shapes = [
            "ra and rb",
            "ra and not rb",
            "(ra or rb) and rc",
            "not ra and rc",
            "ra or rb and rc",
        ]
        correlation["condition"] = rng.choice(shapes)
        correlation["rules"] = [each for each in KINDS if each in correlation["condition"]]
        return correlation
    if kind == "extended_ordered":
        correlation["condition"] = rng.choice(
            ["rb and ra", "ra and rb and not rc", "rc and rb and ra"]
        )
        correlation["rules"] = [each for each in KINDS if each in correlation["condition"]]
        return correlation
    correlation["rules"] = rng.sample(
        list(KINDS), rng.randint(1 if "temporal" not in kind else 2, 3)
    )
    if kind in ("temporal", "temporal_ordered"):
        return correlation
    correlation["condition"] = {rng.choice(SIGNS): rng.randint(1, 4)}
    if kind.startswith("value"):
        correlation["condition"]["field"] = "v"
    if kind == "value_percentile":
        correlation["condition"]["percentile"] = rng.choice([50, 90, 95])
    return correlation


@pytest.mark.parametrize("seed", range(12))
def test_random_correlations_report_each_group_once_per_crossing(seed: int) -> None:
    rng = random.Random(seed)
    correlations = [some_correlation(rng) for _ in range(8)]
    events: list[Timed] = []
    time = 0.0
    for _ in range(60):
        time += rng.choice([0, 0, 0.5, 1, 1, 2, 6])
        event: dict[str, Any] = {"kind": rng.choice("abcd"), "user": rng.choice(["u", "w", None])}
        event |= {"host": rng.choice(["h", "k"]), "v": rng.choice([1, 2, 3, 4.5, None])}
        events.append((time, event))
    rules = [{"title": f"c {at}", "correlation": each} for at, each in enumerate(correlations)]
    answers = found(convert([*BASES, *rules]), events)
    for at, correlation in enumerate(correlations):
        names = correlation.get("group-by", [])
        got = sorted(
            ((time, tuple(row[name] for name in names)) for time, row in answers[f"c_{at}"]),
            key=repr,
        )
        assert got == brute_force(correlation, events), correlation


def test_a_correlation_of_correlations_reads_their_results() -> None:
    inner = {"type": "event_count", "rules": ["ra"], "group-by": ["user"], "timespan": "5s"}
    outer = {"type": "temporal", "rules": ["burst", "rb"], "group-by": ["user"], "timespan": "9s"}
    rules = [
        *BASES,
        {"title": "burst", "name": "burst", "correlation": {**inner, "condition": {"gte": 2}}},
        {"title": "both", "correlation": outer},
    ]
    events: list[Timed] = [
        (at, {"kind": kind, "user": user})
        for at, kind, user in [
            *((0.0, "a", "u"), (1.0, "b", "u"), (2.0, "b", "w"), (3.0, "a", "u"), (9.0, "a", "w")),
            *((20.0, "a", "w"), (21.0, "a", "w"), (25.0, "b", "w")),
        ]
    ]
    answers = found(convert(rules), events)
    assert [(time, row["user"]) for time, row in answers["both"]] == [(3.0, "u"), (25.0, "w")]
    assert "burst" not in answers  # it is read, and generates nothing of its own
