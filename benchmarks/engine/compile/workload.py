"""The programs that the compile benchmark compiles; seeded, so that every run compiles the same."""

from __future__ import annotations

import random

COLUMNS = 8
_STREAM = "CREATE STREAM s (ts TIMESTAMP, {columns});\n"
_JOINED = """\
CREATE STREAM r (ts TIMESTAMP, a BIGINT, x DOUBLE);
CREATE STREAM t (ts TIMESTAMP, a BIGINT, b BIGINT, x DOUBLE);
CREATE STREAM u (ts TIMESTAMP, b BIGINT, x DOUBLE);
"""


def range_program(queries: int, seed: int = 1) -> str:
    """Queries of one to four range predicates over one stream of eight columns."""
    chooser = random.Random(seed)
    columns = ", ".join(f"c{at} BIGINT" for at in range(COLUMNS))
    lines = [range_query(chooser) + ";" for _ in range(queries)]
    return _STREAM.format(columns=columns) + "\n".join(lines)


def range_query(chooser: random.Random) -> str:
    """One such query."""
    predicates = []
    for column in chooser.sample(range(COLUMNS), chooser.randint(1, 4)):
        low = chooser.randrange(256)
        if chooser.random() < 0.5:
            predicates.append(f"c{column} BETWEEN {low} AND {low + chooser.randrange(64)}")
        else:
            predicates.append(f"c{column} {chooser.choice(['<', '<=', '>', '>='])} {low}")
    return f"SELECT c0, c1 FROM s WHERE {' AND '.join(predicates)}"


def join_program(queries: int, seed: int = 2) -> str:
    """Three-way window joins that differ in their constants and windows."""
    chooser = random.Random(seed)
    lines = []
    for _ in range(queries):
        limit = chooser.randrange(1, 1_000)
        lines.append(
            "SELECT r.x, t.x AS y, u.x AS z FROM r, t, u WHERE r.a = t.a AND t.b = u.b "
            f"AND r.x > {limit}.5 AND u.x < t.x * {chooser.randint(2, 9)} "
            f"WINDOW r.ts <= t.ts AND u.ts - t.ts <= {chooser.randint(1, 9)} SEC MAXWINDOW 10 SEC;"
        )
    return _JOINED + "\n".join(lines)


def wide_or_program(literals: int) -> str:
    """One query with many text literals under OR."""
    names = " OR ".join(f"name = 'rule-{at:05d}'" for at in range(literals))
    return f"CREATE STREAM e (ts TIMESTAMP, name STRING); SELECT name FROM e WHERE {names};"
