"""Tuples in event-time order for scanning, against sorting them all."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cqc.runtime.state.scan_lane import ScanLane


@pytest.mark.parametrize("seed", range(4))
def test_disordered_packets_are_merged_into_time_order(seed: int) -> None:
    random = Random(seed)
    lane = ScanLane(2, (1,))
    values = np.array([[0.0, random.random()] for _ in range(3000)])
    kept: list[tuple[int, int, int]] = []  # time, position, lineage
    first = position = clock = 0
    for _ in range(40):
        count = random.randint(0, 60)
        times = np.array([clock - random.randint(0, 9) for _ in range(count)], np.int64)
        lineage = np.array(
            [[0, random.choice((0, 5, (1 << 63) + 1))] for _ in range(count)], np.uint64
        ).reshape(-1, 2)
        lane.insert(times, position, lineage, values, 0)
        kept += [
            (int(ts), position + at, int(words[1]))
            for at, (ts, words) in enumerate(zip(times, lineage, strict=True))
            if words[1]
        ]
        position += count
        clock += random.randint(0, 6)
        if random.random() < 0.3:
            first = max(first, position - 200)
            lane.drop_before(first)
    live = slice(lane.start, lane.end)
    found = list(zip(lane.ts[live].tolist(), lane.positions[live].tolist(), strict=True))
    young = [each for each in found if each[1] >= first]
    assert young == sorted((ts, at) for ts, at, _ in kept if at >= first)
    bits = {at: own for _, at, own in kept}
    assert lane.lineage[1, live].tolist() == [bits[at] for _, at in found]
    assert lane.values[0, live].tolist() == [values[at, 1] for _, at in found]
