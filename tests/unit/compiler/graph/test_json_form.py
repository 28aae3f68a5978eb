"""Every kind of expression and condition can be written as JSON and read back."""

from __future__ import annotations

from typing import get_args

import pytest

from cqc.compiler.graph.json_form import RECORDS
from cqc.compiler.meaning import bound, normal


@pytest.mark.parametrize("kind", [*get_args(normal.Formula), *get_args(bound.Expression)])
def test_a_graph_with_this_kind_can_be_read_back(kind: type) -> None:
    assert RECORDS[kind.__name__] is kind
