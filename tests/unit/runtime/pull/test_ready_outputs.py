"""Outputs that lie ready: a window is a slice, also when rows came out of order or were forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.runtime.pull.history.result_history import History
from cqc.runtime.pull.ready_outputs import MaterialisedOutputs
from tests.unit.runtime.pull.history.test_stream_order import state_with

if TYPE_CHECKING:
    from cqc.runtime.pull.history.result_history import Positions


class Outputs:
    """The position of each row; counts how many rows it was asked to make."""

    made = 0

    def __call__(self, rows: Positions) -> pa.Table:
        self.made += len(rows[0])
        return pa.table({"at": rows[0]})


def note(history: History, *positions: int) -> None:
    history.append((np.array(positions, np.int64),))
    history.settle()


def test_a_window_is_a_slice_of_what_was_made_once() -> None:
    history, outputs = History([state_with(10, 20, 30, 40)]), Outputs()
    note(history, 0, 1, 2)
    ready = MaterialisedOutputs(history, outputs)
    for _ in range(3):
        assert ready.table(15, 30)["at"].to_pylist() == [1, 2]
    assert outputs.made == 3
    note(history, 3)
    assert ready.table(0, 99)["at"].to_pylist() == [0, 1, 2, 3]
    assert outputs.made == 4


def test_rows_that_were_moved_by_others_are_made_again() -> None:
    history, outputs = History([state_with(10, 30, 20)]), Outputs()
    note(history, 0, 1)
    ready = MaterialisedOutputs(history, outputs)
    note(history, 2)
    assert ready.table(0, 99)["at"].to_pylist() == [0, 2, 1]
    assert outputs.made == 4


def test_what_the_history_forgot_is_gone_and_closing_lets_go() -> None:
    history = History([state_with(10, 20)])
    note(history, 0, 1)
    ready = MaterialisedOutputs(history, Outputs())
    assert ready.nbytes > 0
    history.purge(15)
    assert ready.table(0, 99)["at"].to_pylist() == [1]
    ready.close()
    assert history.followers == []
