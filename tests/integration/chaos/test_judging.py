"""The judge itself: its answers are those of the brute-force oracle, and it misses nothing that is missing, repeated or untrue."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from tests.integration.chaos.judging import (
    Standing,
    compare_exactly,
    counts,
    lines_of,
    may_give,
    must_give,
)
from tests.integration.chaos.ledger import Fault, Ledger
from tests.integration.chaos.queries import Every, Filter, canonical, make_queries
from tests.integration.chaos.world import LABELS, World
from tests.support.oracle.brute_force import Data, every_answers, push_answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.chaos.queries import Answer


def oracle_answer(query: Any, world: World) -> Answer:
    """What the oracle says that a query gives over everything that has arrived."""
    streams = {
        name: [((row.ts, row.n, row.k, row.x, row.name), row.n) for row in stream.rows]
        for name, stream in world.streams.items()
    }
    data = Data(streams, {"t": list(LABELS.items())})
    program = cqc.compile(f"{world.declarations()}CREATE QUERY {query.name} AS {query.text};")
    bound = program.queries[query.name]
    names = [output.name for output in bound.outputs]
    if bound.pull is None:
        results, tag = push_answer(bound, data.streams, data.tables), "ts"
    else:
        results, tag = every_answers(bound, data), "at"
    return Counter(
        canonical(
            {"query": query.name, tag: at // 1_000_000, "row": dict(zip(names, row, strict=True))}
        )
        for at, row in results
    )


@pytest.mark.parametrize("seed", range(6))
def test_the_right_answers_are_those_of_the_oracle(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    world = World(tmp_path, rng, with_http=seed % 2 == 0)
    for stream in world.streams.values():
        stream.make_rows(rng, 40)
    over = {name: stream.latest + 1.0 for name, stream in world.streams.items()}
    for query in make_queries(world, rng):
        rows = {name: stream.rows for name, stream in world.streams.items()}
        assert query.answer(rows, over) == oracle_answer(query, world), query.text


def test_what_is_missing_repeated_or_untrue_is_told_apart() -> None:
    right = Counter(["a", "b", "c"])
    state = compare_exactly(Counter(["a", "b", "b", "x", "x"]), right, right)
    assert (state.missing, state.repeated, state.untrue) == (
        Counter("c"),
        Counter("b"),
        Counter(["x", "x"]),
    )
    with pytest.raises(Fault, match="silently wrong 2"):
        state.raise_faults()


def test_half_a_line_is_no_result() -> None:
    line = json.dumps({"query": "q", "ts": 1, "row": {"n": 1}})
    found = lines_of(f"{line}\n{line[:20]}".encode())
    assert found[canonical(json.loads(line))] == 1
    assert any(each.startswith("broken line") for each in found)


def test_a_query_that_comes_and_goes_owes_the_rows_between_and_may_not_give_those_after(
    tmp_path: Path,
) -> None:
    rng = random.Random(1)
    world = World(tmp_path, rng)
    stream = world.streams["a"]

    def grow() -> dict[str, int]:
        stream.make_rows(rng, 5)
        return counts(world)

    standing = Standing(Filter("q", "a"), since=grow(), from_the_start=False)
    standing.asked_to_go, standing.gone = grow(), grow()
    grow()

    def numbers(answer: Answer) -> list[int]:
        return sorted(json.loads(line)["row"]["n"] for line in answer)

    assert numbers(must_give(standing, world)) == list(range(5, 10))
    assert numbers(may_give(standing, world)) == list(range(15))


def test_instants_that_the_watermark_has_not_passed_are_not_owed(tmp_path: Path) -> None:
    world = World(tmp_path, random.Random(2))
    stream = world.streams["a"]
    stream.make_rows(random.Random(3), 30)
    query = Every("q", "a", 2, 2, grouped=False)
    instants = [json.loads(line)["at"] for line in must_give(Standing(query), world)]
    assert max(instants) == (stream.latest - stream.delay - 1) // 2 * 2


def test_the_last_line_counts_every_kind_of_fault() -> None:
    ledger = Ledger()
    ledger.note("local", "bit flipped", "refused")
    assert ledger.is_clean
    assert ledger.verdict() == "lost 0, repeated 0, silently wrong 0, tracebacks 0, wedged 0"
    ledger.fault("local", "bit flipped", Fault("lost", 7, "never came"), "words")
    assert not ledger.is_clean
    assert ledger.verdict().startswith("lost 7, repeated 0")
    assert "bit flipped      2" in ledger.table()
