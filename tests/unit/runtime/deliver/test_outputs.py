"""SELECT lists are compiled once for all queries that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cqc
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.deliver.outputs import OutputPlan, OutputPlans

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import Output
    from cqc.runtime.columns.columns import Column

TEXT = "CREATE STREAM s (ts BIGINT, x BIGINT);"
COLUMNS = (from_python(T.BIGINT, [1, 2]), from_python(T.BIGINT, [4, 0]))


def outputs(select: str) -> tuple[Output, ...]:
    return cqc.compile(f"{TEXT} CREATE QUERY q AS SELECT {select} FROM s;").queries["q"].outputs


def fetch(item: int, column: int) -> Column:
    assert item == 0
    return COLUMNS[column]


def test_plain_columns_are_passed_on_as_they_are() -> None:
    plan = OutputPlan(outputs("x, ts"))
    assert plan.is_plain
    assert plan.names == ("x", "ts")
    found = plan.columns(fetch, 2)
    assert found[0] is COLUMNS[1]
    assert found[1] is COLUMNS[0]


def test_an_evaluation_that_fails_is_null_and_counted() -> None:
    plan = OutputPlan(outputs("ts / x AS y, x"))
    (quotient, _) = plan.columns(fetch, 2)
    assert quotient.is_valid().tolist() == [True, False]
    assert plan.failures == 1


def test_equal_lists_share_a_plan_until_the_last_query_leaves() -> None:
    plans, listed = OutputPlans(), outputs("1 / x AS y")
    plan = plans.use(listed)
    assert plans.use(outputs("1 / x AS y")) is plan
    assert plans.use(outputs("1 / x AS z")) is not plan
    plan.columns(fetch, 2)
    plans.release(listed)
    assert plans.use(listed) is plan
    plans.release(listed)
    plans.release(listed)
    assert plans.use(listed) is not plan
    assert plans.failures == 1
