"""Conditions of Sigma rules as conditions of a query: every kind of value and modifier.

Columns are text. Texts match without case unless `cased`; a number matches its text; NOT is `IS NOT TRUE`, because a field that
is missing matches nothing. What the language cannot say is refused with the reason.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

import re2
from sigma.conversion.base import Backend
from sigma.exceptions import SigmaFeatureNotSupportedByBackendError
from sigma.types import (
    CompareOperators,
    Placeholder,
    SigmaCasedString,
    SigmaNumber,
    SigmaString,
    SpecialChars,
    TimestampPart,
)

from cqc.importers.program_text import pattern_part, text

if TYPE_CHECKING:
    from sigma.conditions import (
        ConditionAND,
        ConditionFieldEqualsValueExpression,
        ConditionNOT,
        ConditionOR,
        ConditionValueExpression,
    )
    from sigma.conversion.state import ConversionState

    from cqc.importers.streams import Stream

STREAM = "cqc_stream"  # where the state of a conversion has the stream of its rule
_COMPARED = {
    CompareOperators.LT: "<",
    CompareOperators.LTE: "<=",
    CompareOperators.GT: ">",
    CompareOperators.GTE: ">=",
    CompareOperators.NEQ: "<>",
}
_PARTS = {
    TimestampPart.MINUTE: "minute",
    TimestampPart.HOUR: "hour",
    TimestampPart.DAY: "day",
    TimestampPart.WEEK: "weekofyear",
    TimestampPart.MONTH: "month",
    TimestampPart.YEAR: "year",
}
_WIDE = re.compile(r"[^\x00-\x7f]")


class Grouped(str):
    """A condition that needs no parentheses around it."""

    __slots__ = ()


def grouped(condition: str) -> str:
    """A condition as an operand of AND, OR or IS NOT TRUE."""
    return condition if isinstance(condition, Grouped) else f"({condition})"


class ConditionTexts(Backend):
    """The conversion of conditions."""

    convert_or_as_in: ClassVar[bool] = True

    # Operators

    def convert_condition_or(self, cond: ConditionOR, state: ConversionState) -> str:
        return self._joined(" OR ", cond, state)

    def convert_condition_and(self, cond: ConditionAND, state: ConversionState) -> str:
        return self._joined(" AND ", cond, state)

    def _joined(self, word: str, cond: Any, state: ConversionState) -> str:
        parts = [self.convert_condition(part, state) for part in cond.args]
        known = list(dict.fromkeys(part for part in parts if part is not None))
        if len(known) == 1:
            return str(known[0]) if not isinstance(known[0], Grouped) else known[0]
        return word.join(grouped(part) for part in known)

    def convert_condition_not(self, cond: ConditionNOT, state: ConversionState) -> str:
        inner = self.convert_condition(cond.args[0], state)
        return Grouped(f"({inner}) IS NOT TRUE")

    def convert_condition_as_in_expression(self, cond: Any, state: ConversionState) -> str:
        """Values of one field: plain texts of ASCII in one list, the others beside it."""
        column = self._column(cond.args[0], state)
        listed: dict[str, None] = {}
        others: list[Any] = []
        for part in cond.args:
            value = part.value
            is_text = isinstance(value, SigmaString) and not isinstance(value, SigmaCasedString)
            plain = self._plain(value) if is_text else str(value)
            if isinstance(value, SigmaNumber) or (is_text and plain and not _WIDE.search(plain)):
                listed[plain.lower()] = None
            else:
                others.append(part)
        conditions: list[str] = []
        if len(listed) == 1:
            conditions.append(Grouped(f"{column} ILIKE {text(pattern_part(next(iter(listed))))}"))
        elif listed:
            values = ", ".join(text(value) for value in listed)
            conditions.append(Grouped(f"lower({column}) IN ({values})"))
        conditions += [self.convert_condition_field_eq_val(part, state) for part in others]
        if len(conditions) == 1:
            return conditions[0]
        return " OR ".join(grouped(each) for each in conditions)

    # Values of a field

    def convert_condition_field_eq_val_str(
        self, cond: ConditionFieldEqualsValueExpression, state: ConversionState
    ) -> str:
        return self._matches(self._column(cond, state), cond.value, cased=False)

    def convert_condition_field_eq_val_str_case_sensitive(
        self, cond: ConditionFieldEqualsValueExpression, state: ConversionState
    ) -> str:
        return self._matches(self._column(cond, state), cond.value, cased=True)

    def convert_condition_field_eq_val_num(
        self, cond: ConditionFieldEqualsValueExpression, state: ConversionState
    ) -> str:
        return Grouped(f"{self._column(cond, state)} = {text(str(cond.value))}")

    def convert_condition_field_eq_val_bool(
        self, cond: ConditionFieldEqualsValueExpression, state: ConversionState
    ) -> str:
        word = "true" if cond.value else "false"
        return Grouped(f"{self._column(cond, state)} ILIKE {text(word)}")

    def convert_condition_field_eq_val_re(
        self, cond: ConditionFieldEqualsValueExpression, state: ConversionState
    ) -> str:
        return Grouped(f"{self._column(cond, state)} RLIKE {text(self._regex(cond.value))}")

    def convert_condition_field_eq_val_cidr(
        self, cond: ConditionFieldEqualsValueExpression, state: ConversionState
    ) -> str:
        network = text(str(cond.value.network))
        return Grouped(f"cidr_match({self._column(cond, state)}, {network})")

    def convert_condition_field_compare_op_val(
        self, cond: ConditionFieldEqualsValueExpression, state: ConversionState
    ) -> str:
        sign = _COMPARED[cond.value.op]
        return Grouped(
            f"TRY_CAST({self._column(cond, state)} AS DOUBLE) {sign} {cond.value.number}"
        )

    def convert_condition_field_eq_field(
        self, cond: ConditionFieldEqualsValueExpression, state: ConversionState
    ) -> str:
        value, stream = cond.value, self._stream(state)
        left = f"lower({self._column(cond, state)})"
        right = f"lower({stream.column(value.field)})"
        if value.starts_with and value.ends_with:
            return Grouped(f"contains({left}, {right})")
        if value.starts_with:
            return Grouped(f"startswith({left}, {right})")
        if value.ends_with:
            return Grouped(f"endswith({left}, {right})")
        return Grouped(f"{left} = {right}")

    def convert_condition_field_eq_val_null(
        self, cond: ConditionFieldEqualsValueExpression, state: ConversionState
    ) -> str:
        return Grouped(f"{self._column(cond, state)} IS NULL")

    def convert_condition_field_exists(
        self, cond: ConditionFieldEqualsValueExpression, state: ConversionState
    ) -> str:
        return Grouped(f"{self._column(cond, state)} IS NOT NULL")

    def convert_condition_field_not_exists(
        self, cond: ConditionFieldEqualsValueExpression, state: ConversionState
    ) -> str:
        return Grouped(f"{self._column(cond, state)} IS NULL")

    explicit_not_exists_expression: ClassVar[bool] = True

    def convert_condition_field_eq_val_timestamp_part(
        self, cond: ConditionFieldEqualsValueExpression, state: ConversionState
    ) -> str:
        part = _PARTS[cond.value.timestamp_part]
        column = self._column(cond, state)
        moment = "ts" if column == "CAST(ts AS STRING)" else f"TRY_CAST({column} AS TIMESTAMP)"
        return Grouped(f"{part}({moment}) = {cond.value.number}")

    def convert_condition_field_eq_query_expr(
        self, cond: ConditionFieldEqualsValueExpression, state: ConversionState
    ) -> str:
        return f"{cond.value.finalize(field=self._column(cond, state))}"

    # Values without a field: all columns are looked at

    def convert_condition_val_str(
        self, cond: ConditionValueExpression, state: ConversionState
    ) -> str:
        word = "LIKE" if isinstance(cond.value, SigmaCasedString) else "ILIKE"
        before = "" if cond.value.startswith(SpecialChars.WILDCARD_MULTI) else "%"
        after = "" if cond.value.endswith(SpecialChars.WILDCARD_MULTI) else "%"
        return self._any_column(word, f"{before}{self._pattern(cond.value)}{after}", state)

    def convert_condition_val_num(
        self, cond: ConditionValueExpression, state: ConversionState
    ) -> str:
        return self._any_column("ILIKE", f"%{pattern_part(str(cond.value))}%", state)

    def convert_condition_val_re(
        self, cond: ConditionValueExpression, state: ConversionState
    ) -> str:
        return self._any_column("RLIKE", self._regex(cond.value), state)

    def convert_condition_query_expr(
        self, cond: ConditionValueExpression, state: ConversionState
    ) -> str:
        return f"{cond.value.finalize()}"

    # What they share

    def _any_column(self, word: str, pattern: str, state: ConversionState) -> str:
        raise NotImplementedError

    def _stream(self, state: ConversionState) -> Stream:
        stream: Stream = state.processing_state[STREAM]
        return stream

    def _column(self, cond: ConditionFieldEqualsValueExpression, state: ConversionState) -> str:
        return self._stream(state).column(cond.field)

    def _matches(self, column: str, value: SigmaString, *, cased: bool) -> str:
        if not len(value):
            return Grouped(f"{column} = ''")
        if cased and not value.contains_special():
            return Grouped(f"{column} = {text(self._plain(value))}")
        word = "LIKE" if cased else "ILIKE"
        return Grouped(f"{column} {word} {text(self._pattern(value))}")

    def _pattern(self, value: SigmaString) -> str:
        """A Sigma text as a LIKE pattern."""
        return "".join(self._pattern_part(part) for part in value.s)

    def _pattern_part(self, part: object) -> str:
        if part is SpecialChars.WILDCARD_MULTI:
            return "%"
        if part is SpecialChars.WILDCARD_SINGLE:
            return "_"
        return pattern_part(self._known(part))

    def _plain(self, value: SigmaString) -> str:
        return "".join(self._known(part) for part in value.s)

    def _known(self, part: object) -> str:
        if isinstance(part, Placeholder):
            raise SigmaFeatureNotSupportedByBackendError(
                f"the placeholder %{part.name}% has no values; a pipeline can give them"
            )
        return str(part)

    def _regex(self, value: Any) -> str:
        """The regular expression with its flags, if RE2 takes it."""
        if value.contains_placeholder():
            for part in value.regexp.s:
                self._known(part)
        flags = "".join(sorted(value.sigma_to_re_flag[flag] for flag in value.flags))
        body = str(value.regexp)
        found = f"(?{flags}){body}" if flags else body
        options = re2.Options()
        options.log_errors = False
        try:
            re2.compile(found, options)
        except re2.error as error:
            reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
            raise SigmaFeatureNotSupportedByBackendError(
                f"the regular expression {body!r} cannot be matched in linear time ({reason})"
            ) from error
        return found
