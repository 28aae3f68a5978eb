"""Which slots an interval allows, against asking every slot."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cqc.runtime.lineage.rank_lineage import FAR_US, bitmap, interval_sets, word_count


@pytest.mark.parametrize("seed", range(5))
def test_the_set_of_a_rank_is_the_slots_whose_interval_holds(seed: int) -> None:
    random = Random(seed)
    slots = random.sample(range(130), 70)
    low = [random.choice((-FAR_US, random.randint(-9, 9))) for _ in slots]
    high = [random.choice((FAR_US, random.randint(-9, 9))) for _ in slots]
    words = word_count(130)
    ranks = interval_sets(slots, low, high, words)
    for value in (-(10**15), *range(-11, 12), 10**15):
        found = ranks.sets[np.searchsorted(ranks.cuts, value, side="right")]
        wanted = [
            slot
            for slot, least, most in zip(slots, low, high, strict=True)
            if least <= value <= most
        ]
        assert found.tolist() == bitmap(wanted, words).tolist()


def test_slots_without_limits_need_no_cut() -> None:
    ranks = interval_sets([0, 2], [-FAR_US, -FAR_US], [FAR_US, FAR_US], 1)
    assert len(ranks.cuts) == 0
    assert ranks.sets.tolist() == [[0b101]]
