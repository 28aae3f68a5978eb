"""The command as a process of its own: pipes, signals, a full disk and closed streams."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE_S

COMMAND = [sys.executable, "-m", "cqc.cli.main"]
ROWS = 200_000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that gives a result for each of many rows."""
    folder = tmp_path_factory.mktemp("many")
    program = folder / "many.cq"
    program.write_text(
        "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = 's.csv'); SELECT x FROM s;"
    )
    rows = "".join(f"{at},{at}\n" for at in range(ROWS))
    (folder / "s.csv").write_text("ts,x\n" + rows)
    return program


def start(*arguments: str | Path, **streams: object) -> subprocess.Popen[str]:
    channels = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]  # the streams vary
        [*COMMAND, *map(str, arguments)], text=True, start_new_session=True, **channels | streams
    )


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, out or "", err or ""


STOPS = pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])


@STOPS
def test_a_stop_leaves_every_result_written_and_a_summary(
    stop: signal.Signals, many: Path, tmp_path: Path
) -> None:
    with (tmp_path / "messages").open("w") as stderr:
        process = start("run", many, "--engine", "local", "--rows-per-batch", "10", stderr=stderr)
    assert process.stdout is not None
    first = process.stdout.readline()
    os.killpg(process.pid, stop)
    lines = [first, *process.stdout]
    assert end(process)[0] == 130
    messages = (tmp_path / "messages").read_text()
    assert [json.loads(line)["row"]["x"] for line in lines] == list(range(len(lines)))
    assert len(lines) < ROWS
    assert messages.startswith("interrupted\n")
    assert f"q1: {len(lines):,} results\n" in messages
    assert "Traceback" not in messages


def test_ctrl_c_inside_generated_code_has_the_same_exit_code() -> None:
    """As modules run while they are loaded: Python itself would end by the signal then."""
    text = (
        "import cqc.cli.main as command\n"
        "command.cqc.invoke = lambda context: exec('raise KeyboardInterrupt')\n"
        "command.main(['check', '-'])"
    )
    finished = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (finished.returncode, finished.stderr) == (130, "interrupted\n")


def test_ctrl_c_that_python_made_another_exception_of_is_still_one() -> None:
    """As it does while a class is made, in modules that are loaded."""
    text = (
        "import cqc.cli.main as command\n"
        "def load(context):\n"
        "    try:\n"
        "        raise KeyboardInterrupt\n"
        "    except KeyboardInterrupt as stop:\n"
        "        raise RuntimeError('Error calling __set_name__') from stop\n"
        "command.cqc.invoke = load\n"
        "command.main(['check', '-'])"
    )
    finished = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (finished.returncode, finished.stderr) == (130, "interrupted\n")


@STOPS
@pytest.mark.parametrize("checkpoint", [False, True], ids=["plain", "checkpoint"])
def test_a_stop_of_a_run_that_follows_is_a_clean_one(
    stop: signal.Signals, checkpoint: bool, tmp_path: Path
) -> None:
    program = tmp_path / "p.cq"
    program.write_text(
        "CREATE STREAM s (ts BIGINT) WITH (path = 's.csv'); SELECT ts FROM s; SELECT COUNT(*) FROM s BEGIN 0 END NOW;"
    )
    (tmp_path / "s.csv").write_text("ts\n1\n2\n")
    kept = ("--checkpoint", tmp_path / "state") if checkpoint else ()
    process = start("run", program, "--engine", "local", "--follow", *kept)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(2)]
    process.send_signal(stop)
    code, rest, messages = end(process)
    assert [json.loads(line)["row"]["ts"] for line in lines] == [1, 2]
    assert (code, rest) == (130, "")
    assert messages.splitlines()[:2] == ["interrupted", "s: 2 read, 0 late, 0 rejected"]
    assert "Traceback" not in messages


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--engine", "local"),
        ("run", "--engine", "local", "--sink", "table"),
    ],
)
def test_a_reader_that_has_seen_enough_is_no_error(arguments: tuple[str, ...], many: Path) -> None:
    process = start(*arguments, many)
    assert process.stdout is not None
    assert process.stdout.readline() != ""
    process.stdout.close()
    process.stdout = None
    code, _, messages = end(process)
    assert code == 0
    assert "Traceback" not in messages
    assert "error" not in messages
    assert "tuples/s" in messages


