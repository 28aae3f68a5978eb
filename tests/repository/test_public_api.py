"""The public names are these, they are documented and typed, and importing cqc loads nothing slow."""

import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import cqc
from tests.support.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
PUBLIC = [
    "AsyncEngine",
    "CompileError",
    "Diagnostic",
    "Engine",
    "Program",
    "RefusedError",
    "Result",
    "RunError",
    "UnreachableError",
    "aggregate",
    "compile",
    "compile_files",
    "function",
    "sink",
    "source",
    "spark",
]
ENGINE = [
    *("push", "push_batch", "drain", "finish"),
    *("register", "unregister", "invoke", "queries"),
    *("stream_counts", "result_counts", "measure", "warnings"),
]


def test_the_public_names_are_these() -> None:
    assert sorted(cqc.__all__) == PUBLIC
    assert dir(cqc) == cqc.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Machine'"):
        cqc.Machine  # type: ignore[attr-defined]  # noqa: B018 - asking is the test


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "spark"])
def test_every_public_name_is_documented(name: str) -> None:
    assert inspect.getdoc(getattr(cqc, name))


@pytest.mark.parametrize("name", ENGINE)
def test_every_method_of_the_engine_is_documented_and_typed(name: str) -> None:
    member = inspect.getattr_static(cqc.Engine, name)
    function = member.fget if isinstance(member, property) else member
    assert inspect.getdoc(function)
    assert "return" in inspect.get_annotations(function)


def test_the_package_is_marked_as_typed() -> None:
    assert (ROOT / "cqc" / "py.typed").exists()


def test_the_example_of_the_package_runs() -> None:
    assert doctest.testmod(cqc).failed == 0


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "spark"])
def test_every_public_name_has_examples_that_run(name: str) -> None:
    member = getattr(cqc, name)
    tests = [each for each in doctest.DocTestFinder().find(member, name) if each.examples]
    assert tests, f"{name} has no example"
    for each in tests:
        assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(each).failed == 0


def test_importing_cqc_loads_nothing_slow() -> None:
    script = "import sys, cqc; print(*(name for name in sys.modules if '.' not in name))"
    finished = subprocess.run(
        [sys.executable, "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    loaded = set(finished.stdout.split())
    assert not loaded & {"click", "lark", "numba", "numpy", "pandas", "pyarrow", "pyspark"}
