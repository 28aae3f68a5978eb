"""The codes of what the parser reports: code -> (severity, message template)."""

from __future__ import annotations

from cqc.compiler.diagnostics import Severity

SYNTAX_CODES: dict[str, tuple[Severity, str]] = {}
