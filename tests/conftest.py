"""What every test may use: the command in a process of its own, golden files, and no standard input.

Nothing here may wait for ever. A command has a time limit, and when it passes, the whole process
group goes, so that a JVM which the command started cannot keep a pipe open.
"""

import difflib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import HealthCheck, settings

from tests.support.waiting import PATIENCE_S

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"

# The first call of a kernel compiles it, and CI machines pause: time says nothing about an example.
settings.register_profile(
    "search", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
# `make test` tries the same examples each time, so that a failure belongs to a change;
# `make test-all` searches with new ones (--hypothesis-profile=search).
settings.register_profile("cqc", settings.get_profile("search"), derandomize=True, database=None)
settings.load_profile("cqc")

# Tests that start processes, servers or Spark: when those run is for the operating system to decide.
# They get a second try, which the report shows; a test that computes gets none.
WITH_PROCESSES = (
    "tests/integration/serve/",
    "tests/integration/spark/",
    "test_process.py",
    "test_architecture.py",
    "test_readme.py",
    "test_packaging.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update", action="store_true", help="rewrite golden files with what is true now"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep all Spark tests in one worker: they share one session, and a machine has few cores."""
    for item in items:
        if any(part in item.nodeid for part in WITH_PROCESSES):
            item.add_marker(pytest.mark.flaky(reruns=1))
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session", autouse=True)
def no_standard_input(request: pytest.FixtureRequest) -> Iterator[None]:
    """Give tests, and every process they start, an empty standard input."""
    if request.config.getoption("usepdb"):
        yield
        return
    previous = sys.stdin
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 0)
        sys.stdin = nothing
        yield
    sys.stdin = previous


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard() -> None:
    """A job in the background of a shell ignores SIGINT, and so would every process that a test starts and interrupts."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class RunCqc(Protocol):
    def __call__(
        self,
        *arguments: str | Path,
        stdin: str | None = None,
        timeout: float = PATIENCE_S,
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture(scope="session")
def run_cqc() -> RunCqc:
    """Run `cqc ARGUMENTS` as a user would and return its exit code, output and messages.

    Example:
        finished = run_cqc("check", "-", stdin="SELECT 1")
        assert finished.returncode == 1
    """

    def run(
        *arguments: str | Path,
        stdin: str | None = None,
        timeout: float = PATIENCE_S,
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "cqc.cli.main", *map(str, arguments)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            cwd=cwd or ROOT,
            start_new_session=True,
        )
        try:
            output, messages = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            stop_group(process)
            output, messages = collect_what_is_there(process)
            pytest.fail(
                f"cqc {' '.join(command[3:])} did not end within {timeout} s\n{output}{messages}"
            )
        return subprocess.CompletedProcess(command, process.returncode, output, messages)

    return run


def stop_group(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()


def collect_what_is_there(process: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        return process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        return "", "(a process that left the group still holds the output open)"


class Golden(Protocol):
    def __call__(self, path: str | Path, text: str) -> None: ...


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare `text` with a golden file, or with `pytest --update` write it there.

    The path is relative to tests/golden/ unless it is absolute.

    Example:
        golden("explain/icu.explain", explain(program))
    """
    update = bool(request.config.getoption("--update"))

    def compare(path: str | Path, text: str) -> None:
        file = GOLDEN / path
        recorded = file.read_text(encoding="utf-8") if file.exists() else None
        if text == recorded:
            return
        if update:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            return
        pytest.fail(difference(file, recorded, text), pytrace=False)

    return compare


def difference(file: Path, recorded: str | None, text: str) -> str:
    name = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
    if recorded is None:
        return f"{name} does not exist yet; `pytest --update` writes it\n{text}"
    lines = difflib.unified_diff(
        recorded.splitlines(), text.splitlines(), "recorded", "now", lineterm=""
    )
    shown = "\n".join(lines) or "(only the end of the file differs)"
    return f"{name} is not what it was; `pytest --update` accepts the change\n{shown}"


# Kernels run by Python instead of compiled ones: what a run over a handful of rows does (`runtime/kernel.py`).
if os.environ.get("CQC_TEST_PLAIN"):
    from cqc.runtime.kernel import begin_plain

    begin_plain(float("inf"))
