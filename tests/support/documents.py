"""Documents that are true: the commands and the Python they show are run, and what they print is compared.

- A `console` block is a session: a line that begins with `$ ` is a command, what follows is what it prints (standard output,
  then standard error). `cat FILE` makes the file, so that a reader sees everything that the next commands use. `cqc serve`
  goes on in the background, and the client commands after it talk to it; so does `curl` with `-H` and `-d`.
- A `python` block is a doctest; all blocks of a document share their names.
- A line `...` stands for any lines. Times and rates may differ.
"""

import doctest
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from cqc.cli.main import CLIENT_COMMANDS, run_command
from tests.support.waiting import PATIENCE_S

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARYING = (
    (re.compile(r"in [\d,.]+ s, [\d,]+ tuples?/s"), "in T s, R tuples/s"),
    (re.compile(r"(?<=http://127.0.0.1:)\d+"), "PORT"),
    (re.compile(r"[\d,.]+ ms"), "T ms"),
    (re.compile(r" +"), " "),  # tables move with the figures in them
    (re.compile(r"-{3,}"), "---"),
    (re.compile(r"\d+ %"), "P %"),
    (re.compile(r"\b(every|pull|push) (\S+) \d+ s\b"), r"\1 \2 AGE"),  # the list of queries
    (re.compile(r"\d+ KB"), "N KB"),
)
ASKING = ("cqc invoke", "cqc queries")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block and the line it begins on."""

    language: str
    text: str
    line: int


def blocks_of(document: Path) -> list[Block]:
    """The fenced blocks of a document in order."""
    text = document.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2], text.count("\n", 0, found.start()) + 1)
        for found in FENCE.finditer(text)
    ]


@dataclass
class Reader:
    """Somebody who types in what a document shows, in an empty folder."""

    folder: Path
    service: str | None = None
    names: dict[str, object] = field(default_factory=dict)
    _running: list[subprocess.Popen[str]] = field(default_factory=list)

    def follow(self, blocks: list[Block]) -> list[str]:
        """Do everything; returns what was not as the document says."""
        wrong: list[str] = []
        for block in blocks:
            if block.language == "console":
                wrong += self._session(block)
            elif block.language == "python":
                wrong += self._python(block)
        return wrong

    def stop(self) -> None:
        """End what was started."""
        for process in self._running:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=PATIENCE_S)

    def _session(self, block: Block) -> Iterator[str]:
        for command, shown in commands_of(block.text):
            printed = self._run(command, shown)
            give_up = time.monotonic() + PATIENCE_S
            # A service answers while it is still reading its input: ask again until it has.
            while command.startswith(ASKING) and not matches(shown, printed):
                if time.monotonic() > give_up:
                    break
                printed = self._run(command, shown)
            if not matches(shown, printed):
                yield f"line {block.line}: $ {command}\nshown:\n{shown}\nprinted:\n{printed}"

    def _run(self, command: str, shown: str) -> str:
        words = shlex.split(command)
        if words[0] == "cat":
            (self.folder / words[1]).write_text(shown, encoding="utf-8")
            return shown
        if words[:2] == ["cqc", "serve"]:
            return self._serve(words[1:])
        if words[0] == "curl":
            return self._curl(words[1:])
        if words[0] != "cqc":
            return f"a document shows only cqc, cat and curl, not {words[0]}\n"
        words, shorten = without_head(words[1:])
        words, stdin = without_input(words)
        if words[0] in CLIENT_COMMANDS and self.service is not None:
            words += ["--service", self.service]
        return shorten(call(words, stdin))

    def _serve(self, words: list[str]) -> str:
        process = subprocess.Popen(
            [sys.executable, "-m", "cqc.cli.main", *words, "--port", "0"],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._running.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://\S+", line)
        self.service = None if address is None else address[0]
        return line

    def _curl(self, words: list[str]) -> str:
        """`curl URL -H HEADER -d BODY` to the service that runs, whatever port the document shows."""
        assert self.service is not None, "curl before cqc serve"
        options = dict(zip(words[1::2], words[2::2], strict=True))
        name, _, value = options["-H"].partition(": ")
        request = urllib.request.Request(
            self.service + urllib.parse.urlsplit(words[0]).path,
            data=options["-d"].encode(),
            headers={name: value},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            text: str = answer.read().decode()
        return text + "\n"

    def _python(self, block: Block) -> Iterator[str]:
        test = doctest.DocTestParser().get_doctest(
            block.text, self.names, "document", "document", block.line
        )
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(test, out=report.write, clear_globs=False)
        self.names.update(test.globs)
        if runner.failures:
            yield report.getvalue()


def commands_of(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a session, each with what it prints; a backslash joins lines."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.replace("\\\n", "").partition("\n")
        yield command, shown


def without_head(words: list[str]) -> tuple[list[str], "Shorten"]:
    """A command without its `| head -N`, and what that does to the output."""
    if "|" not in words:
        return words, Shorten(None)
    at = words.index("|")
    assert words[at + 1] == "head"
    return words[:at], Shorten(int(words[at + 2].lstrip("-")))


@dataclass(frozen=True, slots=True)
class Shorten:
    """The first lines of standard output only, then all of standard error."""

    lines: int | None

    def __call__(self, printed: tuple[str, str]) -> str:
        out, err = printed
        return "".join(out.splitlines(keepends=True)[: self.lines]) + err


def without_input(words: list[str]) -> tuple[list[str], str]:
    """A command without its `< FILE`, and what is in that file."""
    if "<" not in words:
        return words, ""
    at = words.index("<")
    return words[:at], Path(words[at + 1]).read_text(encoding="utf-8")


def call(words: list[str], stdin: str = "") -> tuple[str, str]:
    """Run a command in this process; what it prints to standard output and standard error."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    before, sys.stdin = sys.stdin, io.StringIO(stdin)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            run_command(words)
            out.flush()
    finally:
        sys.stdin = before
    data = out.buffer
    assert isinstance(data, io.BytesIO)
    return data.getvalue().decode(), err.getvalue()


def matches(shown: str, printed: str) -> bool:
    """Whether a text is as shown: a line `...` is any lines, times and rates are any."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + "\n"
        for line in settle(shown).splitlines()
    )
    return re.fullmatch(pattern, settle(printed)) is not None


def settle(text: str) -> str:
    """The text without what varies from run to run."""
    lines = [line.rstrip() for line in text.splitlines()]
    settled = "".join(f"{line}\n" for line in lines)
    for varying, fixed in VARYING:
        settled = varying.sub(fixed, settled)
    return settled


@contextmanager
def reading(folder: Path) -> Iterator[Reader]:
    """A reader in a folder that has the examples, with the current folder set to it."""
    (folder / "examples").symlink_to(Path(__file__).parents[2] / "examples")
    before = Path.cwd()
    reader = Reader(folder)
    os.chdir(folder)
    try:
        yield reader
    finally:
        os.chdir(before)
        reader.stop()
