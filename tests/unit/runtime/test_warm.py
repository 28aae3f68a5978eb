"""The list of modules with kernels is complete, and none is used that no longer is what its sources say."""

from __future__ import annotations

import ast
from pathlib import Path

from cqc.runtime.warm import MODULES, warm

SOURCES = ("steps", "joins", "texts")
RUNTIME = Path(__file__).parents[3] / "runtime"


def test_every_module_with_a_warm_function_is_listed() -> None:
    found = {
        ".".join(("cqc", "runtime", *path.relative_to(RUNTIME).with_suffix("").parts))
        for path in RUNTIME.rglob("*.py")
        if path.name != "warm.py" and _has_warm(path)
    }
    assert found == set(MODULES)


def _has_warm(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) and node.name == "warm" for node in tree.body)


def test_compiled_kernels_go_when_their_source_or_one_that_it_imports_changes(
    tmp_path: Path,
) -> None:
    (tmp_path / "steps.py").write_text("one = 1")
    (tmp_path / "joins.py").write_text("from some.steps import one")
    (tmp_path / "texts.py").write_text("import os")
    kept = {name: tmp_path / "__pycache__" / f"{name}.f-1.py311.nbi" for name in SOURCES}
    assert warm(tmp_path, (), "some") == []
    for each in kept.values():
        each.write_text("compiled")
    warm(tmp_path, (), "some")
    assert all(each.exists() for each in kept.values())
    (tmp_path / "steps.py").write_text("one = 2")
    warm(tmp_path, (), "some")
    assert [name for name in SOURCES if kept[name].exists()] == ["texts"]
    (tmp_path / "texts.py").unlink()
    warm(tmp_path, (), "some")
    assert not kept["texts"].exists()


def test_a_stamp_that_says_nothing_is_no_stamp(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text("one = 1")
    warm(tmp_path, (), "some")
    kept = tmp_path / "__pycache__" / "steps.f-1.py311.nbc"
    for stamp in ("5a4b", "[]", ""):
        kept.write_text("compiled")
        (tmp_path / "__pycache__" / "kernels.stamp").write_text(stamp)
        warm(tmp_path, (), "some")
        assert not kept.exists()
