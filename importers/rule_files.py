"""Files of rules in, files of queries out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

STREAMS = "streams"


@dataclass(frozen=True)
class RuleFile:
    """The statements of one rule, and the name of its file."""

    name: str
    text: str


@dataclass(frozen=True)
class NotSaid:
    """A rule that is not in the program, and why."""

    title: str
    place: str
    reason: str

    def __str__(self) -> str:
        place = f" ({self.place})" if self.place else ""
        return f"{self.title}{place}: {self.reason}"


def rule_files(paths: Sequence[str], endings: Sequence[str]) -> list[Path]:
    """The files that paths name, those of folders in name order, each once.

    Raises:
        FileNotFoundError: when one is not there.
    """
    found: dict[Path, None] = {}
    for name in paths:
        path = Path(name)
        if path.is_dir():
            inside = sorted(each for each in path.rglob("*") if each.suffix.lower() in endings)
            found.update(dict.fromkeys(each for each in inside if each.is_file()))
        elif not path.exists():
            raise FileNotFoundError(2, "no such file or folder", name)
        else:
            found[path] = None
    return list(found)


def read_text(path: Path) -> str:
    """The text of a file, with or without a byte-order mark."""
    return path.read_text(encoding="utf-8-sig")


def write_program(folder: Path, streams: str, files: Sequence[RuleFile]) -> None:
    """Write `streams.cq` and a file for each rule.

    Raises:
        OSError: when they cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if streams:
        (folder / f"{STREAMS}.cq").write_text(streams, encoding="utf-8")
    for each in files:
        name = f"{each.name}_rule" if each.name == STREAMS else each.name
        (folder / f"{name}.cq").write_text(each.text, encoding="utf-8")
