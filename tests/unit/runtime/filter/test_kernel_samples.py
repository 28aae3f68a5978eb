from __future__ import annotations

from cqc.runtime.filter.bits.bit_sweep import MOST_PAIRS
from cqc.runtime.filter.grouped_filter import StreamFilter
from cqc.runtime.filter.kernel_samples import FORMULAS, TYPES, sample_packets
from tests.support.formula_judge import is_true


def test_the_samples_reach_conjunctions_access_programs_hits_and_patterns() -> None:
    filters = StreamFilter(TYPES)
    for slot, formula in enumerate(FORMULAS):
        filters.add(slot, formula)
    store, atoms = filters._store, filters._atoms
    assert store.accessible_count
    assert len(store.programs)
    assert sum(map(len, store.conjunctions().slots[:MOST_PAIRS]))
    assert atoms.sparse_count >= 3  # a list, a text and a pattern


def test_the_samples_are_answered_right_in_memory_of_either_kind() -> None:
    rows = [(1, 1.0, "a"), (2, 2.0, "b")]
    for packet in sample_packets():
        filters = StreamFilter(TYPES)
        for slot, formula in enumerate(FORMULAS):
            filters.add(slot, formula)
        lineage = filters.match(packet)
        for slot, formula in enumerate(FORMULAS):
            expected = [at for at, row in enumerate(rows) if is_true(formula, row)]
            assert lineage.tuples_of(slot).tolist() == expected
    frozen = [packet.columns[0].values.flags.writeable for packet in sample_packets()]
    assert frozen == [True, False]
