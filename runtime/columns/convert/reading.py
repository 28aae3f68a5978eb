"""How values from outside become values of declared types: what WITH says about it, for all sources alike.

mode = 'lenient'    a number, boolean, object or array is its JSON text where text is declared, and text that CAST would turn into
                    a number or boolean is one: nothing is lost by either. 'strict' takes neither.
on_bad = 'reject'   a value that does not fit rejects its row; with 'null' it is NULL in it, and counted
timestamp, zone     how times are written (`time_forms`)
"""

from __future__ import annotations

import json
from dataclasses import field
from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics.record import record
from cqc.runtime.columns.time_forms import TimeForm

if TYPE_CHECKING:
    from collections.abc import Mapping


@record
class Reading:
    """The rules for one relation."""

    lenient: bool = True
    bad_is_null: bool = False
    times: TimeForm = field(default_factory=TimeForm)

    @staticmethod
    def of(options: Mapping[str, str]) -> Reading:
        """The rules that a WITH clause says."""
        return Reading(
            options.get("mode", "").lower() != "strict",
            options.get("on_bad", "").lower() == "null",
            TimeForm.of(options),
        )


USUAL = Reading()


def json_text(value: Any) -> str | None:
    """The JSON text of a Python value that came in the place of text; None where it has none."""
    try:
        text = json.dumps(value, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return text
