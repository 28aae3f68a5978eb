"""Random programs of windows and OVER, with rows for them: late within the declared delay, with ties, NULLs and few keys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

DECLARED = (
    "CREATE STREAM s (ts {time}, k STRING, j BIGINT, x BIGINT, y DOUBLE, WATERMARK FOR ts AS ts - {delay} SECONDS);\n"
    "CREATE TABLE names (k STRING, title STRING);\n"
)
NAMES = [("a", "first"), ("b", "second"), ("b", "twice"), (None, "nobody")]
EPOCH_US = 1_704_067_200_000_000


@dataclass(frozen=True)
class WindowCase:
    """A program, and rows in the order of their arrival."""

    program: str
    rows: list[tuple[object, ...]]


def random_window_case(
    seed: int,
    kinds: tuple[str, ...] = (
        "groups",
        "session",
        "over",
        "complete",
        "rows",
        "view",
        "joined",
        "passed",
        "threshold",
    ),
) -> WindowCase:
    rng = Random(seed)
    is_number = rng.random() < 0.5
    delay = rng.choice([0, 0, 2, 5])
    idle = f"SET KEY_IDLE = {rng.choice([2, 5])} SECONDS;\n" if rng.random() < 0.3 else ""
    declared = DECLARED.format(time="BIGINT" if is_number else "TIMESTAMP", delay=delay)
    queries = [
        f"CREATE QUERY w{at} AS {random_query(rng, rng.choice(kinds))};\n"
        for at in range(rng.randint(1, 4))
    ]
    queries += [
        f"CREATE QUERY v{at} AS {text};\n" for at, text in enumerate(random_variants(Random(-seed)))
    ]
    return WindowCase(
        declared + idle + "".join(queries), random_rows(rng, delay, is_number=is_number)
    )


FILTERS = [
    "", " WHERE x > 0", " WHERE x > 2", " WHERE x IS NULL OR x < 1", " WHERE j = 1", " WHERE j <> 1", " WHERE k = 'a'", " WHERE k <> 'a'",
    " WHERE k IS NULL", " WHERE y > 0 AND j < 2",
]  # fmt: skip


def random_variants(rng: Random) -> list[str]:
    """One query over windows with several filters: their rows wait together."""
    text = rng.choice([random_groups, random_complete])(rng)
    if rng.random() < 0.6 or "names" in text:
        return []
    plain = re.sub(r" WHERE .*?(?= GROUP BY | QUALIFY |$)", "", text)
    clause = re.search(r" GROUP BY | QUALIFY |$", plain)
    assert clause is not None
    at = clause.start()
    return [plain[:at] + each + plain[at:] for each in rng.sample(FILTERS, rng.randint(2, 6))]


def random_rows(rng: Random, delay: int, *, is_number: bool) -> list[tuple[object, ...]]:
    """Event times that go up, none more than the delay behind the largest before it."""
    rows: list[tuple[object, ...]] = []
    latest = rng.randint(-3, 5)
    for _ in range(rng.randint(0, 40)):
        ts = max(latest + rng.choice([0, 0, 1, 1, 2, 7]) - rng.randint(0, delay), latest - delay)
        latest = max(latest, ts)
        rows.append(
            (
                ts if is_number else EPOCH_US + ts * 1_000_000,
                rng.choice(["a", "a", "b", "c", None]),
                rng.randint(0, 2),
                rng.choice([None, *range(-3, 6)]),
                rng.choice([None, 0.5, 1.25, -2.0, 3.0]),
            )
        )
    return rows


WHERE = ["", "", " WHERE x > 0", " WHERE x > 0 AND k IS NOT NULL", " WHERE y < 3 OR j = 1"]
AGGREGATES = [
    "COUNT(*)", "COUNT(x)", "SUM(x)", "AVG(x)", "MIN(x)", "MAX(y)", "SUM(y)", "AVG(y)", "MAX(k)", "COUNT(DISTINCT j)", "MIN(ts)",
]  # fmt: skip


def random_query(rng: Random, kind: str) -> str:
    return {
        "groups": random_groups,
        "session": random_session,
        "over": random_over,
        "complete": random_complete,
        "rows": random_window_rows,
        "view": random_over_view,
        "joined": random_joined_windows,
        "threshold": random_threshold,
        "passed": random_passed_windows,
    }[kind](rng)


def window_source(rng: Random) -> str:
    size = rng.choice([2, 3, 5, 10])
    slide = rng.choice([1, 2, 3, size])
    tumble = [
        f"TUMBLE(s, {size} SEC) AS w",
        f"TUMBLE(s, ts, INTERVAL '{size}' SECOND) w",
        f"TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), {size} SECONDS)) AS w",
        f"TUMBLE(s, {size}.5 SEC) w",
    ]
    hop = [
        f"HOP(s, {slide} SEC, {size} SEC) AS w",
        f"TABLE(HOP(TABLE s, DESCRIPTOR(ts), {slide} SECONDS, {size} SECONDS)) w",
    ]
    return rng.choice(tumble + hop)


def some(rng: Random, choices: list[str], most: int) -> list[str]:
    return rng.sample(choices, rng.randint(1, most))


def random_groups(rng: Random) -> str:
    source = window_source(rng)
    keys = [
        rng.choice(["window_start", "window_end"]),
        *rng.sample(["w.k", "j", "x % 2"], rng.randint(0, 2)),
    ]
    extra = [key for key in keys[1:] if key != "x % 2"]
    titled = rng.random() < 0.2
    if titled:
        source += ", names n"
        keys, extra = ["w.window_end", "n.title"], ["n.title"]
    chosen = [each.replace("k)", "w.k)") for each in some(rng, AGGREGATES, 3)]
    shown = [*extra, *[f"{each} AS a{at}" for at, each in enumerate(chosen)]]
    shown += ["window_start", "window_end"]
    where = rng.choice(
        [
            "",
            " WHERE x > 0",
            " WHERE y < 3 OR j = 1",
            " WHERE x > 0 AND w.window_start >= w.ts - 1 SEC",
        ]
    )
    if titled:
        where = " WHERE w.k = n.k"
    text = f"SELECT {', '.join(shown)} FROM {source}{where} GROUP BY {', '.join(keys)}"
    if rng.random() < 0.3:
        text += " HAVING COUNT(*) > 1"
    if rng.random() < 0.3 and not titled:
        order = ", ".join(["a0 DESC", *extra, "COUNT(*)"])
        rank = rng.choice(["ROW_NUMBER", "RANK", "DENSE_RANK"])
        if rank == "ROW_NUMBER":
            text += f" QUALIFY RANK() OVER (PARTITION BY {keys[0]} ORDER BY {order}) <= 2"
        else:
            text += f" QUALIFY {rank}() OVER (PARTITION BY {keys[0]} ORDER BY a0) <= 2"
    return text


def random_session(rng: Random) -> str:
    gap = rng.choice([1, 2, 4])
    keys = rng.sample(["k", "j", "x % 2"], rng.randint(0, 2))
    partition = f" PARTITION BY {', '.join(keys)}" if keys else ""
    source = rng.choice(
        [
            f"SESSION(s{partition}, {gap} SEC)",
            f"TABLE(SESSION(TABLE s{partition}, DESCRIPTOR(ts), {gap} SECONDS))",
        ]
    )
    shown = [*(key for key in keys if key != "x % 2"), "window_start", "window_end"]
    shown += [f"{each} AS a{at}" for at, each in enumerate(some(rng, AGGREGATES, 2))]
    by = ", ".join([rng.choice(["window_start", "window_end"]), *keys])
    return f"SELECT {', '.join(shown)} FROM {source}{rng.choice(WHERE)} GROUP BY {by}"


FRAMES = [
    "RANGE 3 SECONDS PRECEDING",
    "RANGE BETWEEN 2 SECONDS PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN CURRENT ROW AND CURRENT ROW",
    "ROWS 2 PRECEDING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "RANGE UNBOUNDED PRECEDING",
]
PARTITIONS = ["", "PARTITION BY k ", "PARTITION BY k, j ", "PARTITION BY x % 2 "]


def running_call(rng: Random) -> str:
    partition = rng.choice(PARTITIONS)
    order = rng.choice(["", "ORDER BY ts "])
    if rng.random() < 0.6:
        call = rng.choice([*AGGREGATES, "FIRST_VALUE(x)", "LAST_VALUE(y)", "NTH_VALUE(x, 2)"])
        return f"{call} OVER ({partition}{order}{rng.choice(FRAMES)})"
    call = rng.choice(
        ["ROW_NUMBER()", "RANK()", "DENSE_RANK()", "LAG(x)", "LAG(k, 2)", "LAG(x, 1, 0)"]
    )
    return f"{call} OVER ({partition}{order})"


def random_over(rng: Random) -> str:
    calls = [f"{running_call(rng)} AS o{at}" for at in range(rng.randint(1, 3))]
    source = "s" if rng.random() < 0.8 else "TUMBLE(s, 3 SEC) AS s"
    text = f"SELECT ts, k, x, {', '.join(calls)} FROM {source}{rng.choice(WHERE)}"
    return text + rng.choice(
        ["", "", " QUALIFY COUNT(*) OVER (PARTITION BY k RANGE 2 SECONDS PRECEDING) >= 2"]
    )


def random_complete(rng: Random) -> str:
    by_time = rng.random() < 0.3
    source = "s" if by_time else window_source(rng).rsplit(" ", 1)[0].removesuffix(" AS") + " AS s"
    window = "s.ts" if by_time else rng.choice(["window_start", "window_end"])
    orders = ["x, y, k, j", "y DESC, x, k, j", "ts, x, y, k, j"]
    calls = [
        "RANK() OVER (PARTITION BY {w}, k ORDER BY {o})",
        "PERCENT_RANK() OVER (PARTITION BY {w} ORDER BY x)",
        "CUME_DIST() OVER (PARTITION BY {w} ORDER BY x DESC)",
        "SUM(x) OVER (PARTITION BY {w})",
        "SUM(x) OVER (PARTITION BY {w} ORDER BY x)",
        "COUNT(*) OVER (PARTITION BY {w} ORDER BY x RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
        "MAX(y) OVER (PARTITION BY {w} ORDER BY x DESC RANGE BETWEEN 2 PRECEDING AND CURRENT ROW)",
        "COUNT(*) OVER (PARTITION BY {w} ORDER BY ts RANGE BETWEEN 1 SECOND PRECEDING AND 1 SECOND FOLLOWING)",
        "DENSE_RANK() OVER (PARTITION BY {w}, j ORDER BY x NULLS LAST)",
    ]
    chosen = rng.sample(calls, rng.randint(1, 3))
    shown = [
        f"{each.format(w=window, o=rng.choice(orders))} AS o{at}" for at, each in enumerate(chosen)
    ]
    text = f"SELECT s.ts, k, x, {', '.join(shown)} FROM {source}{rng.choice(WHERE)}"
    return text + rng.choice(["", f" QUALIFY RANK() OVER (PARTITION BY {window} ORDER BY x) <= 2"])


def random_window_rows(rng: Random) -> str:
    where = rng.choice(
        [
            "",
            " WHERE x > 0",
            " WHERE window_start <> w.ts",
            " WHERE x > 0 AND window_end > w.ts + 1 SEC",
        ]
    )
    return f"SELECT w.*, x + 1 AS more FROM {window_source(rng)}{where}"


def random_over_view(rng: Random) -> str:
    size = rng.choice([2, 3, 5])
    inner = rng.choice(
        [
            f"SELECT window_end AS e, k, COUNT(*) AS x FROM TUMBLE(s, {size} SEC) GROUP BY window_end, k",
            f"SELECT k, MAX(x) AS x FROM HOP(s, 1 SEC, {size} SEC) GROUP BY window_end, k",
            "SELECT window_end AS e, k, SUM(x) AS x FROM SESSION(s PARTITION BY k, 2 SEC) GROUP BY window_end, k",
            "SELECT ts, k, x FROM s WHERE x > 0",
            "SELECT ts, k, x, LAG(x) OVER (PARTITION BY k) AS b FROM s",
            f"SELECT ts, k, x FROM TUMBLE(s, {size} SEC) QUALIFY RANK() OVER (PARTITION BY window_end ORDER BY x) = 1",
        ]
    )
    if "QUALIFY" in inner:
        inner = inner.replace("SELECT ts,", "SELECT ts AS t,")
    longer = rng.choice([4, 6, 10])
    return rng.choice(
        [
            f"WITH v AS ({inner}) SELECT k, SUM(x) AS a, COUNT(*) AS n, window_start FROM TUMBLE(v, {longer} SEC) GROUP BY window_end, k",
            f"SELECT k, x, ROW_NUMBER() OVER (PARTITION BY k) AS n, SUM(x) OVER (RANGE 3 SECONDS PRECEDING) AS t FROM ({inner}) AS v",
            f"SELECT k, x, LAG(x) OVER (PARTITION BY k) AS n FROM ({inner}) AS v QUALIFY COUNT(*) OVER (ROWS 1 PRECEDING) = 2",
            f"SELECT k, x FROM ({inner}) AS v WHERE x >= 1",
        ]
    )


def random_joined_windows(rng: Random) -> str:
    """Items that are bounded by equal window columns, with and without partners; sessions beside a table."""
    size = rng.choice([2, 3, 5])
    kind = rng.choice(["JOIN", "LEFT JOIN", "FULL JOIN", "EXISTS", "SESSION"])
    one = rng.choice([f"TUMBLE(s, {size} SEC)", f"HOP(s, 1 SEC, {size} SEC)"])
    two = rng.choice([one, f"TUMBLE(s, {size * 2} SEC)"])
    column = rng.choice(["window_start", "window_end"])
    grouped = f"(SELECT k, COUNT(*) AS x, window_start, window_end FROM {two} GROUP BY k, window_start, window_end)"
    other = grouped if rng.random() < 0.4 else two
    on = f"a.k = b.k AND a.{column} = b.{column}" + rng.choice(["", " AND a.x < b.x"])
    more = rng.choice(["", "", " MAXWINDOW 2 SEC"])
    if kind == "SESSION":
        return (
            "SELECT w.k, COUNT(*) AS n, MIN(n.title) AS t, window_start FROM SESSION(s PARTITION BY k, 2 SEC) AS w, names n"
            " WHERE w.k = n.k AND x > 0 AND (j > 0 OR n.title = 'first') GROUP BY window_end, w.k"
        )
    if kind == "EXISTS":
        negated = rng.choice(["", "NOT "])
        return f"SELECT a.k, a.x, a.window_end FROM {one} AS a WHERE {negated}EXISTS (SELECT 1 FROM {other} AS b WHERE {on}{more})"
    return f"SELECT a.k, a.x, b.x AS y, a.window_end, b.window_end AS e FROM {one} AS a {kind} {other} AS b ON {on}{more}"


def random_passed_windows(rng: Random) -> str:
    """Window columns that a view passes on, in GROUP BY and PARTITION BY."""
    size = rng.choice([2, 3, 5])
    source = rng.choice([f"TUMBLE(s, {size} SEC)", f"HOP(s, 1 SEC, {size} SEC)"])
    joined = f"FROM {source} AS a {rng.choice(['JOIN', 'LEFT JOIN'])} {source} AS b ON a.k = b.k AND a.window_end = b.window_end"
    inner = rng.choice(
        [
            f"SELECT k, COUNT(*) AS x, window_start AS b, window_end AS e FROM {source} GROUP BY window_end, k",
            f"SELECT ts, k, x, window_start AS b, window_end AS e FROM {source} WHERE x > 0",
            f"SELECT a.k, b.x, a.window_start AS b, a.window_end AS e {joined}",
            "SELECT k, SUM(x) AS x, window_start AS b, window_end AS e FROM SESSION(s PARTITION BY k, 2 SEC) GROUP BY window_end, k",
        ]
    )
    start = "b" if "SESSION" not in inner and rng.random() < 0.4 else "e"
    return rng.choice(
        [
            f"SELECT {start}, SUM(x) AS a, COUNT(*) AS n FROM ({inner}) AS v GROUP BY {start}",
            f"SELECT k, MAX(x) AS a FROM ({inner}) AS v WHERE x > 0 GROUP BY k, {start} HAVING COUNT(*) > 0",
            f"SELECT k, x, RANK() OVER (PARTITION BY {start} ORDER BY x DESC) AS r FROM ({inner}) AS v",
            f"SELECT k, x FROM ({inner}) AS v QUALIFY RANK() OVER (PARTITION BY {start} ORDER BY x) <= 1",
        ]
    )


def random_threshold(rng: Random) -> str:
    """A sliding threshold, which shares its counting with the others of its PARTITION BY."""
    partition = rng.choice([*PARTITIONS, "PARTITION BY j ", "PARTITION BY y "])
    frames = [
        "RANGE 0 SECONDS",
        "RANGE 1 SECOND",
        "RANGE 2 SECONDS",
        "RANGE 5 SECONDS",
        "RANGE UNBOUNDED",
        "ROWS UNBOUNDED",
    ]
    count = f"COUNT(*) OVER ({partition}{rng.choice(['', 'ORDER BY ts '])}{rng.choice(frames)} PRECEDING)"
    shown = rng.choice(["ts, k, x", f"ts, k, {count} AS n", "k, x + 1 AS z"])
    qualify = [
        f"{count} >= {rng.choice([1, 2, 3, 5])}",
        f"{count} > {rng.choice([0, 1, 2])}",
        f"2 <= {count}",
    ]
    qualify += [f"{count} % 3 = 0", f"1 = {count} % 2"]
    if "AS n" in shown:
        qualify = ["n >= 2", "n > 0", "n % 3 = 1"]
    return f"SELECT {shown} FROM s{rng.choice(WHERE)} QUALIFY {rng.choice(qualify)}"
