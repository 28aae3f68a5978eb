"""What the compiled kernels of a source are made of: the source, and everything that it imports, and so on.

A kernel that is kept in a file is used again until its own source changes. But kernels and constants of other sources became part of
it; so it has to go when any source has changed that can be reached by imports from its own. Imports for types count too: the types of
arguments are part of a compiled form.
"""

from __future__ import annotations

import ast
import sys
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def digests_of(folder: Path, package: str) -> dict[str, str]:
    """What the kernels of each source of a folder are made of, by the name of its module.

    Args:
        folder: of the sources.
        package: the folder's name in imports.
    """
    sources = {_module(folder, package, path): path for path in folder.rglob("*.py")}
    texts = {module: path.read_bytes() for module, path in sources.items()}
    imports = {module: set(_imported(text)) & sources.keys() for module, text in texts.items()}
    sums = {module: sha256(text).digest() for module, text in texts.items()}
    return {
        module: sha256(
            _made_by() + b"".join(sums[each] for each in sorted(_reached(module, imports)))
        ).hexdigest()
        for module in sorted(sources)
    }


def digest_of(folder: Path) -> str:
    """All sources of a folder in one, which takes no look at their imports."""
    digest = sha256(_made_by())
    for source in sorted(folder.rglob("*.py")):
        digest.update(str(source).encode() + sha256(source.read_bytes()).digest())
    return digest.hexdigest()


def kept_of(folder: Path, package: str) -> Iterator[tuple[str, Path]]:
    """The files with compiled kernels, each with the module that it belongs to."""
    for kind in ("*.nbi", "*.nbc"):
        for kept in folder.rglob(kind):
            source = kept.parent.parent / f"{kept.name.partition('.')[0]}.py"
            yield _module(folder, package, source), kept


def _made_by() -> bytes:
    return f"{version('numba')} {sys.version}".encode()


def _module(folder: Path, package: str, source: Path) -> str:
    parts = source.relative_to(folder).with_suffix("").parts
    return ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def _imported(text: bytes) -> Iterator[str]:
    """Every name that may be an imported module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def _reached(module: str, imports: dict[str, set[str]]) -> set[str]:
    """A module and all that can be reached from it."""
    reached, waiting = {module}, [module]
    while waiting:
        new = imports[waiting.pop()] - reached
        reached |= new
        waiting.extend(new)
    return reached
