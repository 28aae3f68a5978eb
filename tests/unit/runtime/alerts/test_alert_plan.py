"""An alert, compiled."""

import cqc
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.alerts.alert_kernels import HOLD, NO_DATA, ONCE, SINCE_ARRIVAL, TELLS_PENDING
from cqc.runtime.alerts.alert_plan import AlertPlan, Clears
from cqc.runtime.deliver.outputs import OutputPlan

PROGRAM = """CREATE STREAM s (ts BIGINT, k STRING, x BIGINT, y DOUBLE, z DOUBLE);
CREATE ALERT a AS SELECT x FROM s WHERE y > 1 PER k FOR 2 SEC CLEAR WHEN z < 1 NO DATA AFTER 3 SEC WITH (pending = true);"""


def plan() -> AlertPlan:
    node = cqc.compile(PROGRAM).graph.queries["a"]
    assert node.alert is not None
    return AlertPlan(node, node.alert, None, 0, 7, OutputPlan(node.outputs))  # type: ignore[arg-type]


def test_terms_are_what_kernels_read() -> None:
    terms = plan().terms()
    assert (terms[HOLD], terms[ONCE], terms[NO_DATA]) == (2_000_000, 0, 3_000_000)
    assert (terms[TELLS_PENDING], terms[SINCE_ARRIVAL]) == (1, 7)


def test_only_the_columns_that_are_looked_at_are_needed() -> None:
    assert plan().columns_needed() == {
        1: ColumnType.STRING,
        2: ColumnType.BIGINT,
        4: ColumnType.DOUBLE,
    }


def test_a_condition_is_compiled_once() -> None:
    clears, condition = Clears(), plan().alert.clear
    assert condition is not None
    assert clears.of(condition) is clears.of(condition)
    assert clears.failures == 0
