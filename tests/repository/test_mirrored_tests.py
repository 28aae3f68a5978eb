"""Every module of the runtime has a test file of its own name, so that whoever changes a module knows where its idea is tested."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
# Their ideas are tested by whole services and runs on executors (`tests/integration`), not yet one by one.
NOT_YET = {
    "errors",
    *("join_statistics", "shape_costs", "sharing_costs", "feedback_trials"),
    *("journal", "limits", "marks", "refusal", "source_feed"),
    *("delivery", "row_spans", "slot_rows", "cell", "cell_store", "coordinator", "daemon", "feed_lines"),
    *("files", "floor", "flow", "moving", "partial_pulls", "spec", "stage_one", "stop_flag", "wire", "work"),
}  # fmt: skip


def test_every_module_has_a_test_file_of_its_name() -> None:
    modules = {file.stem for file in (ROOT / "runtime").rglob("*.py")} - {"__init__"}
    tests = {file.stem.removeprefix("test_") for file in (ROOT / "tests").rglob("test_*.py")}
    assert modules - tests <= NOT_YET, "a new module needs a test file of its name"
    assert modules - tests >= NOT_YET, "these have one now: take them off the list"
