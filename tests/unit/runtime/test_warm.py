"""The list of modules with kernels is complete."""

from __future__ import annotations

import ast
from pathlib import Path

from cqc.runtime.warm import MODULES

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
