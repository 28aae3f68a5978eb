"""In which form columns of either side are kept as keys."""

from __future__ import annotations

from cqc.compiler import compile as compile_program
from cqc.runtime.join.step.key_forms import key_forms
from cqc.runtime.state.shared_state import SharedState
from tests.support.join_nodes import STREAMS, packet_of


def test_a_whole_number_that_meets_a_double_is_compared_as_one() -> None:
    relations = compile_program(STREAMS + "SELECT k FROM a;").catalog.relations
    one, two = SharedState(relations["a"]), SharedState(relations["b"])
    plain = key_forms((one, 1), (two, 1))
    mixed = key_forms((one, 1), (two, 3))
    assert mixed[0] != plain[0]  # the same column, kept in two forms
    assert key_forms((one, 1), (two, 1)) == plain
    one.insert(packet_of([(0, 7, 0, 0.0)]))
    two.insert(packet_of([(0, 7, 0, 7.0)]))
    keys = [state.chains.links[form, 0, 1] for state, form in zip((one, two), mixed, strict=True)]
    assert keys[0] == keys[1]
    assert one.chains.links[plain[0], 0, 1] == 7
