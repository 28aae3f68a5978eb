"""What a misspelt word was probably meant to be, and what to write for the windows of other dialects.

Edit distance with transpositions (optimal string alignment), case folded. A suggestion must be close: at most one edit in
three characters, so that `presure` finds `pressure` and `x` does not find `y`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


_MOST_LISTED = 50
NOW_HINT = "`NOW` is written without brackets, and stands in BEGIN and END alone: `BEGIN NOW - 10 MINUTES END NOW`."
TUMBLING_WINDOW = "BEGIN AFTER NOW - 1 MINUTE END NOW EVERY 1 MINUTE"
_TUMBLING_HINT = "A tumbling window is `FROM TUMBLE(stream, 1 MINUTE) ... GROUP BY window_end`."
_HOPPING_HINT = (
    "A hopping window is `FROM HOP(stream, 1 MINUTE, 5 MINUTES) ... GROUP BY window_end`."
)
_WINDOW_HINTS = {
    **dict.fromkeys(
        ("tumble", "tumbling", "tumblingwindow", "window", "time_bucket"), _TUMBLING_HINT
    ),
    **dict.fromkeys(("date_trunc", "date_bin"), _TUMBLING_HINT),
    **dict.fromkeys(("hop", "hopping", "hoppingwindow", "slide", "sliding"), _HOPPING_HINT),
    **dict.fromkeys(
        ("session", "session_window"),
        "A session is `FROM SESSION(stream PARTITION BY key, 30 SEC) ... GROUP BY window_end, key`.",
    ),
}


def window_hint(word: str) -> str | None:
    """How a window is written here that other dialects make with this word, or None where it is no such word.

    Example:
        window_hint("TUMBLE_START") == window_hint("tumble")
    """
    return _WINDOW_HINTS.get(word.lower().removesuffix("_start").removesuffix("_end"))


_CLOCK = frozenset(
    [
        "current_timestamp",
        "current_date",
        "current_time",
        "localtimestamp",
        "localtime",
        "sysdate",
        "systimestamp",
        "getdate",
        "curdate",
        "now",
        "rowtime",
        "proctime",
        "event_time",
        "_time",
        "ptime",
        "utc_timestamp",
        "unix_timestamp_now",
    ]
)
_OTHER_FUNCTIONS = {
    "iif": "Write `if(condition, a, b)`, or CASE.",
    "decode": "Write `CASE x WHEN 1 THEN 'a' ... END`.",
    "isnull": "Write `x IS NULL`, or `coalesce(x, 0)` for another value.",
    "regexp": "Write `text RLIKE 'pattern'`.",
    "regexp_matches": "Write `text RLIKE 'pattern'`.",
    "charindex": "Write `contains(text, part)`.",
    "convert": "Write `CAST(value AS type)`.",
    "to_char": "Write `date_format(ts, 'yyyy-MM-dd')` for a time, and `CAST(value AS STRING)` for a number.",
    "date": "Write `to_date(ts)`, or `CAST(ts AS DATE)`.",
    "string_to_array": "Write `split(text, ',')`; its second argument is a regular expression.",
    "age": "Subtract the times: `later - earlier` is a duration.",
    **dict.fromkeys(
        ("any", "some"),
        "Write `x IN (a, b)`; patterns are joined with OR: `x ILIKE '%a%' OR x ILIKE '%b%'`.",
    ),
    "to_number": "Write `CAST(text AS DOUBLE)`.",
    "toint": "Write `CAST(value AS BIGINT)`.",
    "countdistinct": "Write `COUNT(DISTINCT x)`.",
    "uniq": "Write `COUNT(DISTINCT x)`.",
}


def clock_hint(word: str) -> str | None:
    """What to write for a word that is the wall clock, or the time of a row, elsewhere.

    Example:
        clock_hint("CURRENT_TIMESTAMP") is not None
    """
    if word.lower() not in _CLOCK:
        return None
    return (
        "The time of a row is its event-time column; NOW, the instant asked about, stands in BEGIN and END: "
        "`BEGIN NOW - 10 MINUTES END NOW`."
    )


def function_hint(word: str) -> str | None:
    """What to write for a function of another system, or None where it is no such function."""
    return clock_hint(word) or window_hint(word) or _OTHER_FUNCTIONS.get(word.lower())


def edit_distance(left: str, right: str, limit: int) -> int:
    """Insertions, deletions, replacements and exchanges of neighbours; anything over `limit` is `limit + 1`."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for row, char in enumerate(left, 1):
        current = [row]
        for column, other in enumerate(right, 1):
            best = min(
                previous[column] + 1,
                current[column - 1] + 1,
                previous[column - 1] + (char != other),
            )
            if row > 1 and column > 1 and char == right[column - 2] and left[row - 2] == other:
                best = min(best, before[column - 2] + 1)
            current.append(best)
        if min(current) > limit:
            return limit + 1
        before, previous = previous, current
    return min(previous[-1], limit + 1)


def closest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate nearest to a word, or None when none is near (ties: the first).

    Example:
        closest("presure", ["ts", "pressure"]) == "pressure"
    """
    wanted = word.lower()
    limit = (len(wanted) + 2) // 3
    best, best_distance = None, limit + 1
    for candidate in candidates:
        folded = candidate.lower()
        distance = edit_distance(wanted, folded, best_distance - 1)
        # Replacing every letter is not a spelling mistake.
        if distance < best_distance and distance < max(len(wanted), len(folded)):
            best, best_distance = candidate, distance
            if distance == 0:
                break
    return best


def listed(names: Iterable[str]) -> str:
    """Names one after the other; of very many the first ones.

    Example:
        listed(["ts", "pressure"]) == "ts, pressure"
    """
    every = list(names)
    if len(every) <= _MOST_LISTED:
        return ", ".join(every)
    return f"{', '.join(every[:_MOST_LISTED])} and {len(every) - _MOST_LISTED:,} more"


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """A hint naming the closest candidate, or None."""
    found = closest(word, candidates)
    return None if found is None else f"Did you mean `{found}`?"
