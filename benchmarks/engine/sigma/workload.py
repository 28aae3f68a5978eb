"""The rules of `cqc bench rules` in Sigma's form, one file each, and correlation rules over some of them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from cqc.benchmarks.engine.rules.workload.prepare import Size, prepare

if TYPE_CHECKING:
    from pathlib import Path

_MODIFIERS = {"contains": "|contains", "ends": "|endswith", "starts": "|startswith", "regex": "|re"}
KINDS = ("event_count", "value_count", "temporal", "temporal_ordered")


def prepared(scale: float, rules: int) -> Path:
    """The folder of the workload, with `sigma/` (rules) and `correlations/` beside its events."""
    folder = prepare(Size(scale=scale, rules=rules))
    if not (folder / "correlations").exists():
        data = json.loads((folder / "rules.json").read_text())
        _write(folder / "sigma", [_rule(each) for each in data])
        _write(folder / "correlations", _correlations(data))
    return folder


def _write(folder: Path, rules: list[dict[str, Any]]) -> None:
    folder.mkdir(exist_ok=True)
    for rule in rules:
        (folder / f"{rule['title']}.yml").write_text(
            json.dumps(rule), encoding="utf-8"
        )  # JSON is YAML


def _rule(rule: dict[str, Any]) -> dict[str, Any]:
    """A rule as Sigma has it: groups are selections and filters."""
    detection: dict[str, Any] = {}
    condition = []
    for number, group in enumerate(rule["groups"]):
        name = f"{'filter' if group['negated'] else 'selection'}_{number}"
        items = [{_key(atom): _value(atom)} for atom in group["atoms"]]
        keys = {_key(atom) for atom in group["atoms"]}
        if group["every"]:
            names = [f"{name}_{at}" for at in range(len(items))]
            detection |= dict(zip(names, items, strict=True))
            text = f"({' and '.join(names)})"
        else:
            same = len(keys) == 1
            detection[name] = (
                {next(iter(keys)): [_value(a) for a in group["atoms"]]} if same else items
            )
            text = name
        condition.append(f"not {text}" if group["negated"] else text)
    detection["condition"] = " and ".join(condition)
    return {
        "title": rule["name"],
        "name": rule["name"],
        "level": "high",
        "logsource": {"category": rule["stream"]},
        "detection": detection,
    }


def _key(atom: dict[str, Any]) -> str:
    return str(atom["column"]) + _MODIFIERS.get(
        atom["kind"], "|cased" if atom["kind"] == "equal" else ""
    )


def _value(atom: dict[str, Any]) -> str | None:
    if atom["kind"] == "null":
        return None
    text: str = atom["text"]
    if atom["kind"] == "regex":
        return text
    escaped = re.sub(r"([\\*?])", r"\\\1", text)
    if atom["kind"] == "pattern":
        return escaped.replace("%", "*").replace("_", "?")
    return escaped


def _correlations(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A thousand correlation rules over the rules, of four kinds, grouped by host; the rules themselves are kept."""
    found = []
    for number in range(1000):
        kind = KINDS[number % len(KINDS)]
        stream = rules[number % len(rules)]["stream"]
        beside = [each["name"] for each in rules if each["stream"] == stream]
        first, second = beside[number % len(beside)], beside[(number + 1) % len(beside)]
        correlation: dict[str, Any] = {
            "type": kind,
            "rules": [first, second]
            if kind.startswith("temporal") and first != second
            else [first],
            "group-by": ["host"],
            "timespan": "5m",
            "generate": True,
        }
        if kind == "event_count":
            correlation["condition"] = {"gte": 3}
        elif kind == "value_count":
            correlation["condition"] = {"gte": 3, "field": "record_id"}
        found.append({"title": f"correlation_{number}", "correlation": correlation})
    return found
