"""Whatever is given to a public call, what is wrong gets a sentence: what was expected, and what came."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cqc

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = """
CREATE STREAM s (ts BIGINT, x BIGINT);
CREATE STREAM r (ts TIMESTAMP, x BIGINT);
CREATE TABLE t (k BIGINT);
CREATE QUERY pushed AS SELECT x FROM s;
CREATE QUERY asked AS SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW;
"""
WRONG: list[Any] = [None, 5, 1.5, b"s", ["s"], {"s": 1}, {"s"}, object, lambda: 1, np.arange(2)]
NO_TEXT = [pytest.param(each, id=type(each).__name__) for each in WRONG]


@pytest.fixture
def program() -> cqc.Program:
    return cqc.compile(TEXT)


@pytest.fixture
def engine(program: cqc.Program) -> cqc.Engine:
    return cqc.Engine(program)


def said(kind: type[Exception], call: Callable[[], object]) -> str:
    """The sentence of an error that is raised, of just this kind."""
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    sentence = str(caught.value)
    assert "object has no attribute" not in sentence
    assert "\n" not in sentence
    return sentence


# Compiling


@pytest.mark.parametrize("wrong", [*NO_TEXT, Path("rooms.cq")])
def test_compile_takes_text(wrong: Any) -> None:
    assert said(TypeError, lambda: cqc.compile(wrong)).startswith(
        "cqc.compile takes the text of a program (str), not "
    )


def test_compile_says_what_to_do_instead() -> None:
    path: Any = Path("rooms.cq")
    assert said(TypeError, lambda: cqc.compile(path)).endswith("; cqc.compile_files compiles files")
    data: Any = b"SELECT"
    assert said(TypeError, lambda: cqc.compile(data)).endswith("not bytes; decode it first")
    name: Any = 5
    assert said(TypeError, lambda: cqc.compile("", name)) == (
        "cqc.compile takes a name for the text (str), not int"
    )


def test_compile_files_takes_a_path_or_several(tmp_path: Path) -> None:
    first, second = tmp_path / "a.cq", tmp_path / "b.cq"
    first.write_text("CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s;")
    second.write_text("CREATE QUERY second AS SELECT ts FROM s;")
    assert cqc.compile_files(first).queries.names == ["q1"]
    assert cqc.compile_files(str(first)).queries.names == ["q1"]
    assert cqc.compile_files(tmp_path).queries.names == ["q1", "second"]
    assert cqc.compile_files([first, str(second)]).queries.names == ["q1", "second"]
    assert cqc.compile_files(each for each in (first, second)).queries.names == ["q1", "second"]


@pytest.mark.parametrize(
    "wrong", [None, 5, 1.5, b"a.cq", {"a.cq": 1}, [None], [5], [b"a"], [["a"]]]
)
def test_compile_files_says_what_it_takes(wrong: Any) -> None:
    assert said(TypeError, lambda: cqc.compile_files(wrong)).startswith(
        "cqc.compile_files takes a path, or a list of paths (str or Path), not "
    )


@pytest.mark.parametrize("text", [TEXT, "SELECT x FROM s;" + " " * 5000])
def test_compile_files_knows_the_text_of_a_program(text: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"cqc\.compile compiles the text of a program"):
        cqc.compile_files(text)


def test_a_program_says_what_it_has(program: cqc.Program) -> None:
    with pytest.raises(KeyError, match="there is no query nowhere"):
        program.queries["nowhere"]
    with pytest.raises(KeyError, match="there is no nowhere among s, r"):
        program.streams["nowhere"]
    wrong: Any = None
    assert "takes the name of a query" in said(TypeError, lambda: program.queries[wrong])
    assert "takes the name of a stream" in said(TypeError, lambda: program.streams[wrong])


# Engines


@pytest.mark.parametrize("wrong", [*NO_TEXT, "text"])
def test_an_engine_takes_a_program(wrong: Any) -> None:
    assert said(TypeError, lambda: cqc.Engine(wrong)).startswith(
        "cqc.Engine takes a compiled program (Program), not "
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"strategy": "flat"}, "cqc.Engine takes a strategy (Strategy or None), not str"),
        ({"sharing": "off"}, "sharing of cqc.Engine takes True or False (bool), not str"),
        ({"keep_past": None}, "keep_past of cqc.Engine takes True or False (bool), not None"),
        ({"collect": 1}, "collect of cqc.Engine takes True or False (bool), not int"),
        ({"clock": 5}, "clock of cqc.Engine takes what can be called, not int"),
        ({"only": "pushed"}, "only of cqc.Engine takes names of queries (a list of str), not str"),
        ({"only": 5}, "only of cqc.Engine takes names of queries (a list of str), not int"),
        (
            {"only": ["pushed", None]},
            "only of cqc.Engine takes names of queries (a list of str), not a list with None",
        ),
    ],
)
def test_options_of_an_engine_are_checked(
    program: cqc.Program, options: dict[str, Any], sentence: str
) -> None:
    assert said(TypeError, lambda: cqc.Engine(program, **options)) == sentence


def test_an_engine_only_for_a_query_that_is_not_there_is_an_error(program: cqc.Program) -> None:
    sentence = said(cqc.RunError, lambda: cqc.Engine(program, only=("nowhere",)))
    assert sentence == "there is no query nowhere in the program"


@pytest.mark.parametrize("wrong", NO_TEXT)
def test_push_takes_the_name_of_a_stream(engine: cqc.Engine, wrong: Any) -> None:
    assert said(TypeError, lambda: engine.push(wrong, [])).startswith(
        "engine.push takes the name of a stream or table first (str), not "
    )


def test_push_names_what_there_is(engine: cqc.Engine) -> None:
    sentence = said(cqc.RunError, lambda: engine.push("nowhere", []))
    assert sentence == "there is no stream or table nowhere (there are: s, r, t)"


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        (None, "None"),
        (5, "int"),
        ("ts,x", "str"),
        (b"ts,x", "bytes"),
        (Path("rows.csv"), "PosixPath"),
        (pd.Series([1, 2]), "Series"),
        (np.array([1, 2]), "ndarray"),
        (pa.array([1, 2]), "Int64Array"),
        (pa.chunked_array([[1]]), "ChunkedArray"),
        ({1, 2}, "set"),
        (dict, "the class dict"),
        ({"ts": 1, "x": 1}, "dict; one row is a list of one dict"),
    ],
    ids=lambda each: None if isinstance(each, str) else type(each).__name__,
)
def test_push_says_what_rows_are(engine: cqc.Engine, rows: Any, kind: str) -> None:
    assert said(cqc.RunError, lambda: engine.push("s", rows)) == (
        "s takes a pyarrow Table or RecordBatch, a pandas DataFrame or a list of dicts, not " + kind
    )
    assert engine.stream_counts()["s"].read == 0


@pytest.mark.parametrize(
    "rows",
    [
        pd.DataFrame([[1, 2, 3]], columns=["ts", "x", "x"]),
        pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["ts", "x", "x"]),
    ],
    ids=["pandas", "arrow"],
)
def test_rows_with_two_columns_of_one_name_are_an_error(engine: cqc.Engine, rows: Any) -> None:
    sentence = said(cqc.RunError, lambda: engine.push("s", rows))
    assert sentence == "rows of s have several columns x"


def test_rows_may_come_from_a_generator(engine: cqc.Engine) -> None:
    engine.push("s", ({"ts": 1, "x": x} for x in range(3)))
    assert [each.row["x"] for each in engine.drain()] == [0, 1, 2]


@pytest.mark.parametrize("wrong", [None, 5, "s", b"s", ["s"], [("s", [])]])
def test_push_batch_takes_rows_by_stream(engine: cqc.Engine, wrong: Any) -> None:
    assert said(TypeError, lambda: engine.push_batch(wrong)).startswith(
        "engine.push_batch takes rows by the name of their stream (Mapping), not "
    )


def test_a_batch_names_each_stream_once_and_is_taken_as_a_whole(engine: cqc.Engine) -> None:
    row = [{"ts": 1, "x": 1}]
    sentence = said(cqc.RunError, lambda: engine.push_batch({"s": row, "S": row}))
    assert sentence == "the same stream is named twice in one batch: s, S"
    wrong: Any = {"s": row, 5: row}
    assert said(TypeError, lambda: engine.push_batch(wrong)) == (
        "engine.push takes the name of a stream or table (str), not int"
    )
    said(cqc.RunError, lambda: engine.push_batch({"s": row, "r": None}))
    assert engine.stream_counts()["s"].read == 0


@pytest.mark.parametrize("wrong", NO_TEXT)
def test_register_takes_text_and_a_name(engine: cqc.Engine, wrong: Any) -> None:
    assert said(TypeError, lambda: engine.register(wrong)).startswith(
        "register takes the text of a query (str), not "
    )
    if wrong is not None:
        assert said(TypeError, lambda: engine.register("SELECT x FROM s", wrong)).startswith(
            "register takes the name of the query (str or None), not "
        )
    assert engine.queries == ("pushed", "asked")


def test_a_name_is_registered_once(engine: cqc.Engine) -> None:
    engine.register("SELECT x FROM s", "mine")
    with pytest.raises(cqc.CompileError, match="query mine is defined twice"):
        engine.register("SELECT x FROM s", "mine")


@pytest.mark.parametrize("call", ["invoke", "unregister", "ask", "node"])
@pytest.mark.parametrize("wrong", NO_TEXT)
def test_queries_are_named_or_handed_back(engine: cqc.Engine, call: str, wrong: Any) -> None:
    assert said(TypeError, lambda: getattr(engine, call)(wrong)).startswith(
        "the engine takes a query's name, or what engine.register gave (str or QueryHandle), not "
    )
    assert (
        said(cqc.RunError, lambda: getattr(engine, call)("nowhere")) == "there is no query nowhere"
    )


def test_a_handle_is_good_for_the_engine_that_gave_it(program: cqc.Program) -> None:
    first, second = cqc.Engine(program), cqc.Engine(program)
    handle = first.register("SELECT ts FROM s", "mine")
    second.register("SELECT x FROM s", "mine")
    sentence = said(cqc.RunError, lambda: second.unregister(handle))
    assert sentence == "query mine was registered with another engine"
    assert "mine" in second.queries
    first.unregister(handle)
    assert said(cqc.RunError, lambda: first.unregister(handle)) == "there is no query mine"


@pytest.mark.parametrize(
    "at", ["soon", b"5", [1], {"at": 1}, True, float("nan"), float("inf"), dict]
)
@pytest.mark.parametrize("stream", ["s", "r"])
def test_an_instant_is_one(engine: cqc.Engine, stream: str, at: Any) -> None:
    begin = "0" if stream == "s" else "TIMESTAMP '2024-01-01 00:00:00'"
    query = engine.register(f"SELECT COUNT(*) AS n FROM {stream} BEGIN {begin} END NOW")
    assert f"{at!r} is no instant; " in said(cqc.RunError, lambda: engine.invoke(query, at))


def test_a_push_query_cannot_be_asked(engine: cqc.Engine) -> None:
    assert "only queries with BEGIN-END can be asked" in said(
        cqc.RunError, lambda: engine.invoke("pushed")
    )


# Functions


@pytest.mark.parametrize("wrong", NO_TEXT)
def test_a_function_has_a_name_and_can_be_called_and_returns_a_type(wrong: Any) -> None:
    assert said(TypeError, lambda: cqc.function(wrong, len)).startswith(
        "cqc.function takes the name of the function first (str), not "
    )
    if not callable(wrong):
        assert said(TypeError, lambda: cqc.function("wrong", wrong)).startswith(
            "cqc.function takes what can be called second, not "
        )
    assert said(TypeError, lambda: cqc.function("wrong", len, wrong)).startswith(
        "cqc.function takes the name of the type it returns, such as 'DOUBLE' (str), not "
    )


def test_a_function_cannot_have_the_name_of_a_word_of_the_language() -> None:
    assert said(ValueError, lambda: cqc.function("Select", len)) == (
        "Select cannot be called in a query: it is a word of the language"
    )


# Spark: what is wrong is said before a session is asked for anything


SESSION: Any = SimpleNamespace(readStream=None)
FRAME: Any = SimpleNamespace(isStreaming=True)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"program": TEXT}, "cqc.spark.start takes a compiled program first (Program), not str"),
        ({"program": None}, "cqc.spark.start takes a compiled program first (Program), not None"),
        ({"spark": None}, "cqc.spark.start takes a SparkSession second, not None"),
        ({"spark": "local[2]"}, "cqc.spark.start takes a SparkSession second, not str"),
        (
            {"sources": [FRAME]},
            "sources of cqc.spark.start takes DataFrames by the name of their stream (Mapping), not list",
        ),
        (
            {"sources": {"s": "s.csv"}},
            "sources of cqc.spark.start takes a DataFrame for s, not str",
        ),
        (
            {"sources": {5: FRAME}},
            "sources of cqc.spark.start takes names of streams and tables as keys (str), not int",
        ),
        ({"on_batch": "f"}, "on_batch of cqc.spark.start takes what can be called, not str"),
        (
            {"checkpoint": 5},
            "checkpoint of cqc.spark.start takes a folder (str or PathLike or None), not int",
        ),
        (
            {"trigger": "1 second"},
            "trigger of cqc.spark.start takes arguments of Spark's trigger by name (Mapping or None), not str",
        ),
        (
            {"partitions": "2"},
            "partitions of cqc.spark.start takes how many there are (int or None), not str",
        ),
        (
            {"only": "pushed"},
            "only of cqc.spark.start takes names of queries (a list of str), not str",
        ),
    ],
)
def test_spark_start_says_what_it_takes(
    program: cqc.Program, arguments: dict[str, Any], sentence: str
) -> None:
    given = {"program": program, "spark": SESSION, "sources": {"s": FRAME}, **arguments}
    assert said(TypeError, lambda: cqc.spark.start(**given)).startswith(sentence)


def test_spark_start_wants_at_least_one_partition(program: cqc.Program) -> None:
    assert said(
        ValueError, lambda: cqc.spark.start(program, SESSION, {"s": FRAME}, partitions=0)
    ).endswith("is at least 1, not 0")
