"""Sigma rules over events that are dicts, in plain Python: slow, simple, and sharing no code with the backend or pySigma."""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Event = Mapping[str, Any]


def rule_matches(rule: Mapping[str, Any], event: Event) -> bool:
    """Whether a rule (as its YAML says) matches an event."""
    detection = rule["detection"]
    conditions = detection["condition"]
    named = {name: value for name, value in detection.items() if name != "condition"}
    listed = [conditions] if isinstance(conditions, str) else conditions
    return any(_Condition(text, named, event).value() for text in listed)


class _Condition:
    """`a and not (1 of b* or all of them)`, by recursive descent."""

    def __init__(self, text: str, named: Mapping[str, Any], event: Event) -> None:
        self.tokens = re.findall(r"\(|\)|[^\s()]+", text)
        self.named, self.event = named, event

    def value(self) -> bool:
        found = self._or()
        assert not self.tokens, self.tokens
        return found

    def _next_is(self, word: str) -> bool:
        if self.tokens and self.tokens[0].lower() == word:
            del self.tokens[0]
            return True
        return False

    def _or(self) -> bool:
        found = self._and()
        while self._next_is("or"):
            right = self._and()
            found = found or right
        return found

    def _and(self) -> bool:
        found = self._not()
        while self._next_is("and"):
            right = self._not()
            found = found and right
        return found

    def _not(self) -> bool:
        if self._next_is("not"):
            return not self._not()
        if self._next_is("("):
            found = self._or()
            assert self._next_is(")")
            return found
        word = self.tokens.pop(0)
        if self.tokens and self.tokens[0].lower() == "of":
            del self.tokens[0]
            pattern = self.tokens.pop(0)
            names = [
                name
                for name in self.named
                if (pattern == "them" and not name.startswith("_"))
                or re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), name)
            ]
            hits = [detection_matches(self.named[name], self.event) for name in names]
            return all(hits) if word == "all" else sum(hits) >= int(word if word != "any" else 1)
        return detection_matches(self.named[word], self.event)


def detection_matches(detection: Any, event: Event) -> bool:
    if isinstance(detection, Mapping):
        return all(item_matches(key, value, event) for key, value in detection.items())
    if isinstance(detection, list):
        return any(
            detection_matches(each, event) if isinstance(each, Mapping) else _keyword(each, event)
            for each in detection
        )
    return _keyword(detection, event)


def item_matches(key: str, value: Any, event: Event) -> bool:
    field, *modifiers = key.split("|")
    values = value if isinstance(value, list) else [value]
    if not field:
        join = all if "all" in modifiers else any
        return join(_keyword(each, event) for each in values)
    if not values:
        return event.get(field) is None
    join = all if "all" in modifiers else any
    chosen = [each for each in modifiers if each not in ("all", "neq")]
    found = join(value_matches(event, field, each, chosen) for each in values)
    return not found if "neq" in modifiers else found


def value_matches(event: Event, field: str, value: Any, modifiers: Sequence[str]) -> bool:
    have = event.get(field)
    if "exists" in modifiers:
        return (have is not None) == value
    if value is None:
        return have is None
    if have is None:
        return False
    if "re" in modifiers:
        flags = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
        given = [flags[each[0] if each != "dotall" else "s"] for each in modifiers if each != "re"]
        return re.search(value, as_text(have), sum(given)) is not None
    if "cidr" in modifiers:
        try:
            address: Any = ipaddress.ip_address(as_text(have))
            mapped = getattr(address, "ipv4_mapped", None)  # ::ffff:10.0.0.1 is 10.0.0.1
            return (mapped or address) in ipaddress.ip_network(value)
        except ValueError:
            return False
    for sign in ("lt", "lte", "gt", "gte"):
        if sign in modifiers:
            return _compared(have, sign, value)
    if "fieldref" in modifiers:
        other = event.get(value)
        if other is None:
            return False
        left, right = as_text(have).lower(), as_text(other).lower()
        if "startswith" in modifiers:
            return left.startswith(right)
        if "endswith" in modifiers:
            return left.endswith(right)
        return right in left if "contains" in modifiers else left == right
    if isinstance(value, bool):
        return as_text(have).lower() == str(value).lower()
    if isinstance(value, int | float):
        return as_text(have) == str(value)
    return any(_like(as_text(have), parts, modifiers) for parts in _forms(value, modifiers))


def as_text(value: Any) -> str:
    """A value as a text column has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _compared(have: Any, sign: str, value: float) -> bool:
    try:
        number = float(as_text(have))
    except ValueError:
        return False
    return {
        "lt": number < value,
        "lte": number <= value,
        "gt": number > value,
        "gte": number >= value,
    }[sign]


MANY, ONE = object(), object()
DASHES = "-/\u2013\u2014\u2015"


def parsed(value: str) -> list[Any]:
    """Characters and wildcards; a backslash before a wildcard or a backslash that would escape one makes it plain."""
    parts: list[Any] = []
    at = 0
    while at < len(value):
        character = value[at]
        following = value[at + 1 : at + 2]
        if character == "\\" and following in ("*", "?", "\\") and following:
            parts.append(following)
            at += 2
            continue
        parts.append({"*": MANY, "?": ONE}.get(character, character))
        at += 1
    return parts


def _forms(value: str, modifiers: Sequence[str]) -> Iterator[list[Any]]:
    """The texts that a value stands for, by its modifiers in their order."""
    forms = [parsed(value)]
    for modifier in modifiers:
        if modifier == "windash":
            forms = [each for form in forms for each in _dashes(form)]
        elif modifier == "wide":
            forms = [[part for each in form for part in (each, "\0")] for form in forms]
        elif modifier == "base64":
            forms = [list(base64.b64encode("".join(form).encode()).decode()) for form in forms]
        elif modifier == "base64offset":
            forms = [each for form in forms for each in _offsets("".join(form).encode())]
        elif modifier == "contains":
            forms = [[MANY, *form, MANY] for form in forms]
        elif modifier == "startswith":
            forms = [[*form, MANY] for form in forms]
        elif modifier == "endswith":
            forms = [[MANY, *form] for form in forms]
        else:
            assert modifier == "cased", modifier
    yield from forms


def _dashes(form: list[Any]) -> Iterator[list[Any]]:
    places = [
        at
        for at, part in enumerate(form)
        if part in ("-", "/")
        and (at == 0 or not _is_word(form[at - 1]))
        and at + 1 < len(form)
        and _is_word(form[at + 1])
    ]
    found = [form]
    for place in places:
        found = [[*each[:place], dash, *each[place + 1 :]] for each in found for dash in DASHES]
    yield from found


def _is_word(part: Any) -> bool:
    return isinstance(part, str) and (part.isalnum() or part == "_")


def _offsets(data: bytes) -> Iterator[list[Any]]:
    """What base64 makes of the data at each offset, without characters that depend on what is beside it."""
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + data).decode().rstrip("=")
        start = (0, 2, 3)[offset]
        whole = (len(data) + offset) * 8 // 6
        yield list(text[start:whole])


def _like(have: str, parts: Sequence[Any], modifiers: Sequence[str]) -> bool:
    cased = "cased" in modifiers
    expression = "".join(
        ".*" if part is MANY else "." if part is ONE else re.escape(part if cased else part.lower())
        for part in parts
    )
    return re.fullmatch(expression, have if cased else have.lower(), re.DOTALL) is not None


def _keyword(value: Any, event: Event) -> bool:
    parts = [MANY, *parsed(str(value)), MANY]
    return any(_like(as_text(each), parts, ()) for each in event.values() if each is not None)
