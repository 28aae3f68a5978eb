"""EQL rules from files to `.cq` files, with a list of what could not be said and of what means something else here."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.importers.alerts import alert_statement
from cqc.importers.eql.conditions import TIMESTAMP
from cqc.importers.eql.parse import EqlError, parse
from cqc.importers.eql.rule_texts import ENDINGS, RuleText, rule_texts
from cqc.importers.eql.sequences import (
    Events,
    Made,
    category_condition,
    event_statement,
    sequence_statement,
)
from cqc.importers.eql.syntax import ANY, EventQuery, Literal
from cqc.importers.mapping import load_mapping
from cqc.importers.program_text import comment, identifier, plain_name, with_clause
from cqc.importers.rule_files import NotSaid, RuleFile, rule_files
from cqc.importers.streams import DELAY, Streams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.importers.eql.syntax import Query

CATEGORY = "event.category"
SHORT_ID = 8
DIFFERS = "Here every sequence of events is reported, each event later than the one before; Elastic reports the latest, and uses an event up."
FOR_EVER = "It has no maxspan: events are kept for ever."


@dataclass(frozen=True)
class Options:
    """How rules become programs.

    Attributes:
        mapping: names or files that say where fields are.
        delay: how late events may come.
        category: the field that has the category of an event.
        alerts: make alerts instead of queries.
        per: fields that alerts are kept apart by.
        once_every: how often an alert is repeated at most.
    """

    mapping: tuple[str, ...] = ()
    delay: str = DELAY
    category: str = CATEGORY
    alerts: bool = False
    per: tuple[str, ...] = ()
    once_every: str = "1 HOUR"


@dataclass
class Imported:
    """What became of a set of rules."""

    streams: str = ""
    files: list[RuleFile] = field(default_factory=list)
    not_said: list[NotSaid] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def import_rules(paths: Sequence[str], options: Options) -> Imported:
    """Convert all rules of the files and folders named.

    Raises:
        OSError: when a path is not there.
        MappingError: when a mapping cannot be used.
    """
    imported = Imported()
    rules: list[tuple[RuleText, Query]] = []
    for path in rule_files(paths, ENDINGS):
        try:
            for found in rule_texts(path):
                if isinstance(found, EqlError):
                    imported.not_said.append(NotSaid(path.stem, str(path), str(found)))
                else:
                    rules += _parsed(found, imported)
        except EqlError as error:
            imported.not_said.append(NotSaid(path.stem, str(path), str(error)))
    converter = Converter(options)
    names = _names([rule for rule, _ in rules])
    for name, (rule, query) in zip(names, rules, strict=True):
        try:
            imported.files.append(RuleFile(name, converter.statements(name, rule, query)))
        except EqlError as error:
            imported.not_said.append(NotSaid(rule.title, str(rule.path), str(error)))
    imported.streams = converter.streams.declarations
    imported.notes = converter.notes
    return imported


def _parsed(rule: RuleText, imported: Imported) -> list[tuple[RuleText, Query]]:
    try:
        return [(rule, query) for query in parse(rule.query)]
    except EqlError as error:
        imported.not_said.append(NotSaid(rule.title, str(rule.path), str(error)))
        return []


def _names(rules: Sequence[RuleText]) -> list[str]:
    """Titles in lower case with `_`, made unique by the rule's id, or by a number."""
    titles = [plain_name(rule.title) or "rule" for rule in rules]
    often = Counter(titles)
    taken: dict[str, None] = {}
    for title, rule in zip(titles, rules, strict=True):
        short = plain_name(rule.texts.get("id", ""))[:SHORT_ID]
        first = f"{title}_{short}" if often[title] > 1 and short else title
        name, number = first, 2
        while name in taken:
            name, number = f"{first}_{number}", number + 1
        taken[name] = None
    return list(taken)


class Converter:
    """Turns rules into statements; `streams` gathers the columns that they use."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._mapping = load_mapping("eql", *options.mapping)
        self.streams = Streams(options.delay)
        self.notes: list[str] = []

    def statements(self, name: str, rule: RuleText, query: Query) -> str:
        """The statements of a rule.

        Raises:
            EqlError: when it cannot be said.
        """
        remarks = []
        if isinstance(query, EventQuery):
            made = event_statement(query, self._events)
        else:
            made = sequence_statement(name, query, self._events)
            remarks.append(DIFFERS)
            if made.views:
                self.streams.keep_groups(math.inf if query.span_us is None else query.span_us)
            if query.span_us is None:
                remarks.append(FOR_EVER)
                self.notes.append(f"{rule.title} ({rule.path}): {FOR_EVER}")
        return self._heading(rule, remarks) + "\n".join(
            [*made.views, self._delivered(name, rule, query, made)]
        )

    def _events(self, category: str) -> Events:
        """The stream of a category; one of its own holds nothing else, and needs no condition."""
        place = self._mapping.place(None, None if category == ANY else category, None)
        stream = self.streams.named(place.stream, place)
        common = self._mapping.place(None, None, None)
        is_own = place.stream != common.stream
        condition = (
            Literal(True) if is_own else category_condition(self._options.category, category)
        )
        return Events(stream, condition)

    def _delivered(self, name: str, rule: RuleText, query: Query, made: Made) -> str:
        texts = {key: " ".join(value.split()) for key, value in rule.texts.items()}
        if not self._options.alerts:
            clause = with_clause(texts)
            return f"CREATE QUERY {identifier(name)} {clause} AS\n{made.select};\n"
        view = f"{name}_matches"
        per = [self._per(each, query, made) for each in self._options.per]
        statements = [
            f"CREATE VIEW {identifier(view)} AS\n{made.select};\n",
            alert_statement(name, view, texts, per, self._options.once_every),
        ]
        return "\n".join(statements)

    def _per(self, name: str, query: Query, made: Made) -> str:
        if isinstance(query, EventQuery):
            return self._events(query.category).stream.column(name)
        if name not in made.columns or name == TIMESTAMP:
            raise EqlError(f"its events have no {name} in common, by which alerts are kept apart")
        return identifier(name)

    def _heading(self, rule: RuleText, remarks: Sequence[str]) -> str:
        kept = [
            f"{key}: {rule.texts[key]}" for key in ("id", "level", "tags") if rule.texts.get(key)
        ]
        described = [rule.description] if rule.description else []
        return comment([rule.title, *kept, *described, f"from {rule.path.name}", *remarks])
