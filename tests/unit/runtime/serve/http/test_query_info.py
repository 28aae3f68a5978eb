"""Queries as JSON."""

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.serve.http.query_info import event_time, info_of, plan_of, utc_text
from cqc.runtime.serve.views.prices import Prices
from cqc.runtime.serve.views.query_table import Measured, QueryTable
from tests.unit.runtime.serve.views.services import service_of


def test_a_long_text_is_cut_off_in_a_list_only() -> None:
    service = service_of()
    service.register("SELECT k FROM s WHERE " + " OR ".join(f"k = {n}" for n in range(200)), "long")
    row = QueryTable(service, Prices()).row("long", Measured.of(service))
    assert len(info_of(row, brief=True).text) < 300
    assert info_of(row).text == row.entry.text


def test_a_plan_says_who_asks_the_same() -> None:
    service = service_of()
    service.register("SELECT x FROM s WHERE x > 10", "twin")
    plan = plan_of(service, "twin")
    assert plan.same == ["big"]
    assert [(fact.what, fact.text) for fact in plan.facts] == [
        ("attribute", "x > 10.0"), ("delivers", "x"),
    ]  # fmt: skip


def test_what_can_never_match_is_told() -> None:
    service = service_of()
    service.register("SELECT x FROM s WHERE x > 10 AND x < 5", "never")
    assert plan_of(service, "never").facts[-1].what == "never"


def test_times_are_as_results_show_them() -> None:
    assert event_time(None, ColumnType.BIGINT) is None
    assert event_time(7_000_000, ColumnType.BIGINT) == 7
    assert event_time(7_000_000, ColumnType.TIMESTAMP) == "1970-01-01T00:00:07Z"
    assert utc_text(0.0) == "1970-01-01T00:00:00Z"
