"""A name that begins with an underscore belongs to the module that defines it: nobody else reads it, writes it or calls it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.repository.test_layers import ROOT, source_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OF_PACKAGES = {
    "os",
    "atexit",
    "KafkaError",
    "SparkContext",
    "SparkSession",
    "numba_dispatcher",
    "numba_engine",
    "numba_codegen",
}  # they offer nothing else
OF_NAMED_TUPLES = {"_replace", "_asdict", "_fields"}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def defined_in(tree: ast.Module) -> set[str]:
    """The private names of a module's classes: methods, class fields, and what a method assigns to `self`."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                found.add(name)
            case ast.Constant(value=str(name)):  # `__slots__`
                found.add(name)
            case _:
                pass
    return found


def foreign_reads(file: Path) -> Iterator[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    own = defined_in(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not is_private(node.attr):
            continue
        owner = ast.unparse(node.value)
        if owner in ("self", "cls") or node.attr in own | OF_NAMED_TUPLES:
            continue
        if owner not in OF_PACKAGES:
            yield f"{file.relative_to(ROOT)}, line {node.lineno}: {owner}.{node.attr}"


def test_no_module_uses_private_fields_of_another() -> None:
    wrong = [each for file in source_files() for each in foreign_reads(file)]
    assert not wrong, "\n".join(wrong)
