"""Every diagnostic code with its severity and message: the one list.

Messages are in lower case without a full stop and say what is wrong in the user's words; whoever finds the mistake
adds the detail and the hint, which depend on the place. Each code has a page in `errors/` that `cqc explain CODE`
prints, and a golden file in `tests/golden/diagnostics/`. Codes are never reused.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.diagnostic import Diagnostic, InternalError, Severity
from cqc.compiler.diagnostics.syntax_codes import SYNTAX_CODES

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.source import Span

_ERROR = Severity.ERROR
_WARNING = Severity.WARNING

CODES: dict[str, tuple[Severity, str]] = {
    **SYNTAX_CODES,
    "CQ012": (_ERROR, "join of {left} and {right} would keep every tuple for ever"),
    # Declarations
    "CQ020": (_ERROR, "{name} is declared twice"),
    "CQ021": (_ERROR, "column {column} is declared twice in {relation}"),
    "CQ022": (_ERROR, "stream {stream} has no event-time column"),
    "CQ023": (_ERROR, "event time {column} of {stream} is {type}"),
    "CQ024": (_ERROR, "the watermark of {stream} is not {column} minus a delay"),
    "CQ025": (_ERROR, "table {table} cannot have a watermark"),
    "CQ026": (_ERROR, "option {key} is given twice"),
    "CQ027": (_ERROR, "there is no setting {name}"),
    "CQ028": (_ERROR, "SET {name} takes a duration"),
    "CQ029": (_ERROR, "query {name} is defined twice"),
    "CQ069": (_ERROR, "{what} has no option {key}"),
    "CQ070": (_ERROR, "there is no format '{name}'"),
    "CQ071": (_ERROR, "{key} takes {expected}, not '{text}'"),
    "CQ072": (_ERROR, "format '{format}' is for streams, and {table} is a table"),
    "CQ110": (_ERROR, "sink {name} has no {key}"),
    "CQ111": (_ERROR, "there is no sink type '{name}'"),
    "CQ112": (_ERROR, "there is no sink {name}"),
    "CQ113": (_ERROR, "sink {name} is named twice in INTO"),
    # Times
    "CQ160": (_ERROR, "{text} has no fixed length"),
    "CQ161": (_ERROR, "{function} has no unit {unit}"),
    "CQ162": (_ERROR, "there is no time zone '{name}'"),
    # Parameters
    "CQ163": (_ERROR, "there is no parameter :{name}"),
    "CQ164": (_ERROR, "the value of :{name} is not a constant"),
    "CQ165": (_ERROR, "{query} has no parameter {name}"),
    "CQ166": (_ERROR, "parameter :{name} is {type}, not {given}"),
    "CQ167": (_ERROR, "{query} needs a value for {name}"),
    "CQ168": (_ERROR, "there is no parametrised query {name}"),
    "CQ169": (_ERROR, "ANY COLUMN has no text to look at here"),
    # Names
    "CQ030": (_ERROR, "there is no stream or table {name}"),
    "CQ031": (_ERROR, "{place} has no column {column}"),
    "CQ032": (_ERROR, "column {column} is ambiguous"),
    "CQ033": (_ERROR, "{alias} is used twice in FROM"),
    "CQ034": (_ERROR, "{qualifier} is not in FROM"),
    "CQ035": (_ERROR, "there is no function {name}"),
    "CQ036": (_ERROR, "{name} takes {expected}, not {given}"),
    "CQ037": (_ERROR, "two outputs are named {name}"),
    # Types and values
    "CQ040": (_ERROR, "cannot compare {left} with {right}"),
    "CQ041": (_ERROR, "`{operator}` cannot be applied to {types}"),
    "CQ042": (_ERROR, "{place} takes a condition, not {type}"),
    "CQ043": (_ERROR, "{place} mixes {left} and {right}"),
    "CQ044": (_ERROR, "{function} takes {expected}, not {type}"),
    "CQ046": (_ERROR, "{operator} pattern is not valid: {reason}"),
    "CQ047": (_ERROR, "'{text}' is not a timestamp"),
    "CQ048": (_ERROR, "{number} is out of the range of {type}"),
    "CQ049": (_ERROR, "{type} cannot be cast to {target}"),
    "CQ050": (_ERROR, "ESCAPE takes one character"),
    # Time
    "CQ051": (_ERROR, "{left} and {right} count time differently"),
    "CQ052": (_ERROR, "WINDOW is about event times only"),
    "CQ053": (_ERROR, "{clause} takes a duration {requirement}"),
    "CQ054": (_ERROR, "{clause} takes a whole number {requirement}"),
    "CQ055": (_ERROR, "{clause} is for streams, and {table} is a table"),
    "CQ056": (_ERROR, "FROM has no stream"),
    "CQ057": (_ERROR, "NOW has a meaning only in BEGIN and END"),
    "CQ058": (_ERROR, "{clause} takes an instant"),
    "CQ059": (_ERROR, "'{text}' is not a number"),
    # Clauses
    "CQ060": (_ERROR, "{clause} needs a BEGIN-END clause"),
    "CQ062": (_ERROR, "an aggregate inside {outer}"),
    "CQ063": (_ERROR, "an aggregate cannot be in {clause}"),
    "CQ064": (_ERROR, "{column} is neither grouped nor aggregated"),
    "CQ065": (_ERROR, "{function} does not take {what}"),
    "CQ067": (_ERROR, "with DISTINCT, ORDER BY can use selected values only"),
    "CQ068": (_ERROR, "{clause} {position} is not the number of an output"),
    # What is missing
    "CQ080": (_ERROR, "{what} is a condition of WHERE of its own"),
    "CQ081": (_ERROR, "{what} belongs to no join"),
    "CQ082": (_ERROR, "table {table} cannot be preserved in a join with a stream"),
    "CQ083": (_ERROR, "ROWS does not go with {what} in a query without BEGIN-END"),
    "CQ084": (_ERROR, "{clause} cannot be inside EXISTS"),
    "CQ085": (_ERROR, "IN takes a query with one output, not {count}"),
    "CQ086": (_ERROR, "{view} cannot be read here"),
    "CQ087": (_WARNING, "query {name} keeps a time for every key for ever"),
    "CQ088": (_WARNING, "stream {stream} is followed, and IDLE is off"),
    # Views
    "CQ100": (_ERROR, "{name} has no rows without a window"),
    "CQ101": (_ERROR, "a circle of views: {members}"),
    "CQ102": (_ERROR, "ROWS counts tuples of a stream, and {view} is a view"),
    "CQ103": (_ERROR, "output ts of {view} is not its event time"),
    "CQ104": (_ERROR, "the branches of UNION ALL differ in {what}"),
    "CQ105": (_ERROR, "{clause} of UNION ALL is written once, at the end"),
    "CQ106": (_ERROR, "a query in FROM needs a name"),
    "CQ107": (_ERROR, "{statement} is for a running engine"),
    "CQ108": (_ERROR, "{what} cannot have {why}"),
    # Windows
    "CQ130": (_ERROR, "{function} is not written so"),
    "CQ131": (_ERROR, "there is no table function {name}"),
    "CQ132": (_ERROR, "{relation} has a column {column} of its own"),
    "CQ133": (_ERROR, "{column} is not the event time of {relation}"),
    "CQ134": (_ERROR, "{clause} does not go with {function} in FROM"),
    "CQ135": (_ERROR, "windows of {window} are grouped beside the stream {stream}"),
    "CQ136": (_ERROR, "{clause} needs a window column in GROUP BY"),
    "CQ137": (_ERROR, "{function} OVER has no frame"),
    "CQ138": (_ERROR, "{what} needs a complete partition"),
    "CQ139": (_ERROR, "OVER cannot be in {place}"),
    "CQ140": (_ERROR, "QUALIFY without OVER"),
    "CQ141": (_ERROR, "OVER reads one FROM item, and there are {count}"),
    "CQ142": (_ERROR, "OVER in a query grouped by a window has no window column in PARTITION BY"),
    "CQ143": (_ERROR, "this frame has no meaning"),
    "CQ144": (_ERROR, "SESSION needs GROUP BY of {missing}"),
    "CQ145": (_ERROR, "{what} cannot be used here yet"),
    "CQ146": (_ERROR, "OVER by windows and OVER by event time in one query"),
    # Alerts
    "CQ170": (_ERROR, "{clause} belongs to CREATE ALERT"),
    "CQ171": (_ERROR, "an alert cannot have {what}"),
    "CQ172": (_ERROR, "FROM of an alert is one stream or view"),
    "CQ173": (_ERROR, "the text {name} has braces that mean nothing"),
    "CQ174": (_ERROR, "no text of an alert can be called {name}"),
    "CQ175": (_ERROR, "{name} in WITH of an alert is {expected}"),
    "CQ177": (_ERROR, "sink {name} is of type 'alertmanager', which takes alerts only"),
    # Warnings
    "CQ176": (_WARNING, "a key of alert {name} that falls silent fires for ever"),
    "CQ147": (_WARNING, "query {name} keeps something for every key for ever"),
    "CQ150": (_ERROR, "{type} has no field {name}"),
    "CQ151": (_ERROR, "{function} does not go with {types}"),
    "CQ152": (_ERROR, "{type} has no values at {index}"),
    "CQ153": (_ERROR, "`x -> ...` is no argument of {function}"),
    "CQ154": (_ERROR, "{operator} has no meaning for {type}"),
    "CQ155": (_ERROR, "{type} is no type of a column"),
    "CQ156": (_ERROR, "UNNEST cannot stand here"),
    "CQ090": (_WARNING, "query {name} can never match"),
    "CQ091": (_WARNING, "the hint is not used"),
    "CQ092": (_WARNING, "every tuple of {left} is joined with every one of {right}"),
}


def make(
    code: str,
    span: Span,
    *,
    hint: str | None = None,
    detail: str | None = None,
    more: tuple[Span, ...] = (),
    **values: object,
) -> Diagnostic:
    """The diagnostic of a code at a place, with the values its message names.

    Example:
        make("CQ030", name.span, name="Bx", hint="Did you mean `B`?")
    """
    severity, template = CODES[code]
    try:
        message = template.format_map(values)
    except KeyError as missing:
        raise InternalError(f"{code} needs a value for {missing}") from None
    return Diagnostic(code, severity, message, span, detail, hint, more)


def page(code: str) -> str | None:
    """The documentation of a code (Markdown), or None where there is no such code."""
    code = code.upper()
    if code not in CODES:
        return None
    return (files("cqc.compiler.errors") / f"{code}.md").read_text(encoding="utf-8")
