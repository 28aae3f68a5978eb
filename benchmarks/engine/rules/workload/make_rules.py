"""Rules with the shape of 2,822 public detection rules for Windows.

What is drawn is steered by what is still missing: shares of comparisons by column and kind, sizes of rules, NOT groups and IN
lists come out within a few per cent of the published ones. In every rule one group, the deciding one, names text that no event
has; `plant.py` then lets some rules fire.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cqc.benchmarks.engine.rules.workload.literals import Literals
from cqc.benchmarks.engine.rules.workload.rules import Atom, Group, Rule
from cqc.benchmarks.engine.rules.workload.words import Words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.benchmarks.engine.rules.workload.events import Events
    from cqc.benchmarks.engine.rules.workload.rules import Kind

_MEAN, _LARGEST, _PUBLISHED = 41_519 / 2_822, 4_432, 2_822
_SIZES = (
    (0.0, 1),
    (0.12, 2),
    (0.3, 3),
    (0.45, 4),
    (0.52, 5),
    (0.7, 8.5),
    (0.9, 22.5),
    (0.95, 36),
    (0.99, 110),
)
_BY_STREAM = {
    "process_creation": 0.501, "registry": 0.099, "file": 0.087, "powershell": 0.075, "image_load": 0.085, "security": 0.04,
    "network": 0.03, "winlog": 0.025, "process_access": 0.025, "sysmon": 0.017, "powershell_classic": 0.016,
}  # fmt: skip
# Comparisons in per cent, by column and kind; the columns are those of the published list, and all others together.
_SHARES: dict[str, dict[Kind, float]] = {
    "command_line": {"contains": 30.2, "ends": 1.2, "starts": 0.7, "pattern": 1.4, "whole": 0.4, "regex": 0.38},
    "hashes": {"contains": 13.9},
    "image": {"ends": 10.0, "contains": 0.7, "starts": 1.0, "whole": 0.2},
    "destination_ip": {"whole": 3.2, "starts": 1.4, "contains": 0.3},
    "target_filename": {"ends": 1.9, "contains": 1.6, "starts": 0.4},
    "script_text": {"contains": 2.9, "pattern": 0.1, "regex": 0.27},
    "image_loaded": {"ends": 1.9, "contains": 0.4, "starts": 0.6},
    "target_object": {"contains": 1.7, "ends": 0.7, "starts": 0.3},
    "parent_image": {"ends": 1.8, "contains": 0.2, "starts": 0.1},
    "other": {"contains": 8.6, "ends": 1.9, "whole": 4.1, "starts": 2.8, "pattern": 1.3, "equal": 1.6, "null": 0.75},
}  # fmt: skip
_OTHER = {
    "process_creation": ("original_file_name", "description", "product", "company", "current_directory", "user", "parent_command_line"),
    "registry": ("details", "user", "event_type"),
    "file": ("user", "creation_time"),
    "powershell": ("payload", "context", "script_path"),
    "image_load": ("signature", "description", "product", "original_file_name", "company"),
    "security": ("object_name", "process_name", "subject_user", "data_03", "data_11", "data_17", "data_30"),
    "network": ("destination_hostname", "protocol", "user"),
    "winlog": ("message", "provider", "channel", "data_05", "log_08"),
    "process_access": ("source_image", "target_image", "call_trace", "call_trace"),
    "sysmon": ("pipe_name", "query_name", "query_results"),
    "powershell_classic": ("provider", "state"),
}  # fmt: skip
_NUMBERS = {
    "process_creation": "terminal_session", "security": "event_id", "network": "destination_port", "winlog": "event_id",
    "process_access": "granted_access", "sysmon": "event_id", "powershell_classic": "event_id", "powershell": "event_id",
    "image_load": "process_id", "registry": "process_id", "file": "process_id",
}  # fmt: skip
_LISTS = {
    "destination_ip": 1.0,
    "hashes": 1.1,
    "command_line": 0.6,
}  # what the longest rules are lists of, and how readily
_HOME = {
    "destination_ip": "network",
    "hashes": "process_creation",
    "command_line": "process_creation",
}
_NOT, _LISTED, _BEYOND_ASCII, _IS_TRUE, _AGAIN = 0.245, 0.125, 0.047, 0.1, 0.33


@dataclass(frozen=True)
class _Place:
    """What a group is about: a column of the stream, and the line of the table of shares that it counts for."""

    column: str
    share: str
    kind: Kind


def make_rules(count: int, seed: int, events: Mapping[str, Events]) -> list[Rule]:
    """So many rules over these events."""
    return _Maker(count, seed, events).rules()


def sizes(count: int) -> list[int]:
    """How many comparisons each rule has, the largest first."""
    places = (np.arange(count) + 0.5) / count
    body = np.exp(np.interp(places, [at for at, _ in _SIZES], np.log([size for _, size in _SIZES])))
    largest = max(130.0, _LARGEST * count / _PUBLISHED)
    tail = places > 0.99
    steps = np.linspace(0, 1, int(tail.sum()) + 1)[1:]
    body = np.maximum(1, np.round(body))
    bend = _bend(steps, largest, _MEAN * count - body[~tail].sum())
    body[tail] = 110 * (largest / 110) ** (steps**bend)
    return np.sort(np.round(body).astype(int))[::-1].tolist()  # type: ignore[no-any-return]


def _bend(steps: np.ndarray, largest: float, wanted: float) -> float:
    """How steep the last hundredth of the sizes rises, so that they sum up to what is wanted."""
    low, high = 0.05, 40.0
    for _ in range(50):
        middle = (low + high) / 2
        total = (110 * (largest / 110) ** (steps**middle)).sum()
        low, high = (middle, high) if total > wanted else (low, middle)
    return low


class _Maker:
    def __init__(self, count: int, seed: int, events: Mapping[str, Events]) -> None:
        self._words = Words(seed + 1)
        self._chance = self._words.chance
        self._literals = Literals(self._words, events)
        self._events = events
        self._sizes = sizes(count)
        total = sum(self._sizes)
        self._left = {
            (share, kind): part * total / 100 for share, kinds in _SHARES.items() for kind, part in kinds.items()
        }  # fmt: skip
        self._whole = {share: sum(kinds.values()) * total / 100 for share, kinds in _SHARES.items()}
        self._used: dict[tuple[str, Kind], list[str]] = {}

    def rules(self) -> list[Rule]:
        """The long lists first, then all others by their streams' shares, in a mixed order."""
        lists = [size for size in self._sizes if size > 110]
        others = self._sizes[len(lists) :]
        self._chance.shuffle(others)
        homes = self._homes(len(others))
        made = [self._long_list(size) for size in lists]
        made += [self._rule(stream, size) for stream, size in zip(homes, others, strict=True)]
        self._chance.shuffle(made)
        return [replace(rule, name=f"rule_{at:04d}") for at, rule in enumerate(made)]

    def _homes(self, count: int) -> list[str]:
        homes: list[str] = []
        for stream, share in _BY_STREAM.items():
            homes += [stream] * round(share * count)
        self._chance.shuffle(homes)
        return (homes + ["process_creation"] * count)[:count]

    def _long_list(self, size: int) -> Rule:
        """One list of thousands: hashes, addresses or command lines, whichever is missing most."""
        room = {
            column: sum(left for (share, _), left in self._left.items() if share == column)
            for column in _LISTS
        }
        fitting = [column for column in _LISTS if room[column] >= size] or list(_LISTS)
        column = max(fitting, key=lambda each: room[each] / self._whole[each] * _LISTS[each])
        kind: Kind = "whole" if column == "destination_ip" else "contains"
        stream = _HOME[column]
        group = self._group(stream, _Place(column, column, kind), size, common=False)
        return Rule("", stream, (group,))

    def _rule(self, stream: str, size: int) -> Rule:
        groups: list[Group] = []
        left = size
        if size >= 2 and self._chance.random() < _NOT * 1.13:
            part = max(1, min(12, round(left * self._chance.uniform(0.15, 0.45))))
            groups += self._negated(stream, part)
            left -= part
        if left >= 3 and self._chance.random() < _LISTED * 1.25:
            part = min(left - 1, 2 + self._words.number(10))
            groups.append(self._list_group(stream, part))
            left -= part
        if left >= 2 and self._chance.random() < 0.75:
            part = max(1, min(left - 1, round(left * self._chance.uniform(0.2, 0.5))))
            place = self._place(stream)
            if place.kind in ("equal", "null", "whole") and groups:
                place = self._place(stream, deciding=True)  # two lists of one column contradict
            groups.append(self._group(stream, place, part, common=True))
            left -= part
        deciding = self._group(stream, self._place(stream, deciding=True), left, common=False)
        if (
            len(deciding.atoms) <= 4
            and self._chance.random() < 0.4
            and deciding.atoms[0].kind == "contains"
        ):
            deciding = replace(deciding, every=True)
        groups.append(deciding)
        self._chance.shuffle(groups)
        groups.sort(key=lambda each: each.negated)
        if self._chance.random() < _BEYOND_ASCII:
            groups = [self._beyond_ascii(each) if each is deciding else each for each in groups]
        return Rule("", stream, tuple(groups))

    def _negated(self, stream: str, size: int) -> list[Group]:
        is_true = self._chance.random() < _IS_TRUE
        group = self._group(stream, self._place(stream), size, common=True)
        if size == 1 or self._chance.random() < 0.6:
            return [replace(group, negated=True, is_true=is_true)]
        more = self._group(stream, self._place(stream), 1, common=True)
        both = (group.atoms[0], *more.atoms)
        rest = group.atoms[2:]
        found = [Group(both, every=True, negated=True, is_true=is_true)]
        return found + ([Group(rest, negated=True)] if rest else [])

    def _list_group(self, stream: str, size: int) -> Group:
        columns = [
            each for each in _OTHER[stream] if each not in ("context", "payload", "call_trace")
        ]
        kind: Kind = "whole"
        column = self._words.one_of(columns)
        if size < 3 or self._chance.random() < 0.2:
            kind, column, size = "equal", _NUMBERS[stream], size
        return self._group(stream, _Place(column, "other", kind), size, common=True)

    def _place(self, stream: str, *, deciding: bool = False) -> _Place:
        """A column and a kind of comparison, those that are missing most more likely."""
        columns = set(self._events[stream].columns)
        places = [
            (share, kind, left)
            for (share, kind), left in self._left.items()
            if left > 0 and (share in columns or share == "other") and not (deciding and kind in ("equal", "null"))
        ]  # fmt: skip
        if not places:
            places = [("other", "contains", 1.0)]
        weights = [left * self._pull(stream, share) for share, _, left in places]
        ((share, kind, _),) = self._chance.choices(places, weights)
        if share != "other":
            return _Place(share, share, kind)
        column = _NUMBERS[stream] if kind == "equal" else self._words.one_of(_OTHER[stream])
        return _Place(column, share, kind)

    @staticmethod
    def _pull(stream: str, share: str) -> float:
        """Columns that only one stream has get their comparisons there."""
        if share == "other":
            return 0.25 if stream == "process_creation" else 0.6
        return 1.0 if share in ("image", "parent_image", "command_line", "hashes") else 12.0

    def _group(self, stream: str, place: _Place, size: int, *, common: bool) -> Group:
        if place.kind in ("null", "regex"):
            size = min(size, 2 if place.kind == "regex" else 1)  # nobody writes long lists of these
        texts: dict[str, None] = {}
        tries = 0
        while len(texts) < size:
            tries += 1
            texts[self._text(stream, place, common=common and tries < 3 * size)] = None
        self._left[place.share, place.kind] -= len(texts)
        return Group(tuple(Atom(place.column, place.kind, text) for text in texts))

    def _text(self, stream: str, place: _Place, *, common: bool) -> str:
        if place.kind == "null":
            return ""
        known = self._used.setdefault((place.column, place.kind), [])
        if common and place.kind != "regex" and self._chance.random() < 0.8:
            return self._literals.common(stream, place.column, place.kind)
        if known and self._chance.random() < _AGAIN:
            return self._words.one_of(known)
        text = self._literals.new(stream, place.column, place.kind)
        known.append(text)
        return text

    def _beyond_ascii(self, group: Group) -> Group:
        first = group.atoms[0]
        changed = replace(first, text=self._literals.beyond_ascii(first.text))
        return replace(group, atoms=(changed, *group.atoms[1:])) if first.kind != "regex" else group
