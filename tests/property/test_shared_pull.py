"""Pull queries over one join that differ in their conditions answer as if each kept its rows for itself: whoever asks, whenever, about whatever window."""

from __future__ import annotations

from random import Random

import pytest

import cqc
from cqc.runtime.pull import kept_bodies, shared_rows

STREAMS = """
CREATE STREAM a (ts BIGINT, k BIGINT, v BIGINT);
CREATE STREAM b (ts BIGINT, k BIGINT, g TEXT, x DOUBLE);
"""
JOIN = "FROM a, b WHERE a.k = b.k AND a.v {op} {v} AND b.x > {x}"
WINDOWS = ("BEGIN 0 END NOW", "BEGIN NOW - 9 END NOW", "BEGIN 5 END NOW - 3")
FORMS = (
    f"SELECT a.ts AS t, b.ts AS u, a.k, b.x {JOIN} {{w}} MAXWINDOW 20 SEC;",
    f"SELECT a.k, MAX(b.x) AS m, COUNT(*) AS n, AVG(b.x) AS e {JOIN} {{w}} GROUP BY a.k, a.v HAVING COUNT(*) > 1 MAXWINDOW 20 SEC;",
    f"SELECT b.g, SUM(a.v) AS s, MIN(b.g) AS l, COUNT(*) AS n {JOIN} {{w}} GROUP BY b.g ORDER BY n DESC, b.g LIMIT 2 MAXWINDOW 20 SEC;",
    f"SELECT b.g, SUM(a.v) AS s, SUM(b.x) AS d {JOIN} {{w}} GROUP BY b.g MAXWINDOW 20 SEC;",
    f"SELECT SUM(b.x) AS s, COUNT(*) AS n {JOIN} {{w}} MAXWINDOW 20 SEC;",
    f"SELECT COUNT(*) AS n, SUM(m) AS s FROM (SELECT a.k, a.v, MAX(b.x) AS m {JOIN} GROUP BY a.k, a.v) AS q {{w}};",
    "SELECT k, t, u, x FROM v{number} {w} QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC, u, t) <= {n};",
    "SELECT g, x, RANK() OVER (PARTITION BY g ORDER BY x) AS r FROM v{number} {w} QUALIFY RANK() OVER (PARTITION BY g ORDER BY x) = {n};",
    "SELECT g, COUNT(*) AS c FROM (SELECT g, x FROM v{number} QUALIFY DENSE_RANK() OVER (PARTITION BY k ORDER BY x) < {n}) AS q {w} GROUP BY g;",
)
VIEW = f"CREATE VIEW v{{number}} AS SELECT a.k, b.g, a.ts AS t, b.ts AS u, b.x {JOIN} MAXWINDOW 20 SEC;"


def queries(rng: Random) -> tuple[str, dict[str, str]]:
    """The views, and queries by name: some forms, each with other constants many times."""
    views, found = [], {}
    for form in rng.sample(FORMS, 4):
        window, shown = rng.choice(WINDOWS), rng.randint(1, 3)
        op = rng.choice((">", ">", "<>"))
        for _ in range(rng.randint(2, 6)):
            number = len(found)
            values = {
                "op": op,
                "v": rng.randint(0, 3),
                "x": rng.choice((-1, -1, 0.5)),
                "w": window,
                "n": shown,
                "number": number,
            }
            if "{number}" in form:
                views.append(VIEW.format(**values))
            found[f"q{number}"] = form.format(**values)
    return "\n".join(views), found


def rows(rng: Random, since: int, count: int) -> list[tuple[str, dict[str, object]]]:
    found: list[tuple[str, dict[str, object]]] = []
    at = since
    for _ in range(count):
        at += rng.choice((0, 0, 1, 2))
        if rng.random() < 0.4:
            found.append(("a", {"ts": at, "k": rng.randint(0, 4), "v": rng.randint(0, 4)}))
        else:
            row = {"k": rng.randint(0, 4), "g": rng.choice("xyz"), "x": rng.randint(0, 6) / 2}
            found.append(("b", {"ts": at, **row}))
    return found


def engines(text: str, asked: dict[str, str]) -> list[cqc.Engine]:
    """One that shares from the first body on, and one that never does."""
    made = []
    for least in (1, 1 << 40):
        kept_bodies.SHARED_FROM = least
        made.append(cqc.Engine(cqc.compile(text)))
        for name, query in asked.items():
            made[-1].register(query, name)
    return made


@pytest.mark.parametrize("block", range(8))
def test_rows_that_are_shared_give_the_same_answers(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_bodies, "SHARED_FROM", 8)
    monkeypatch.setattr(shared_rows, "_LOOKED_AT", 1 << 40 if block % 4 else 50)
    for seed in range(block * 3, block * 3 + 3):
        check(seed)


def check(seed: int) -> None:
    rng = Random(seed)
    views, asked = queries(rng)
    shared, alone = engines(STREAMS + views, asked)
    seen = 0
    for turn in range(8):
        some = rows(rng, seen, rng.randint(0, 40))
        seen = max([seen, *(int(str(row["ts"])) for _, row in some)])
        for engine in (shared, alone):
            for name, row in some:
                engine.push(name, [row])
        at = None if rng.random() < 0.6 else rng.randint(0, seen + 5)
        for name in rng.sample(list(asked), rng.randint(0, len(asked))) * rng.choice((1, 1, 3)):
            expected, found = (engine.invoke(name, at=at).to_pylist() for engine in (alone, shared))
            if "ORDER BY n" not in asked[name]:
                expected, found = (sorted(map(repr, each)) for each in (expected, found))
            assert found == expected, (seed, name, asked[name], at)
        if rng.random() < 0.3 and len(asked) > 3:
            gone = rng.choice(list(asked))
            query = asked.pop(gone)
            for engine in (shared, alone):
                engine.unregister(gone)
            if rng.random() < 0.7:  # it comes back, and finds the retained past
                asked[f"r{turn}"] = query
                for engine in (shared, alone):
                    engine.register(query, f"r{turn}")
        if rng.random() < 0.2:  # another engine goes on
            kept_bodies.SHARED_FROM = 1
            later = cqc.Engine(cqc.compile(STREAMS + views))
            later.restore(shared.snapshot())
            shared = later
