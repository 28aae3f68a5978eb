"""SUM and AVG of DECIMAL."""

from __future__ import annotations

from decimal import Decimal

import cqc


def test_sums_and_means_are_exact_and_null_is_left_out() -> None:
    program = cqc.compile(
        "CREATE STREAM s (ts BIGINT, d DECIMAL(38, 2)); "
        "SELECT SUM(d) AS s, AVG(d) AS a, MIN(d) AS l, MAX(d) AS m, COUNT(DISTINCT d) AS n FROM s BEGIN 0 END NOW;"
    )
    engine = cqc.Engine(program)
    big = "99999999999999999999999999999999999.01"
    rows = [big, "-" + big, "0.02", None, "0.02"]
    engine.push("s", [{"ts": at, "d": each} for at, each in enumerate(rows)])
    (found,) = engine.invoke("q1").to_pylist()
    assert found == {
        "s": Decimal("0.04"),
        "a": Decimal("0.010000"),
        "l": Decimal("-" + big),
        "m": Decimal(big),
        "n": 3,
    }
