"""The list of modules with kernels is complete, and none is used that no longer is what its sources say."""

from __future__ import annotations

import ast
from pathlib import Path

from cqc.runtime.warm import MODULES, warm

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


def test_compiled_kernels_go_when_a_source_changes(tmp_path: Path) -> None:
    source, kept = tmp_path / "kernels.py", tmp_path / "__pycache__" / "kernels.f.nbi"
    source.write_text("one")
    assert warm(tmp_path, ())
    kept.write_text("compiled")
    assert not warm(tmp_path, ())
    assert kept.exists()
    source.write_text("two")
    assert warm(tmp_path, ())
    assert not kept.exists()
