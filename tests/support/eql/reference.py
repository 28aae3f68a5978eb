"""What EQL means, over dicts: conditions as nested tuples, sequences by brute force. Shares nothing with the importer.

("and", [c, ...]), ("or", [c, ...]), ("not", c)
("equals", field, value), ("differs", field, value), ("order", sign, field, number), ("missing", field), ("present", field)
("matches", field, [pattern, ...], blind), ("regex", field, pattern, blind), ("in", field, [value, ...], blind)
("part", function, field, text, blind), ("cidr", field, [net, ...]), ("length", sign, field, number)
"""

from __future__ import annotations

import fnmatch
import ipaddress
import itertools
import operator
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Condition = tuple[Any, ...]
Event = tuple[float, dict[str, Any]]  # seconds and fields

SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def holds(condition: Condition, event: Mapping[str, Any]) -> bool:
    """Whether an event meets a condition; what is missing meets none, so its negation does."""
    kind, *rest = condition
    match kind:
        case "and":
            return all(holds(each, event) for each in rest[0])
        case "or":
            return any(holds(each, event) for each in rest[0])
        case "not":
            inner = rest[0]
            if inner[0] in ("order", "length"):  # an order of a missing value is no order
                return (
                    values(event, inner[2]) != []
                    and _is_number(inner, event)
                    and not holds(inner, event)
                )
            return not holds(inner, event)
        case "differs":
            return not holds(("equals", *rest), event)
        case "missing":
            return event.get(rest[0]) is None
        case "present":
            return event.get(rest[0]) is not None
        case "length":
            sign, field, number = rest
            value = event.get(field)
            return value is not None and SIGNS[sign](len(as_text(value)), number)
        case _:
            field = rest[1] if kind in ("order", "part") else rest[0]
            return any(_one_holds(condition, value) for value in values(event, field))


def _is_number(condition: Condition, event: Mapping[str, Any]) -> bool:
    if condition[0] == "length":
        return True
    return all(_number(value) is not None for value in values(event, condition[2]))


def values(event: Mapping[str, Any], field: str) -> list[Any]:
    """The values of a field: of a list each, of a missing one none."""
    value = event.get(field)
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def as_text(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _number(value: Any) -> float | None:
    try:
        return float(as_text(value))
    except ValueError:
        return None


def _one_holds(condition: Condition, value: Any) -> bool:
    kind, *rest = condition
    text = as_text(value)
    match kind:
        case "equals":
            return text == as_text(rest[1])
        case "order":
            number = _number(value)
            return number is not None and SIGNS[rest[0]](number, rest[2])
        case "matches":
            return any(_like(text, as_text(each), blind=rest[2]) for each in rest[1])
        case "regex":
            flags = re.DOTALL | (re.IGNORECASE if rest[2] else 0)
            return re.fullmatch(rest[1], text, flags) is not None
        case "in":
            listed = [as_text(each) for each in rest[1]]
            return text.lower() in [each.lower() for each in listed] if rest[2] else text in listed
        case "part":
            function, _, part, blind = rest
            whole, part = (text.lower(), part.lower()) if blind else (text, part)
            return bool(
                whole.startswith(part)
                if function == "startsWith"
                else whole.endswith(part)
                if function == "endsWith"
                else part in whole
            )
        case "cidr":
            try:
                address = ipaddress.ip_address(text)
            except ValueError:
                return False
            return any(address in ipaddress.ip_network(net) for net in rest[1])
    raise AssertionError(kind)


def _like(text: str, pattern: str, *, blind: bool) -> bool:
    escaped = pattern.replace("[", "[[]")
    if blind:
        return fnmatch.fnmatchcase(text.lower(), escaped.lower())
    return fnmatch.fnmatchcase(text, escaped)


def written(condition: Condition) -> str:
    """A condition as EQL."""
    kind, *rest = condition
    match kind:
        case "and" | "or":
            return f" {kind} ".join(f"({written(each)})" for each in rest[0])
        case "not":
            return f"not ({written(rest[0])})"
        case "equals":
            return f"{rest[0]} == {literal(rest[1])}"
        case "differs":
            return f"{rest[0]} != {literal(rest[1])}"
        case "order":
            return f"{rest[1]} {rest[0]} {rest[2]}"
        case "missing":
            return f"?{rest[0]} == null"
        case "present":
            return f"null != {rest[0]}"
        case "matches":
            listed = ", ".join(literal(each) for each in rest[1])
            word = ":" if rest[2] else "like"
            return f"{rest[0]} {word} ({listed})"
        case "regex":
            return f'{rest[0]} regex{"~" if rest[2] else ""} """{rest[1]}"""'
        case "in":
            listed = ", ".join(literal(each) for each in rest[1])
            return f"{rest[0]} in{'~' if rest[2] else ''} ({listed})"
        case "part":
            function, field, part, blind = rest
            return f"{function}{'~' if blind else ''}({field}, {literal(part)})"
        case "cidr":
            nets = ", ".join(literal(each) for each in rest[1])
            return f"cidrMatch({rest[0]}, {nets})"
        case "length":
            return f"length({rest[1]}) {rest[0]} {rest[2]}"
    raise AssertionError(kind)


def literal(value: Any) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    return as_text(value)


# Sequences: (steps, span, until, keys); a step is (condition, runs, absent), keys are the same field in all steps.

Step = tuple[Condition, int, bool]


def sequences(
    steps: Sequence[Step],
    span: float,
    until: Condition | None,
    keys: Sequence[str],
    events: Sequence[Event],
) -> list[tuple[tuple[float, float], ...]]:
    """All sequences, as when each step began and ended; a run that ends somewhere is the latest n events there."""
    events = sorted(events, key=lambda each: each[0])
    found = []
    groups = {tuple(event.get(key) for key in keys) for _, event in events}
    for group in groups:
        if any(value is None for value in group):
            continue
        mine = [each for each in events if tuple(each[1].get(key) for key in keys) == group]
        present = [step for step in steps if not step[2]]
        choices = [
            _runs([at for at, event in mine if holds(step[0], event)], step[1]) for step in present
        ]
        found += [
            chosen
            for chosen in itertools.product(*choices)
            if _in_order(chosen, span) and not _spoiled(steps, chosen, span, until, mine)
        ]
    return sorted(found)


def _runs(times: list[float], count: int) -> list[tuple[float, float]]:
    return [(times[at - count + 1], times[at]) for at in range(count - 1, len(times))]


def _in_order(chosen: Sequence[tuple[float, float]], span: float) -> bool:
    later = all(one[1] < next_[0] for one, next_ in itertools.pairwise(chosen))
    return later and chosen[-1][1] - chosen[0][0] <= span


def _spoiled(
    steps: Sequence[Step],
    chosen: Sequence[tuple[float, float]],
    span: float,
    until: Condition | None,
    events: Sequence[Event],
) -> bool:
    first, last = chosen[0][0], chosen[-1][1]
    if until is not None and any(first < at < last and holds(until, event) for at, event in events):
        return True
    before = 0
    for condition, _, absent in steps:
        if not absent:
            before += 1
            continue
        for at, event in events:
            if not holds(condition, event):
                continue
            if before == 0:
                is_inside = last - span <= at < first
            elif before == len(chosen):
                is_inside = last < at <= first + span
            else:
                is_inside = chosen[before - 1][1] < at < chosen[before][0]
            if is_inside:
                return True
    return False
