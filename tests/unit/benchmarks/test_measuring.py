"""A benchmark measures in processes of their own; one that fails is told of in a sentence."""

from __future__ import annotations

import pytest

from cqc.benchmarks.harness.side_by_side import measure
from cqc.runtime.errors import RunError


def test_a_measurement_that_fails_says_which_and_why() -> None:
    with pytest.raises(RunError) as caught:
        measure("cqc.benchmarks.engine.scale.state", "many", "1")
    assert str(caught.value) == (
        "`python -m cqc.benchmarks.engine.scale.state many 1` failed: "
        "ValueError: invalid literal for int() with base 10: 'many'"
    )
