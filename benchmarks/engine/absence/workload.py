"""Rules of the form "A without B of the same key within d", and the streams they watch.

Each A has its B within a second but for one in a hundred, which has none. 10,000 tuples a second over 100,000 keys. Rules have a
filter on each side and a length d of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SECOND_US = 1_000_000
_RATE = 10_000
_KEYS = 100_000
_UNMATCHED = 0.01
_CODES = 1_000


def make_streams(tuples: int, seed: int = 7) -> dict[str, dict[str, Any]]:
    """The two streams by column; half of the tuples each."""
    random = np.random.default_rng(seed)
    count = tuples // 2
    times = np.sort(random.integers(0, tuples * SECOND_US // _RATE, count))
    keys = random.integers(0, _KEYS, count)
    codes = random.integers(0, _CODES, count)
    has_partner = random.random(count) >= _UNMATCHED
    later = times[has_partner] + random.integers(0, SECOND_US, int(has_partner.sum()))
    order = np.argsort(later, kind="stable")
    return {
        "A": {"ts": times, "k": keys, "x": codes},
        "B": {"ts": later[order], "k": keys[has_partner][order], "y": codes[has_partner][order]},
    }


def rule(number: int, rules: int) -> tuple[int, int, int]:
    """The constants of a rule: A's codes are at least the first, B's at most the second, within the third (microseconds)."""
    if rules == 1:
        return 0, _CODES, 2 * SECOND_US
    # The most selective tenth of the codes on A, everything on B but a little.
    least = _CODES - _CODES // 10 + number % 50
    return least, _CODES - number % 7, 1_500_000 + 10_000 * (number % 100)


def program(rules: int) -> str:
    """The rules as queries."""
    text = (
        "CREATE STREAM A (ts TIMESTAMP, k BIGINT, x BIGINT);\n"
        "CREATE STREAM B (ts TIMESTAMP, k BIGINT, y BIGINT);\n"
    )
    for number in range(rules):
        least, most, within_us = rule(number, rules)
        text += (
            f"CREATE QUERY r{number} AS SELECT A.ts, A.k FROM A WHERE A.x >= {least} AND NOT EXISTS "
            f"(SELECT 1 FROM B WHERE B.k = A.k AND B.y <= {most} "
            f"WINDOW B.ts >= A.ts AND B.ts <= A.ts + {within_us} US);\n"
        )
    return text
