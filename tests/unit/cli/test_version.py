"""`cqc --version` tells what a report needs."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

import pyspark

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Call


def test_the_versions_of_cqc_python_spark_and_java_are_shown(call: Call) -> None:
    shown = call("--version").out
    assert [line.split()[0] for line in shown.splitlines()] == ["cqc", "Python", "Spark", "Java"]
    assert f"Python {platform.python_version()}" in shown
    assert f"Spark {pyspark.__version__}" in shown
