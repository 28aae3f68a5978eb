"""Compiled queries as text: the same after they were read, and nothing but queries can be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cqc
from cqc.compiler.graph.partitioning import Axis, Group
from cqc.runtime.spark.distributed.messages.plain_data import from_text, to_text
from cqc.runtime.spark.distributed.messages.spec import Change, Spread

ROOT = Path(__file__).parents[4]
PROGRAM = """
CREATE STREAM a (ts TIMESTAMP, k BIGINT, x DOUBLE, name STRING);
CREATE STREAM b (ts TIMESTAMP, k BIGINT, x DOUBLE);
CREATE QUERY j AS SELECT a.x, UPPER(a.name) AS u FROM a [ROWS 3], b
  WHERE (a.k = b.k OR a.x > 3.5) AND a.name LIKE 'a%' AND a.ts > TIMESTAMP '2024-01-01' AND a.x < b.x MAXWINDOW 6 SEC;
CREATE QUERY c AS SELECT k, COUNT(*) AS n, AVG(x) AS p FROM a BEGIN NOW - 9 END NOW EVERY 3 SEC
  GROUP BY k HAVING COUNT(*) > 1 ORDER BY k LIMIT 3;
CREATE QUERY odd AS SELECT x / 0 AS e FROM a WHERE x IN (1, 2.5) OR x IS NULL OR NOT (k BETWEEN 1 AND 3);
"""


def test_a_query_is_the_same_after_it_was_read() -> None:
    program = cqc.compile(PROGRAM)
    for name in program.queries.names:
        normal = program.normal(name)
        text = to_text(normal)
        again = from_text(text)
        assert again == normal
        assert to_text(again) == text


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "queries").glob("*.cq")), ids=str)
def test_the_queries_of_the_examples_are_the_same_after_they_were_read(path: Path) -> None:
    program = cqc.compile_files([str(path)])
    for name in program.queries.names:
        assert from_text(to_text(program.normal(name))) == program.normal(name)


def test_a_change_is_the_same_after_it_was_read() -> None:
    normal = cqc.compile(PROGRAM).normal("j")
    group = Group(1, (Axis(3, (("a", 1), ("b", 1))),), frozenset("ab"), ("j",), "by k")
    for change in (
        Change(4, "j", normal, group),
        Change(5, "j", None, None),
        Change(6, "", None, None, Spread(0, "a", 77, dealt=True)),
    ):
        assert Change.from_text(change.to_text()) == change
        once = change.to_text().replace("distributed.messages.spec", "distributed.spec")
        assert Change.from_text(once) == change, "a checkpoint from before `messages`"


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "subprocess.Popen",
        "cqc.compiler.diagnostics.source.Path",
        "cqc.compiler.embed.compile",
        "cqc.compiler.functions.function",
        "cqc.runtime.run.package.subprocess",
        "builtins.eval",
    ],
)
def test_what_is_no_part_of_a_query_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"it does not say|is not a part of a query"):
        from_text(json.dumps({"is": name, "with": {"args": "true"}}))


def test_no_file_of_a_checkpoint_is_unpickled() -> None:
    """Pickles are for what goes from process to process of one run: by Spark's own channels, or by a digest that came so.

    Compiled kernels are pickles too, Numba's; they lie beside the source, and whoever can change one can change the other.
    """
    users = {
        str(file.relative_to(ROOT))
        for folder in ("runtime", "compiler", "cli")
        for file in (ROOT / folder).rglob("*.py")
        if "pickle" in file.read_text()
    }
    assert users == {
        "runtime/kernel_cache.py",
        "runtime/spark/distributed/messages/spec.py",
        "runtime/spark/distributed/stages/wire.py",
    }


def test_functions_that_another_run_signed_are_not_run() -> None:
    from cqc.compiler.functions.registered import UserFunction
    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.spark.distributed.messages.spec import opened, signed

    function = UserFunction("twice", lambda values: 2 * values, ColumnType.BIGINT, 1)
    text = signed((function,), b"key of this run")
    (again,) = opened(text, b"key of this run")
    assert again.name == "twice"
    assert opened(text, b"key of another run") == ()
    assert opened(text.replace(" ", " QUJD"), b"key of this run") == ()
    assert signed((), b"any") == ""
