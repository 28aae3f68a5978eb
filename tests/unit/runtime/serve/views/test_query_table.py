"""The table of queries: its figures, and how it is searched, sorted and cut."""

import pytest

from cqc.runtime.serve.service import Service
from cqc.runtime.serve.views.prices import Price, Prices
from cqc.runtime.serve.views.query_table import SORTS, Measured, QueryTable
from tests.unit.runtime.serve.views.services import push, rows_of, service_of


def table_of(service: Service, prices: Prices | None = None) -> QueryTable:
    table = QueryTable(service, prices or Prices())
    table.copy(Measured.of(service))
    return table


def names(table: QueryTable, **wanted: object) -> list[str]:
    return [row.entry.name for row in table.page(**wanted).rows]  # type: ignore[arg-type]


def filled() -> Service:
    service = service_of()
    push(service, "s", *rows_of(100))
    return service


def test_queries_pay_for_the_streams_they_read() -> None:
    table = table_of(filled())
    cost = {row.entry.name: row.cost_seconds for row in table.page().rows}
    assert cost["quiet"] == 0.0  # nothing came for it
    assert cost["big"] > cost["small"] > 0.0  # the results of a query cost it


def test_a_table_is_searched_in_names_owners_and_texts() -> None:
    table = table_of(filled())
    assert names(table, search="SMALL") == ["small"]
    assert names(table, search="maxwindow r.k") == ["pairs"]
    assert names(table, search="program", kinds=["pull"]) == ["total"]
    assert table.page(search="none").matching == 0
    assert table.page(search="none").total == 5


def test_a_page_is_a_part_in_the_order_asked_for() -> None:
    table = table_of(filled())
    assert names(table) == ["big", "small", "quiet", "pairs", "total"]
    assert names(table, sort="name") == ["big", "pairs", "quiet", "small", "total"]
    assert names(table, sort="name", descending=True, offset=1, limit=2) == ["small", "quiet"]
    assert names(table, sort="results", descending=True, limit=1) == ["big"]


@pytest.mark.parametrize("sort", SORTS)
def test_every_order_has_all_queries(sort: str) -> None:
    assert len(names(table_of(filled()), sort=sort)) == 5


@pytest.mark.parametrize(
    ("operator", "found"),
    [
        ("filter:s", ["big", "small", "pairs", "total"]),
        ("join:0", ["pairs"]),
        ("source:r", ["quiet", "pairs"]),
        ("deliver:filter:s", ["big", "small"]),
        ("deliver:filter:s:pull", ["total"]),
        ("history:filter:s", ["total"]),
        ("deliver:query:big", ["big"]),
    ],
)
def test_queries_are_found_by_the_nodes_of_the_graph(operator: str, found: list[str]) -> None:
    assert names(table_of(filled()), operator=operator) == found


def test_queries_at_one_operator_share() -> None:
    rows = {row.entry.name: row for row in table_of(filled()).page().rows}
    assert rows["big"].shared_with == 2  # small and total
    assert rows["quiet"].shared_with == 0
    assert rows["pairs"].shared_with == 0


def test_alone_a_query_pays_for_all_its_tuples() -> None:
    service, prices = filled(), Prices()
    prices._prices["filter:s"] = Price(batch=0.5, tuple=0.25)
    rows = {row.entry.name: row for row in table_of(service, prices).page().rows}
    assert rows["small"].alone_seconds == pytest.approx(0.5 + 100 * 0.25, abs=0.01)
    assert rows["quiet"].alone_seconds is None


def test_a_copy_is_made_anew_when_queries_come() -> None:
    service = filled()
    table = table_of(service)
    assert not table.is_stale
    service.register("SELECT k FROM s", "more")
    assert table.is_stale


def test_the_queries_with_most_of_something() -> None:
    assert [row.entry.name for row in table_of(filled()).top("results", 1)] == ["big"]
