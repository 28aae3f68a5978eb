"""No name leads out of the folder where it is put, and no two names are one."""

from __future__ import annotations

from pathlib import Path

from cqc.runtime.files.names import folder_name

NAMES = (
    ".",
    "..",
    "%2E",
    "%2E%2E",
    "...",
    "../x",
    "a/b",
    "a",
    "a.b",
    "/",
    "\x00",
    "\u00e9",
    "\n",
    " ",
)


def test_a_name_stays_inside_and_is_its_own() -> None:
    for name in NAMES:
        inside = Path("/top") / folder_name(name)
        assert inside.parent.resolve() == Path("/top")
        assert inside.resolve() == inside
    assert len({folder_name(name) for name in NAMES}) == len(NAMES)
    assert (
        folder_name("pager.Of_x-1") == "pager.Of_x-1"
    )  # as checkpoints of earlier versions have it
