"""The codes of what the parser reports: code -> (severity, message template)."""

from __future__ import annotations

from cqc.compiler.diagnostics.diagnostic import Severity

SYNTAX_CODES: dict[str, tuple[Severity, str]] = {
    "CQ001": (Severity.ERROR, "expected {expected}, found {found}"),
    "CQ002": (Severity.ERROR, "{what} is never closed"),
    "CQ003": (Severity.ERROR, "`{bracket}` {problem}"),
    "CQ004": (Severity.ERROR, "`{word}` is not a keyword"),
    "CQ005": (Severity.ERROR, "{missing} is missing before {found}"),
    "CQ006": (Severity.ERROR, "`;` is missing between two statements"),
    "CQ007": (Severity.ERROR, "{clause} is given twice"),
    "CQ008": (Severity.ERROR, "there is a comma too many before {found}"),
    "CQ009": (Severity.ERROR, "`{operator}` is not an operator of the language"),
    "CQ010": (Severity.ERROR, "{found} is {actual}, not {wanted}"),
    "CQ011": (Severity.ERROR, "the SELECT list is empty"),
    "CQ013": (Severity.ERROR, "the query has no FROM"),
    "CQ014": (Severity.ERROR, "`{word}` is a reserved word and cannot be a name"),
    "CQ015": (Severity.ERROR, "the expression is nested more than {limit} levels deep"),
    "CQ016": (Severity.ERROR, "the character {character} is not part of the language"),
    "CQ017": (Severity.ERROR, "{clause} needs {what}"),
    "CQ018": (Severity.ERROR, "{what} is not part of the language"),
    "CQ019": (Severity.ERROR, "`{word}` is not a {kind}"),
}
