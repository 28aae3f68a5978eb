"""Results on their way to whoever drains: one by one, or as tables where a notebook shows them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from cqc.runtime.deliver.results import Result

_MOST_SHOWN = 50
_LONGEST_TEXT = 200


class Drained:
    """An iterator over results that notebooks show as tables.

    What is shown counts as given; what is beyond the first rows waits for the next drain.
    """

    def __init__(self, results: Generator[Result]) -> None:
        self._results = results
        self._shown: list[Result] | None = None
        self._more = False

    def __iter__(self) -> Iterator[Result]:
        return self

    def __next__(self) -> Result:
        return next(self._results)

    def close(self) -> None:
        """Let what was not asked for wait for the next drain."""
        self._results.close()

    def _repr_html_(self) -> str:
        if self._shown is None:
            self._shown = list(islice(self._results, _MOST_SHOWN))
            self._more = len(self._shown) == _MOST_SHOWN
            self._results.close()
        more = "<p>The next drain gives the rest.</p>" if self._more else ""
        return html_tables(self._shown) + more


def html_tables(results: Sequence[Result]) -> str:
    """Results as HTML, a table for each query."""
    if not results:
        return "<p>No results.</p>"
    by_query: dict[str, list[Result]] = {}
    for result in results:
        by_query.setdefault(result.query, []).append(result)
    return "".join(_table(query, own) for query, own in by_query.items())


def _table(query: str, results: list[Result]) -> str:
    first = results[0]
    label = "ts" if first.at is None else "at"
    head = "".join(f"<th>{_text(name)}</th>" for name in (label, *first.row))
    lines = []
    for result in results:
        values = (result.ts if result.at is None else result.at, *result.row.values())
        lines.append("<tr>" + "".join(f"<td>{_text(value)}</td>" for value in values) + "</tr>")
    return (
        f"<table><caption>{_text(query)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _text(value: Any) -> str:
    text = "NULL" if value is None else str(value)
    from html import escape  # only notebooks ask

    return escape(text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + "...")
