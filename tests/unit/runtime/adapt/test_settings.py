"""The table of constants: it is the only place for them, and each row is one that makes sense."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from cqc.runtime.adapt import settings
from cqc.runtime.adapt.settings import Rule, Sizes

ROOT = Path(settings.__file__).parents[2]
RULES = {name: each for name, each in vars(settings).items() if isinstance(each, Rule)}
SIZES = {name: each for name, each in vars(settings).items() if isinstance(each, Sizes)}
DECISION_POINTS = (
    "join/choice/join_statistics", "join/execute/metaqueues", "join/execute/demand_join",
    "join/choice/shape_trials", "join/choice/split_trials", "join/choice/shape_costs",
    "join/choice/sharing_costs", "join/tree/feedback_trials", "join/plan/item_order",
    "filter/match_source", "filter/visit_order", "adapt/packet_size", "adapt/routing", "adapt/trials",
    "adapt/controller",
)  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_a_rule_never_asks_for_the_impossible(name: str) -> None:
    rule = RULES[name]
    assert 0.0 < rule.newest <= 1.0
    assert rule.spike > 1.0
    assert 0.0 < rule.clearly <= 1.0
    assert 0.0 < rule.better <= 1.0 < rule.worse
    assert 0 < rule.stretch <= max(rule.longest, rule.stretch)
    assert rule.losses >= 1
    assert 0.0 < rule.budget <= 0.02


@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_in_order(name: str) -> None:
    sizes = SIZES[name]
    assert 1 <= sizes.least <= sizes.first <= sizes.most
    assert sizes.starved >= 1


@pytest.mark.parametrize("module", DECISION_POINTS)
def test_decision_points_have_no_numbers_of_their_own(module: str) -> None:
    tree = ast.parse((ROOT / "runtime" / f"{module}.py").read_text(encoding="utf-8"))
    own = [
        ast.unparse(node)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant | ast.BinOp | ast.Tuple | ast.Dict)
        and any(
            isinstance(each, ast.Constant) and isinstance(each.value, int | float)
            for each in ast.walk(node)
        )
    ]
    assert not own
