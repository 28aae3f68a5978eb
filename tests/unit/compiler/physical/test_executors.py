"""Executors in words."""

import pytest

from cqc.compiler.physical.executors import Flat, OnDemand, Routed, Rows, Tree, executor_text


@pytest.mark.parametrize(
    ("executor", "text"),
    [
        (Flat(), "flat"),
        (Routed("lottery"), "flat, order by lottery"),
        (
            OnDemand(((0, 1), 2), measured=True),
            "flat on demand in the order ((B T) H), while that pays",
        ),
        (Tree((0, (1, 2)), "bloom"), "tree (B (T H)), feedback bloom"),
        (Rows(), "flat with ROWS windows, when the watermark allows"),
    ],
)
def test_every_executor_has_words(
    executor: Flat | Routed | OnDemand | Tree | Rows, text: str
) -> None:
    assert executor_text(executor, ["B", "T", "H"]) == text
