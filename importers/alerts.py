"""Rules as alerts: one firing per key, repeated at most so often, ended by silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.importers.program_text import identifier, text, with_clause

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BRACES = str.maketrans({"{": "{{", "}": "}}"})


def alert_statement(
    name: str, view: str, texts: Mapping[str, str], per: Sequence[str], once_every: str
) -> str:
    """The CREATE ALERT of a rule over the view of its events; its level is the severity.

    Args:
        name: of the alert.
        view: whose rows are the events.
        texts: what is kept of the rule.
        per: expressions that keep alerts apart.
        once_every: how often one is repeated at most.

    Every observation of that view is bad, so an alert ends when its key was silent for as long as it is not repeated.
    """
    level = texts.get("level", "")
    severity = f" SEVERITY {text(level)}" if level else ""
    per_clause = f"\nPER    {', '.join(per)}" if per else ""
    kept = {key: value.translate(_BRACES) for key, value in texts.items()}
    clause = with_clause(kept)
    return (
        f"CREATE ALERT {identifier(name)}{severity} AS\nSELECT *\nFROM   {identifier(view)}{per_clause}\n"
        f"ONCE EVERY {once_every}\nNO DATA AFTER {once_every}\n{clause};\n"
    )
