"""Kernels run without Python's lock, so that threads with engines of their own work side by side."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[3]


def decorators() -> list[tuple[str, ast.expr]]:
    found = []
    for file in sorted((ROOT / "runtime").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                place = f"{file.relative_to(ROOT)}: {node.name}"
                found += [(place, each) for each in node.decorator_list]
    return found


def is_kernel(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called).rpartition(".")[2] in ("njit", "jit", "vectorize", "guvectorize")


def releases(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and any(
        each.arg == "nogil" and ast.unparse(each.value) == "True" for each in decorator.keywords
    )


def test_every_kernel_releases_the_lock_of_python() -> None:
    kernels = [(place, each) for place, each in decorators() if is_kernel(each)]
    assert len(kernels) > 100
    assert [place for place, each in kernels if not releases(each)] == []


def test_kernels_are_made_by_our_own_decorator_whose_cache_costs_nothing_at_the_start() -> None:
    own = ROOT / "runtime" / "kernel.py"
    files = [file for file in sorted((ROOT / "runtime").rglob("*.py")) if file != own]
    imports = [
        str(file.relative_to(ROOT))
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "numba"
        if any(name.name == "njit" for name in node.names)
    ]
    assert not imports, "`njit` comes from cqc.runtime.kernel"
