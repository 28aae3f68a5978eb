"""What a user should hear about rows that came in: a column that no row had, rows that were mostly rejected, times in another unit.

Nothing of this stops a run, and each is the sort of mistake by which a run finds nothing and ends well.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics.suggest import did_you_mean
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.meaning.catalog import Column, Relation
    from cqc.runtime.intake.stream_input import StreamCount

_DEEPEST = 8  # objects inside each other in which a column is looked for
_MOST_PATHS = 3
_FAR_US = 10**11 * 1_000_000  # as seconds, beyond the year 5000: these are milliseconds or finer
_MOST_NAMED = 10  # columns


def intake_warnings(relation: Relation, count: StreamCount, latest_us: int | None) -> list[str]:
    """Sentences about the rows of one stream or table so far."""
    return [
        *_rejected(relation, count),
        *absent_columns(relation, count),
        *_far_times(relation, latest_us),
    ]


def _rejected(relation: Relation, count: StreamCount) -> Iterator[str]:
    if count.rejected * 2 <= count.read:
        return
    reason, number = count.reasons.most_common(1)[0]
    most = "ALL" if count.rejected == count.read else "MOST"
    help_ = "--rejects PATH keeps them"
    if _is_of_a_field(reason, relation):
        help_ += "; WITH (on_bad = 'null') takes them without the bad field"
    yield (
        f"{most} ROWS of {relation.name} WERE REJECTED ({count.rejected:,} of {count.read:,}), and no query saw them; "
        f"{number:,} because {reason} ({help_})"
    )


def _is_of_a_field(reason: str, relation: Relation) -> bool:
    """Whether a row was rejected for one of its fields that it can do without: not for its time, nor because it is no row at all."""
    at = relation.event_time
    return any(
        reason.startswith(f"{column.name} is ")
        for number, column in enumerate(relation.declared)
        if number != at
    )


def absent_columns(relation: Relation, count: StreamCount) -> Iterator[str]:
    """Sentences about columns that no row of a stream or table has had so far."""
    names = count.absent or []
    paths = list(_paths(_parsed(count.sample), ())) if names else []
    columns = {each.name: each for each in relation.columns}
    advised = {name: advice for name in names if (advice := _advice(columns[name], paths))}
    for name in [*advised][:_MOST_NAMED]:
        yield f"no row of {relation.name} had {'.'.join(columns[name].keys)}{advised[name]}"
    # What nobody can help with is one sentence: programs of imported rules have columns that few logs have.
    others = [name for name in names if name not in advised] + [*advised][_MOST_NAMED:]
    if others:
        listing = ", ".join(".".join(columns[name].keys) for name in others[:_MOST_NAMED])
        rest = len(others) - _MOST_NAMED
        yield f"no row of {relation.name} had {listing}{f' and {rest:,} more' if rest > 0 else ''}"


def _advice(column: Column, paths: list[tuple[str, ...]]) -> str:
    """Where the column probably is."""
    found = _likely(column, paths)
    if found:
        path = found[0]
        others = "".join(f", or '{'.'.join(other)}'" for other in found[1:_MOST_PATHS])
        name = column.name if column.name.isidentifier() else f'"{column.name}"'
        declared = f"{name} {column.type.value} FROM '{'.'.join(path)}'"
        if len(path) == 1:
            return f"; rows have {path[0]}: declare `{declared}`{others}"
        return f"; {'.'.join(path)} is inside {path[0]}: declare `{declared}`{others}"
    near = did_you_mean(column.keys[-1], [path[0] for path in paths if len(path) == 1])
    return "" if near is None else f". {near.rstrip('.')}"


def _likely(column: Column, paths: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    wanted = _letters(column.keys)
    whole = [path for path in paths if _letters(path) == wanted and path != column.keys]
    last = [path for path in paths if fold(path[-1]) == fold(column.keys[-1])]
    return list(dict.fromkeys([*whole, *sorted(last, key=len)]))


def _letters(keys: tuple[str, ...]) -> str:
    """Keys without what people put between them."""
    return "".join(letter for letter in fold("".join(keys)) if letter.isalnum())


def _parsed(text: str) -> Any:
    try:
        # A sample may be the beginning of an array, or of a row that is longer.
        return json.JSONDecoder().raw_decode(text.lstrip())[0] if text else None
    except (ValueError, RecursionError):
        return None


def _paths(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The keys to everything in a row."""
    if isinstance(value, dict) and len(keys) < _DEEPEST:
        for key, inner in value.items():
            yield (*keys, key)
            yield from _paths(inner, (*keys, key))


def _far_times(relation: Relation, latest_us: int | None) -> Iterator[str]:
    if relation.event_time is None or latest_us is None or latest_us < _FAR_US:
        return
    column = relation.columns[relation.event_time]
    if column.type not in (ColumnType.BIGINT, ColumnType.DOUBLE):
        return
    seconds = latest_us // 1_000_000
    unit = "millis" if seconds < 10**14 else "micros" if seconds < 10**17 else "nanoseconds"
    counted = "milliseconds" if unit == "millis" else "microseconds" if unit == "micros" else unit
    fix = f"declare `{column.name} TIMESTAMP` WITH (timestamp = '{unit}')"
    if unit == "nanoseconds":
        fix = f"declare `{column.name} TIMESTAMP`, which tells the unit by the size of a number"
    yield (
        f"{column.name} of {relation.name} counts seconds, and {seconds:,} is thousands of years away: "
        f"it looks like {counted}, so that windows are wrong; {fix}"
    )
