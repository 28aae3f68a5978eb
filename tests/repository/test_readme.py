"""What the README shows is true: commands, their output, the Python, the queries and the links."""

import re
from pathlib import Path

import click
import pytest

import cqc
from cqc.cli.main import COMMANDS, LazyGroup
from tests.support.documents import Reader, blocks_of, commands_of, matches, reading

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"]
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def test_every_command_prints_what_the_readme_shows(tmp_path: Path) -> None:
    with reading(tmp_path) as reader:
        wrong = reader.follow(blocks_of(README))
    assert not wrong, "\n\n".join(wrong)


def test_the_queries_of_the_readme_compile() -> None:
    program = "\n".join(block.text for block in blocks_of(README) if block.language == "sql")
    assert len(cqc.compile(program).queries) > 5


def test_every_command_is_in_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    assert not [command for command in COMMANDS if f"`cqc {command}" not in text]


def test_every_option_of_run_is_in_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    command = LazyGroup().get_command(click.Context(click.Command("cqc")), "run")
    assert command is not None
    options = [name for parameter in command.params for name in parameter.opts if "--" in name]
    assert options
    assert not [option for option in options if f"`{option}" not in text]


def test_make_targets_in_the_readme_exist() -> None:
    targets = re.findall(r"\bmake ([a-z-]+)", README.read_text(encoding="utf-8"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets
    assert not [target for target in targets if f"\n{target}:" not in makefile]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
        for heading in HEADING.findall(text)
    }
    for target in re.findall(r"\]\(([^)]+)\)", text):
        file, _, heading = target.partition("#")
        if not target.startswith("http"):
            assert not file or (ROOT / file).exists(), target
            assert file or heading in headings, target


def test_a_session_is_split_into_commands() -> None:
    text = "$ cqc check \\\n  a.cq\nfirst\nsecond\n$ cqc fmt a.cq\n"
    assert list(commands_of(text)) == [
        ("cqc check   a.cq", "first\nsecond\n"),
        ("cqc fmt a.cq", ""),
    ]


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a\nb\n", "a\n", False),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\nd\n", "a\nd\n", True),
        ("a\n...\n", "b\n", False),
        ("3 tuples in 0.10 s, 30 tuples/s\n", "3 tuples in 1.25 s, 2,000 tuples/s\n", True),
        ("3 tuples in 0.10 s, 30 tuples/s\n", "4 tuples in 0.10 s, 30 tuples/s\n", False),
    ],
)
def test_output_is_compared_line_by_line(shown: str, printed: str, expected: bool) -> None:
    assert matches(shown, printed) is expected


def test_a_document_that_is_wrong_is_found(tmp_path: Path) -> None:
    document = tmp_path / "wrong.md"
    document.write_text(
        "```console\n$ cqc check nowhere.cq\nfine\n```\n```python\n>>> 1 + 1\n3\n```\n"
    )
    assert len(Reader(tmp_path).follow(blocks_of(document))) == 2
