"""The backend of cqc for pySigma: rules become queries, log sources streams, correlation rules views and a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sigma.conversion.state import ConversionState
from sigma.correlations import SigmaCorrelationRule, SigmaRuleReference
from sigma.exceptions import SigmaError, SigmaFeatureNotSupportedByBackendError
from sigma.rule import SigmaRule

from cqc.importers.alerts import alert_statement
from cqc.importers.mapping import load_mapping
from cqc.importers.program_text import identifier, text, with_clause
from cqc.importers.sigma.conditions import STREAM, ConditionTexts, Grouped, grouped
from cqc.importers.sigma.correlations import Correlated, Matches, correlate
from cqc.importers.sigma.naming import heading, kept_texts, query_names
from cqc.importers.streams import DELAY, Streams

if TYPE_CHECKING:
    from collections.abc import Callable

    from sigma.collection import SigmaCollection
    from sigma.processing.pipeline import ProcessingPipeline

    from cqc.importers.mapping import Place
    from cqc.importers.streams import Stream

STREAM_OF_PIPELINE = "stream"  # a pipeline may set this state to route rules
DECLARATIONS = "streams"


@dataclass
class Converted:
    """The statements of one rule."""

    rule: SigmaRule | SigmaCorrelationRule
    name: str
    text: str


@dataclass(frozen=True)
class AlertOptions:
    """How rules become alerts: PER these fields, ONCE EVERY and NO DATA AFTER so long."""

    per: tuple[str, ...] = ()
    once_every: str = "1 HOUR"


class CqcBackend(ConditionTexts):
    r"""Converts Sigma rules to a program of cqc.

    Args:
        processing_pipeline: applied to every rule first.
        collect_errors: keep what cannot be said in `errors` instead of raising it.
        mapping: files (or names) that say which stream a log source is and where its fields are.
        delay: how late events may come, as in `1 MINUTE`; empty for none.
        alerts: make alerts instead of queries.
        per: the fields that alerts are kept apart by, separated by commas.
        once_every: how often an alert is repeated at most.

    Example:
        >>> from sigma.collection import SigmaCollection
        >>> rules = SigmaCollection.from_yaml('''
        ... title: Whoami
        ... logsource: {category: process_creation, product: windows}
        ... detection: {selection: {Image|endswith: '\\\\whoami.exe'}, condition: selection}
        ... ''')
        >>> print(CqcBackend(delay="").convert(rules, "queries")[0])
        -- Whoami
        CREATE QUERY whoami WITH (title = 'Whoami') AS
        SELECT *
        FROM   windows_process_creation
        WHERE  Image ILIKE '%\\\\whoami.exe';
        <BLANKLINE>
    """

    name: ClassVar[str] = "cqc"
    identifier: ClassVar[str] = "cqc"
    formats: ClassVar[dict[str, str]] = {
        "default": "a program: CREATE STREAM of the log sources, then a query for each rule",
        "queries": "the queries alone",
        "streams": "the CREATE STREAM statements alone",
    }
    requires_pipeline: ClassVar[bool] = False
    correlation_methods: ClassVar[dict[str, str] | None] = {
        "default": "views with sliding windows; a group is reported once per crossing"
    }

    def __init__(
        self,
        processing_pipeline: ProcessingPipeline | None = None,
        collect_errors: bool = False,
        *,
        mapping: str | tuple[str, ...] = (),
        delay: str = DELAY,
        alerts: bool | str = False,
        per: str | tuple[str, ...] = (),
        once_every: str = "1 HOUR",
        **options: Any,
    ) -> None:
        super().__init__(processing_pipeline, collect_errors, **options)
        files = _several(mapping)
        self._mapping, self._delay = load_mapping(*files), delay
        is_alert = alerts is True or str(alerts).lower() in ("true", "1", "yes")
        self._alerts = AlertOptions(_several(per), once_every) if is_alert else None
        self._begin(())

    # A set of rules

    def convert(
        self,
        rule_collection: SigmaCollection,
        output_format: str | None = None,
        correlation_method: str | None = None,
        callback: Callable[..., Any] | None = None,
    ) -> Any:
        """Convert a set of rules; see `formats`."""
        chosen = output_format or self.default_format
        if chosen not in self.formats:
            raise SigmaFeatureNotSupportedByBackendError(
                f"unknown format {chosen}: there are {', '.join(self.formats)}"
            )
        self.init_processing_pipeline(output_format)
        rule_collection.resolve_rule_references()
        self._begin(rule_collection.rules)
        output = {id(rule) for rule in rule_collection.get_output_rules()}
        unread = {id(rule) for rule in rule_collection.get_unreferenced_rules()}
        self._silent |= {id(rule) for rule in rule_collection.rules} - output
        self._read |= {id(rule) for rule in rule_collection.rules} - unread
        for rule in rule_collection.rules:
            if isinstance(rule, SigmaRule):
                self.convert_rule(rule, output_format, callback)
        for rule in rule_collection.rules:
            if isinstance(rule, SigmaCorrelationRule):
                self.convert_correlation_rule(rule, output_format, correlation_method, callback)
        queries = [each.text for each in self.converted]
        if chosen == DECLARATIONS:
            return [self.streams.declarations]
        if chosen == "default" and queries:
            queries.insert(0, self.streams.declarations)
        return self.last_processing_pipeline.finalize(queries)

    def _begin(self, rules: Any) -> None:
        self.streams = Streams(self._delay)
        self.converted: list[Converted] = []
        self.names = query_names(rules)
        self._known_matches: dict[int, Matches] = {}
        self._failed: dict[int, SigmaError] = {}
        self._silent = set[int]()  # rules that are only read by others
        self._read = set[int]()

    # Rules

    def convert_rule(
        self,
        rule: SigmaRule,
        output_format: str | None = None,
        callback: Callable[..., Any] | None = None,
    ) -> list[Any]:
        """The statements of a rule; what it gives beside them (its stream's columns) is in `streams`."""
        if not hasattr(self, "last_processing_pipeline"):
            self.init_processing_pipeline(output_format)
        return self._with_errors(rule, lambda: self._rule(rule, output_format, callback))

    def _rule(
        self, rule: SigmaRule, output_format: str | None, callback: Callable[..., Any] | None
    ) -> list[Any]:
        if rule.errors:
            raise rule.errors[0]
        self.last_processing_pipeline.apply(rule)
        stream = self._stream_of(rule)
        state = ConversionState(
            processing_state={**self.last_processing_pipeline.state, STREAM: stream}
        )
        parts = []
        for index, condition in enumerate(rule.detection.parsed_condition):
            found = self.convert_condition(condition.parsed, state)
            if callback is not None:
                found = callback(rule, output_format, index, condition, found)
            if found is not None:
                parts.append(found)
        if not parts:
            raise SigmaFeatureNotSupportedByBackendError("its condition is empty")
        where = parts[0] if len(parts) == 1 else " OR ".join(grouped(part) for part in parts)
        having = self._conditions_of_source(rule, stream)
        if having:
            where = " AND ".join([*having, grouped(where)])
        body = f"SELECT *\nFROM   {identifier(stream.name)}\nWHERE  {where}"
        return self._deliver(rule, body, Matches("", stream), state)

    def _stream_of(self, rule: SigmaRule) -> Stream:
        routed = self.last_processing_pipeline.state.get(STREAM_OF_PIPELINE)
        place = self._place_of(rule)
        return self.streams.named(str(routed) if routed else place.stream, place)

    def _place_of(self, rule: SigmaRule) -> Place:
        source = rule.logsource
        return self._mapping.place(source.product, source.category, source.service)

    def _conditions_of_source(self, rule: SigmaRule, stream: Stream) -> list[str]:
        """What tells the events of a rule's log source from others of its stream."""
        found = []
        for name, values in self._place_of(rule).conditions.items():
            listing = ", ".join(map(text, values))
            is_one = f"= {listing}" if len(values) == 1 else f"IN ({listing})"
            found.append(f"{stream.column(name)} {is_one}")
        return found

    def _any_column(self, word: str, pattern: str, state: ConversionState) -> str:
        self.streams.add_columns_for_keywords(self._stream(state))
        return Grouped(f"ANY COLUMN {word} {text(pattern)}")

    # Correlation rules

    def convert_correlation_rule(
        self,
        rule: SigmaCorrelationRule,
        output_format: str | None = None,
        method: str | None = None,
        callback: Callable[..., Any] | None = None,
    ) -> list[Any]:
        """The views and the query of a correlation rule."""
        if id(rule) in self._known_matches or id(rule) in self._failed:
            return []
        return self._with_errors(rule, lambda: self._correlation(rule, output_format, callback))

    def _correlation(
        self,
        rule: SigmaCorrelationRule,
        output_format: str | None,
        callback: Callable[..., Any] | None,
    ) -> list[Any]:
        if rule.errors:
            raise rule.errors[0]
        self.last_processing_pipeline.apply(rule)

        def matches(reference: SigmaRuleReference) -> Matches:
            inner = reference.rule
            if isinstance(inner, SigmaCorrelationRule) and id(inner) not in self._known_matches:
                self.convert_correlation_rule(inner, output_format)
            if id(inner) in self._failed:
                raise SigmaFeatureNotSupportedByBackendError(
                    f"the rule {inner.title} that it references cannot be said"
                )
            return self._known_matches[id(inner)]

        made: Correlated = correlate(rule, self._name(rule), matches)
        self.streams.keep_groups(rule.timespan.seconds * 1_000_000)
        found: Any = made.select
        if callback is not None:
            found = callback(rule, output_format, 0, rule.condition, found)
        state = ConversionState(processing_state=dict(self.last_processing_pipeline.state))
        columns = Matches("", None, made.columns, made.groups)
        return self._deliver(rule, found, columns, state, views=made.views)

    # Statements

    def _deliver(
        self,
        rule: SigmaRule | SigmaCorrelationRule,
        body: str,
        matches: Matches,
        state: ConversionState,
        *,
        views: list[str] | None = None,
    ) -> list[Any]:
        """The text of a rule: a view where others read its events, and a query or an alert where it is delivered."""
        name = self._name(rule)
        is_read = id(rule) in self._read or self._alerts is not None
        statements = list(views or ())
        if is_read:
            matches.view = f"{name}_matches"
            statements.append(f"CREATE VIEW {identifier(matches.view)} AS\n{body};\n")
            body = f"SELECT *\nFROM   {identifier(matches.view)}"
        self._known_matches[id(rule)] = matches
        if id(rule) not in self._silent:
            texts = kept_texts(rule)
            if self._alerts is None:
                clause = with_clause(texts)
                statements.append(
                    f"CREATE QUERY {identifier(name)} {clause}{' ' if clause else ''}AS\n{body};\n"
                )
            else:
                per = self._kept_apart(matches)
                statements.append(
                    alert_statement(name, matches.view, texts, per, self._alerts.once_every)
                )
        program = self.last_processing_pipeline.postprocess_query(
            rule, heading(rule) + "\n".join(statements)
        )
        self.converted.append(Converted(rule, name, program))
        rule.set_conversion_result([program])
        rule.set_conversion_states([state])
        return [program]

    def _kept_apart(self, matches: Matches) -> list[str]:
        """What alerts of a rule are PER: the chosen fields, or the groups of a correlation that has none of them."""
        assert self._alerts is not None
        chosen = self._alerts.per
        if matches.stream is None and not matches.has_any(chosen):
            chosen = matches.groups
        return [matches.field(each) for each in chosen if matches.has(each)]

    def _name(self, rule: Any) -> str:
        if id(rule) not in self.names:  # a rule that is converted on its own
            self.names.update(query_names([rule]))
        return self.names[id(rule)]

    def _with_errors(self, rule: Any, convert: Callable[[], list[Any]]) -> list[Any]:
        try:
            return convert()
        except SigmaError as error:
            self._failed[id(rule)] = error
            if not self.collect_errors:
                raise
            self.errors.append((rule, error))
            return []

    # Asked for by the base class; `correlate` has all kinds in one

    def _one_correlation(
        self, rule: SigmaCorrelationRule, output_format: str | None = None, method: str = "default"
    ) -> list[Any]:
        return self.convert_correlation_rule(rule, output_format, method)

    convert_correlation_event_count_rule = _one_correlation
    convert_correlation_value_count_rule = _one_correlation
    convert_correlation_temporal_rule = _one_correlation
    convert_correlation_temporal_ordered_rule = _one_correlation
    convert_correlation_extended_temporal_rule = _one_correlation
    convert_correlation_extended_temporal_ordered_rule = _one_correlation
    convert_correlation_value_sum_rule = _one_correlation
    convert_correlation_value_avg_rule = _one_correlation
    convert_correlation_value_percentile_rule = _one_correlation
    convert_correlation_value_median_rule = _one_correlation


def _several(given: str | tuple[str, ...]) -> tuple[str, ...]:
    """One text with commas, or several."""
    parts = given.split(",") if isinstance(given, str) else list(given)
    return tuple(part.strip() for part in parts if part.strip())
