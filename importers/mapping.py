"""Which stream a log source is, and where its event time and fields are: a file that users own.

    - logsource: {product: windows, category: process_creation}   # parts that are left out match everything
      stream: process_creation       # default: product_category_service
      timestamp: Event.System.TimeCreated.SystemTime   # where the event time is; default: ts
      prefix: Event.EventData        # where fields are that `fields` does not name
      fields: {Computer: Event.System.Computer}
      columns: [Message]             # more columns, for rules that name no field, and to look at
      conditions: {EventID: [1]}     # what events of this log source have, where a stream holds several
      with: {path: data/process.jsonl}                 # more options of the stream

Entries are merged from the top: what a later one says wins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from cqc.importers.program_text import plain_name

FOLDER = Path(__file__).parent / "mappings"
DEFAULT = "default"
PARTS = ("product", "category", "service")
KEYS = ("logsource", "stream", "timestamp", "prefix", "fields", "columns", "conditions", "with")


class MappingError(Exception):
    """A mapping file that cannot be used, in one sentence."""


@dataclass(frozen=True)
class Place:
    """What a mapping says about one log source."""

    stream: str
    timestamp: str | None = None
    prefix: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    conditions: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def path_of(self, name: str) -> str | None:
        """Where a field is in a JSON row; None: under its own name."""
        if name in self.fields:
            return self.fields[name]
        if self.prefix is not None:
            return f"{self.prefix}.{name}"
        return name if "." in name else None


@dataclass(frozen=True)
class Mapping:
    """The entries of one or several files."""

    entries: tuple[dict[str, Any], ...] = ()

    def place(self, product: str | None, category: str | None, service: str | None) -> Place:
        """What is said about a log source."""
        given = dict(zip(PARTS, (product, category, service), strict=True))
        parts = [plain_name(part) for part in given.values() if part]
        found: dict[str, Any] = {"stream": "_".join(filter(None, parts)) or "events"}
        fields: dict[str, str] = {}
        columns: dict[str, None] = {}
        options: dict[str, str] = {}
        conditions: dict[str, tuple[str, ...]] = {}
        for entry in self.entries:
            if all(given[key] == value for key, value in entry.get("logsource", {}).items()):
                found |= {
                    key: entry[key] for key in ("stream", "timestamp", "prefix") if key in entry
                }
                fields |= entry.get("fields", {})
                columns |= dict.fromkeys(entry.get("columns", ()))
                options |= {key: str(value) for key, value in entry.get("with", {}).items()}
                conditions |= {
                    name: tuple(map(str, given if isinstance(given, list) else [given]))
                    for name, given in entry.get("conditions", {}).items()
                }
        return Place(
            found["stream"],
            found.get("timestamp"),
            found.get("prefix"),
            fields,
            tuple(columns),
            options,
            conditions,
        )


def load_mapping(*names: str) -> Mapping:
    """The entries that come with cqc, then those of the files named: a path, or one of `known_mappings`.

    Raises:
        MappingError: when one cannot be read or says something unknown.
    """
    entries = list(_read(FOLDER / f"{DEFAULT}.yml"))
    for name in names:
        own = FOLDER / f"{name}.yml"
        path = own if own.exists() and not Path(name).exists() else Path(name)
        entries += _read(path)
    return Mapping(tuple(entries))


def known_mappings() -> list[str]:
    """The mappings that come with cqc."""
    return sorted(path.stem for path in FOLDER.glob("*.yml"))


@lru_cache
def _read(path: Path) -> tuple[dict[str, Any], ...]:
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        listing = ", ".join(known_mappings())
        raise MappingError(
            f"cannot read the mapping {path}: {error.strerror} (those of cqc are: {listing})"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise MappingError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    entries = [found] if isinstance(found, dict) else found or []
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise MappingError(f"{path}: a list of entries with `logsource` is wanted")
    for entry in entries:
        unknown = [key for key in entry if key not in KEYS]
        strange = [key for key in entry.get("logsource", {}) if key not in PARTS]
        if unknown or strange:
            raise MappingError(f"{path}: unknown key {(unknown + strange)[0]!r}")
    return tuple(entries)
