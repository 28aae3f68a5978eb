"""The rules and events of `cqc bench rules` have the shape of real ones, and the same seed gives the same files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cqc.benchmarks.engine.rules.workload import files, shapes
from cqc.benchmarks.engine.rules.workload.events import draw, make_events
from cqc.benchmarks.engine.rules.workload.make_rules import make_rules
from cqc.benchmarks.engine.rules.workload.plant import plant
from cqc.benchmarks.engine.rules.workload.rules import Atom, Group, Rule, cq_program
from cqc.benchmarks.engine.rules.workload.streams import EVENTS, STREAMS, WIDE_COLUMNS, wide_columns
from cqc.benchmarks.engine.rules.workload.words import Words, spread_lengths

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.benchmarks.engine.rules.workload.events import Events

SCALE = 0.1


@pytest.fixture(scope="module")
def workload() -> tuple[dict[str, Events], list[Rule]]:
    events = make_events(16, SCALE)
    rules = make_rules(3_000, 16, events)
    plant(rules, events, 16, SCALE)
    return events, rules


def test_rules_have_the_published_shape(workload: tuple[dict[str, Events], list[Rule]]) -> None:
    figures = shapes.rule_figures(workload[1])
    assert len(figures) > 30
    assert [each for each in figures if not each.fits] == []


def test_events_have_the_published_shape(
    workload: tuple[dict[str, Events], list[Rule]], tmp_path: Path
) -> None:
    events, _ = workload
    files.write_json(events, tmp_path)
    bytes_of = {name: (tmp_path / f"{name}.jsonl").stat().st_size for name in events}
    figures = shapes.event_figures(events, bytes_of, SCALE)
    assert len(figures) > 60
    assert [each for each in figures if not each.fits] == []


def test_a_figure_that_is_a_quarter_off_does_not_fit() -> None:
    assert shapes.Figure("a share", 0.4, 0.47).fits
    assert not shapes.Figure("a share", 0.4, 0.5).fits
    assert not shapes.Figure("a share", 0.4, 0.3).fits


def test_the_streams_have_all_events_and_201_columns_together() -> None:
    assert sum(each.events for each in STREAMS) == EVENTS
    assert len(STREAMS) == 11
    assert len(wide_columns()) == len(set(wide_columns())) == WIDE_COLUMNS


def test_the_same_seed_gives_the_same_rules_and_events_and_another_one_others() -> None:
    def made(seed: int) -> tuple[str, list[list[int]], list[str]]:
        events = make_events(seed, 0.005)
        rules = make_rules(40, seed, events)
        plant(rules, events, seed, 0.005)
        codes = [each.columns["host"].codes.tolist() for each in events.values()]
        return cq_program(rules), codes, events["registry"].columns["target_object"].values

    first = made(3)
    assert made(3) == first
    assert all(one != two for one, two in zip(made(4), first, strict=True))


def test_drawn_values_repeat_as_asked_for_overall_and_in_each_packet() -> None:
    codes = draw(np.random.default_rng(1), 50_000, 3_000, 10_000, 1_200)
    assert len(np.unique(codes)) == pytest.approx(3_000, rel=0.05)
    packets = [len(np.unique(codes[at : at + 10_000])) for at in range(0, 50_000, 10_000)]
    assert packets == [1_200] * 5


def test_lengths_have_the_median_and_the_99th_percentile_asked_for() -> None:
    lengths = spread_lengths(Words(1), 5_000, 572, 1_047)
    assert np.median(lengths) == pytest.approx(572, rel=0.03)
    assert np.percentile(lengths, 99) == pytest.approx(1_047, rel=0.05)


def test_a_missing_field_matches_nothing_and_does_not_fulfil_a_group_under_not() -> None:
    ends = Group((Atom("image", "ends", r"\Sole.exe"),))
    spared = Group((Atom("user", "starts", "CORP"),), negated=True)
    rule = Rule("r", "file", (ends, spared))
    assert rule.matches({"image": r"C:\SOLE.EXE", "user": None})
    assert rule.matches({"image": r"C:\sole.exe", "user": "x"})
    assert not rule.matches({"image": r"C:\sole.exe", "user": r"corp\x"})
    assert not rule.matches({"image": None, "user": "x"})
    assert r"image ILIKE '%\\Sole.exe' AND NOT coalesce(user ILIKE 'CORP%', FALSE)" in cq_program(
        [rule]
    )
