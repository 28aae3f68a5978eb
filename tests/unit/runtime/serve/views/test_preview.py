"""What a query would have found."""

from collections.abc import Iterator

import pytest

from cqc.compiler.diagnostics.diagnostic import CompileError
from cqc.runtime.engine.engine import Engine
from cqc.runtime.intake.typed_batch import TypedBatch
from cqc.runtime.serve.refusal import Refusal
from cqc.runtime.serve.views import preview as module
from cqc.runtime.serve.views.past import Past, take_past
from cqc.runtime.serve.views.preview import preview
from tests.unit.runtime.serve.views.services import push, rows_of, service_of


def past_of(*names: str) -> Past:
    service = service_of()
    push(service, "s", *rows_of(100))
    push(service, "r", *({"ts": n, "k": n} for n in range(5)))
    return take_past(service, names, 1_000)


def test_a_push_query_finds_what_it_would_have_delivered() -> None:
    found = preview(past_of("s"), "SELECT k, x FROM s WHERE x >= 90", 10.0)
    assert (found.kind, found.results, found.rows, found.cut) == ("push", 10, 100, "")
    assert found.over_time is not None
    assert sum(found.over_time.counts) == 10
    assert found.columns == (("k", "BIGINT"), ("x", "DOUBLE"))


def test_a_join_goes_over_all_its_streams() -> None:
    found = preview(
        past_of("s", "r"),
        "SELECT s.k FROM s, r WHERE s.k = r.k AND s.ts = r.ts MAXWINDOW 1 SEC",
        10.0,
    )
    assert found.results == 5


def test_a_pull_query_is_asked_at_an_instant() -> None:
    text = "SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW"
    latest = preview(past_of("s"), text, 10.0).asked
    earlier = preview(past_of("s"), text, 10.0, "9").asked
    assert latest is not None
    assert earlier is not None
    assert latest.block.own_columns()[0].values.tolist() == [100]
    assert earlier.block.own_columns()[0].values.tolist() == [10]


def test_queries_with_every_answer_at_their_instants() -> None:
    found = preview(past_of("s"), "SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW EVERY 10 SEC", 10.0)
    assert found.kind == "every"
    assert found.results == 10  # 0, 10, ... 90


def test_mistakes_are_told_as_everywhere() -> None:
    with pytest.raises(CompileError):
        preview(past_of("s"), "SELECT nothing FROM s", 10.0)


def test_too_many_results_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FOUND", 20)
    found = preview(past_of("s"), "SELECT k FROM s", 10.0)
    assert "more than 20 results" in found.cut


def test_no_time_gives_no_answer_but_a_sentence() -> None:
    past = past_of("s")
    for text in ("SELECT k FROM s", "SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW"):
        with pytest.raises(Refusal, match="no answer"):
            preview(past, text, 0.0)


def test_what_was_found_until_time_was_up_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = module.in_batches

    def interrupted(past: Past, engine: Engine, rows: int) -> Iterator[dict[str, TypedBatch]]:
        yield next(whole(past, engine, 10))
        engine.watch.halt("it took too long")
        yield next(whole(past, engine, 10))

    monkeypatch.setattr(module, "in_batches", interrupted)
    found = preview(past_of("s"), "SELECT k FROM s", 60.0)
    assert found.cut == "Time was up after 10 of 100 rows."
    assert found.results == 10
