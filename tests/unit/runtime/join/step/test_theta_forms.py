"""Which written conditions a kernel computes exactly, and with which parameters."""

from __future__ import annotations

import pytest

from cqc.compiler import compile as compile_program
from cqc.compiler.meaning.bound import ComparisonOp
from cqc.compiler.pipeline import normalise
from cqc.runtime.join.step.theta_forms import ThetaForm, theta_form


def _form(condition: str) -> ThetaForm:
    program = compile_program(
        "CREATE STREAM p (ts BIGINT, d DOUBLE, n BIGINT); CREATE STREAM q (ts BIGINT, d DOUBLE, n BIGINT);"
        f"SELECT p.d AS x, q.d AS y FROM p, q WHERE {condition} MAXWINDOW 5 SEC;"
    )
    (theta,) = normalise(next(iter(program.queries))).theta_joins
    return theta_form(theta)


@pytest.mark.parametrize(
    ("condition", "op", "parameters"),
    [
        ("p.d < 0.5 * q.d", ComparisonOp.LT, (1.0, 0.0, 0.5, 0.0)),
        ("q.d * 0.5 > p.d", ComparisonOp.LT, (1.0, 0.0, 0.5, 0.0)),
        ("p.d >= q.d + 3.0", ComparisonOp.GE, (1.0, 0.0, 1.0, 3.0)),
        ("2.0 * p.d - 1.0 <= q.d", ComparisonOp.LE, (2.0, -1.0, 1.0, 0.0)),
        ("p.d / 4.0 > q.d", ComparisonOp.GT, (0.25, 0.0, 1.0, 0.0)),
    ],
)
def test_a_comparison_of_two_sides_keeps_its_constants(
    condition: str, op: ComparisonOp, parameters: tuple[float, ...]
) -> None:
    form = _form(condition)
    assert not form.shape.wide
    assert (form.shape.op, form.parameters) == (op, parameters)


def test_a_difference_against_a_constant_is_a_sum() -> None:
    form = _form("q.d - p.d < 3.0")
    assert form.shape.is_sum
    assert not form.shape.wide
    assert (form.shape.op, form.parameters) == (ComparisonOp.LT, (-1.0, 0.0, 1.0, 3.0))


def test_a_division_that_rounds_otherwise_is_wide() -> None:
    assert _form("p.d / 3.0 > q.d").shape.wide


def test_whole_numbers_are_exact_up_to_a_limit() -> None:
    form = _form("p.n < q.n + 5")
    assert not form.shape.wide
    assert 1 << 52 < form.left_limit < 1 << 53
    assert _form("p.d < q.d").left_limit == float("inf")