def test_a_graph_piped_into_head_is_no_error(many: Path, tmp_path: Path) -> None:
    queries = "".join(f"SELECT x FROM s WHERE x > {at};\n" for at in range(500))
    (tmp_path / "big.cq").write_text("CREATE STREAM s (ts BIGINT, x BIGINT);\n" + queries)
    process = start("compile", tmp_path / "big.cq", "--emit", "json")
    assert process.stdout is not None
    process.stdout.read(1)
    process.stdout.close()
    process.stdout = None
    assert end(process)[::2] == (0, "")


def test_a_reader_that_has_seen_enough_does_not_make_a_program_right(tmp_path: Path) -> None:
    queries = "".join(f"SELECT y{at} FROM s;\n" for at in range(500))
    (tmp_path / "wrong.cq").write_text("CREATE STREAM s (ts BIGINT, x BIGINT);\n" + queries)
    process = start("check", tmp_path / "wrong.cq", "--format", "json")
    assert process.stdout is not None
    process.stdout.read(1)
    process.stdout.close()
    process.stdout = None
    assert end(process)[::2] == (1, "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("compile", "PROGRAM"),
        ("run", "PROGRAM", "--engine", "local"),
    ],
)
def test_a_full_disk_fails_in_one_sentence(arguments: tuple[str, ...], many: Path) -> None:
    given = [str(many) if argument == "PROGRAM" else argument for argument in arguments]
    with Path("/dev/full").open("w") as full:
        code, _, messages = end(start(*given, stdout=full))
    assert code == 3
    assert messages.endswith("No space left on device\n")
    assert messages.count("\n") == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_leads_nowhere(closed: str, many: Path) -> None:
    line = f'exec "{sys.executable}" -m cqc.cli.main check "{many}" {closed}'
    finished = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")


def test_output_is_utf_8_whatever_the_locale_says(tmp_path: Path) -> None:
    program = tmp_path / "p.cq"
    program.write_text("CREATE STREAM s (ts BIGINT, x STRING); SELECT x FROM s WHERE x = 'über';")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    finished = subprocess.run(
        [*COMMAND, "compile", str(program)],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert "x = 'über'" in finished.stdout.decode()


def stopped_while(
    loaded: str, stop: signal.Signals, *arguments: str | Path
) -> subprocess.CompletedProcess[str]:
    """The command, with a signal at the moment at which a module begins to be loaded."""
    text = (
        "import importlib.abc, os, signal, sys\n"
        "class Interrupt(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == {loaded!r}:\n"
        f"            os.kill(os.getpid(), {int(stop)})\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from cqc.cli.entry import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", text, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)


@pytest.mark.parametrize(
    "loaded",
    ["cqc.cli.interrupts", "click", "cqc.cli.commands.run", "pyarrow", "cqc.runtime.engine.engine"],
)
@STOPS
def test_a_stop_while_modules_are_loaded_is_a_clean_one(
    loaded: str, stop: signal.Signals, many: Path
) -> None:
    finished = stopped_while(loaded, stop, "run", many, "--engine", "local")
    assert finished.returncode == 130
    assert (finished.stdout, finished.stderr) == ("", "interrupted\n")


def test_ctrl_c_that_is_ignored_stays_ignored(many: Path) -> None:
    text = (
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from cqc.cli.entry import main\n"
        "import cqc.cli.main\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "main()\n"
    )
    command = [sys.executable, "-c", text, "check", str(many)]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (finished.returncode, finished.stderr) == (0, "")
