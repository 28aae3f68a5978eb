"""Secrets of a program: where a value is found, never the value.

`token = ENV('PAGER_TOKEN')` is kept as this text everywhere: in plans, errors, checkpoints, in whatever is printed. Only who opens a
connection looks the value up (`runtime/receivers/secret_values.py`), at the last moment.
"""

from __future__ import annotations


class Secret(str):
    """`ENV('NAME')` or `FILE('path')`: as text it shows the place; `place` and `name` say the same in parts."""

    __slots__ = ("name", "place")
    place: str
    name: str

    def __new__(cls, place: str, name: str) -> Secret:
        quoted = name.replace("'", "''")
        made = super().__new__(cls, f"{place.upper()}('{quoted}')")
        made.place, made.name = place.upper(), name
        return made

    def __reduce__(self) -> tuple[type[Secret], tuple[str, str]]:
        return Secret, (self.place, self.name)
