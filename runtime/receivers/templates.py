"""Texts with `{column}` in them, filled with the values of a result.

`{{` and `}}` are braces. A value is shown as CAST to STRING would show it, NULL as `null`. Where the text is JSON, values are escaped
so that it stays JSON, whatever is in them.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.exact_values import json_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class Template:
    """A text to fill.

    Raises:
        RunError: when a brace is left alone.
    """

    def __init__(self, text: str) -> None:
        self._parts: list[tuple[str, bool]] = []  # text, or the name of a value
        self.is_json = text.lstrip()[:1] in ("{", "[") and not text.lstrip().startswith("{{}}")
        at = 0
        for found in _PART.finditer(text):
            self._parts.append((text[at : found.start()], False))
            at = found.end()
            if found[0] in ("{{", "}}"):
                self._parts.append((found[0][0], False))
            elif found[1]:
                self._parts.append((found[1].strip(), True))
            else:
                raise RunError(
                    f"the template has a single {found[0]} at character {found.start() + 1}: "
                    "write {{ or }} for a brace"
                )
        self._parts.append((text[at:], False))
        first = next((part for part, is_value in self._parts if is_value or part.strip()), "")
        self.is_json = first.lstrip()[:1] in ("{", "[")

    @property
    def names(self) -> list[str]:
        """The names of the values it needs."""
        return [text for text, is_value in self._parts if is_value]

    def fill(self, values: Mapping[str, Any]) -> str:
        """The text with values in it. KeyError when one is missing."""
        return "".join(
            self._shown(values[text]) if is_value else text for text, is_value in self._parts
        )

    def _shown(self, value: Any) -> str:
        text = shown(value)
        return json.dumps(text, ensure_ascii=False)[1:-1] if self.is_json else text


def shown(value: Any) -> str:
    """A value of a result line as text."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case Decimal():
            return format(value, "f")
        case dict() | list():
            return json_text(value)
        case _:
            return str(value)
