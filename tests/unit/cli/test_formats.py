"""What `cqc check` knows of WITH is what `cqc run` knows, for every format and every option."""

import ast
from pathlib import Path

import pytest

from cqc.compiler.meaning.source_formats import (
    CONNECTIONS,
    FORMATS,
    READ_ONCE,
    AnyText,
    Letter,
    Number,
    Seconds,
    Text,
    TimeForm,
    Words,
    Zone,
)
from cqc.runtime import sources
from tests.unit.cli.conftest import Call

RUNTIME = Path(sources.__file__).parents[1]
EVERY_OPTION = [(name, key) for name, format_ in FORMATS.items() for key in format_.options]
BY_OTHER_NAMES = {"kafka.bootstrap.servers"}  # of the Kafka client, whose options are handed on


@pytest.fixture(autouse=True)
def nobody_is_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("cqc.runtime.sources.kafka._PATIENCE_S", 0.1)
    monkeypatch.chdir(tmp_path)


def good(name: str) -> dict[str, str]:
    """A good value for each option of a format; nobody listens where they lead."""
    chosen = {"rows": "1", "rows_per_second": "1000", "port": "1", "servers": "127.0.0.1:1"}
    chosen |= {
        "timestamp": "millis",
        "zone": "Europe/Berlin",
        "delimiter": ";",
        "quote": "|",
        "header": "true",
        "address": "127.0.0.1:1",
        "dsn": "host=127.0.0.1 port=1",
        "poll": "1",
    }
    options = {}
    for key, takes in FORMATS[name].options.items():
        default = takes.words[-1] if isinstance(takes, Words) else "nowhere"
        options[key] = chosen.get(key, default)
    return options


def program(name: str, options: dict[str, str]) -> str:
    told = "".join(f", {key} = '{value}'" for key, value in options.items())
    return f"CREATE STREAM s (ts BIGINT) WITH (format = '{name}'{told}); SELECT ts FROM s;"


def checked_and_run(call: Call, text: str) -> tuple[int, int]:
    """The exit codes; what is wrong is told in the same words."""
    check = call("check", "-", stdin=text)
    run = call("run", "-", "--engine", "local", "--quiet", stdin=text)
    assert "bug in cqc" not in run.err
    assert (check.code == 1) == (run.code == 1)
    if check.code == 1:
        assert check.err == run.err
    return check.code, run.code


@pytest.mark.parametrize("name", FORMATS)
def test_what_the_check_accepts_the_run_understands(name: str, call: Call) -> None:
    check, run = checked_and_run(call, program(name.upper(), good(name)))
    assert check == 0
    # All words were understood: the made-up rows come, and nobody is there who could give others.
    assert run == (0 if name == "rate" else 3)


@pytest.mark.parametrize(("name", "key"), EVERY_OPTION)
def test_an_option_that_is_misspelt_is_an_error_that_names_the_right_one(
    name: str, key: str, call: Call
) -> None:
    given = good(name)
    options = {f"{other}x" if other == key else other: given[other] for other in given}
    assert checked_and_run(call, program(name, options)) == (1, 1)
    assert f"Did you mean `{key}`?" in call("check", "-", stdin=program(name, options)).err


@pytest.mark.parametrize(("name", "key"), EVERY_OPTION)
def test_an_option_that_says_something_else_is_an_error(name: str, key: str, call: Call) -> None:
    takes = FORMATS[name].options[key]
    wrong = {
        Words: ["other", ""], Number: ["0", "-1", "1.5", "²", "x", ""], Text: [""], Letter: ["", "ab", "é"],
        TimeForm: ["", "HH:mm", "yyyy-QQ", "yyyy 'x"], Zone: ["", "Europe/Nowhere", "+25:00"], AnyText: [], Seconds: ["", "0", "x", "-1"],
    }[type(takes)]  # fmt: skip
    if isinstance(takes, Number) and takes.most is not None:
        wrong = [*wrong, str(takes.most + 1)]
    for value in wrong:
        assert checked_and_run(call, program(name, {**good(name), key: value})) == (1, 1)


@pytest.mark.parametrize("name", FORMATS)
def test_an_option_of_another_format_is_an_error(name: str, call: Call) -> None:
    others = {key for format_ in FORMATS.values() for key in format_.options}
    for key in sorted(others - FORMATS[name].options.keys()):
        assert checked_and_run(call, program(name, {**good(name), key: "1"})) == (1, 1)


@pytest.mark.parametrize("name", [name for name in CONNECTIONS if name not in READ_ONCE])
def test_a_table_is_read_from_files(name: str, call: Call) -> None:
    text = program(name, good(name)).replace("STREAM s", "TABLE t", 1)
    text = text.replace("SELECT ts FROM s;", "CREATE STREAM s (ts BIGINT); SELECT s.ts FROM s, t;")
    assert checked_and_run(call, text) == (1, 1)


def test_a_format_that_is_misspelt_is_an_error_that_names_the_right_one(call: Call) -> None:
    for name in FORMATS:
        if len(name) > 3:
            assert checked_and_run(call, program(f"{name}x", {})) == (1, 1)
            assert (
                f"Did you mean `{name}`?" in call("check", "-", stdin=program(f"{name}x", {})).err
            )


def test_a_stream_of_a_connection_may_be_read_from_a_file_instead(call: Call) -> None:
    Path("s.csv").write_text("ts\n1\n")
    for name in CONNECTIONS:
        text = program(name, good(name))
        finished = call("run", "-", "--engine", "local", "--quiet", "--bind", "s=s.csv", stdin=text)
        assert (finished.code, len(finished.lines)) == (0, 1), finished.err


def test_a_wrong_option_of_the_kafka_client_is_one_sentence(call: Call) -> None:
    text = program("kafka", good("kafka")).replace("value =", "\"kafka.no.such\" = 'x', value =")
    finished = call("run", "-", "--engine", "local", stdin=text)
    assert finished.code == 3
    assert finished.err.startswith("error: cannot read the Kafka topic nowhere")
    assert "no.such" in finished.err


def test_the_table_has_every_option_that_is_read_and_no_others() -> None:
    read = {key for file in sorted(RUNTIME.rglob("*.py")) for key in keys_read_in(file)}
    known = {"format", *(key for _, key in EVERY_OPTION)}
    assert read - BY_OTHER_NAMES == known


def keys_read_in(file: Path) -> list[str]:
    """The options of WITH that a file of the runtime asks for by name."""
    found: list[str] = []
    text = file.read_text(encoding="utf-8")
    if "relation" not in text or "options" not in text:
        return found
    for node in ast.walk(ast.parse(text)):
        match node:
            case (
                ast.Call(
                    func=ast.Attribute(value=asked, attr="get"),
                    args=[ast.Constant(value=str(key)), *_],
                )
                | ast.Subscript(value=asked, slice=ast.Constant(value=str(key)))
            ):
                if is_options(asked):
                    found.append(key)
            case ast.Call(func=ast.Name(id="_number"), args=[_, ast.Constant(value=str(key)), *_]):
                found.append(key)
    return found


def is_options(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "options") or (
        isinstance(node, ast.Name) and node.id == "options"
    )
