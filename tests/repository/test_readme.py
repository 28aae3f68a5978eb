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
COMMANDS_PAGE = ROOT / "docs" / "commands.md"
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"]
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def test_every_command_prints_what_the_readme_shows(tmp_path: Path) -> None:
    with reading(tmp_path) as reader:
        wrong = reader.follow(blocks_of(README))
    assert not wrong, "\n\n".join(wrong)


def test_the_queries_of_the_language_page_compile() -> None:
    page = ROOT / "docs" / "language.md"
    program = "\n".join(block.text for block in blocks_of(page) if block.language == "sql")
    assert len(cqc.compile(program).queries) > 5


def test_a_newcomer_reads_it_in_a_few_screens() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) < 150


def test_every_command_is_on_its_page() -> None:
    text = COMMANDS_PAGE.read_text(encoding="utf-8")
    assert not [command for command in COMMANDS if f"`cqc {command}" not in text]


def test_plots_of_the_documentation_are_those_of_the_benchmarks() -> None:
    for plot in (ROOT / "docs" / "plots").glob("*-*.svg"):
        paper, _, name = plot.name.partition("-")
        assert plot.read_bytes() == (ROOT / "benchmarks" / "papers" / paper / name).read_bytes()


@pytest.mark.parametrize(
    ("picture", "programs"),
    [("plots/many.svg", ["building.cq", "traffic.cq"]), ("graph.svg", ["icu.cq"])],
)
def test_pictures_of_graphs_are_what_is_drawn_now(picture: str, programs: list[str]) -> None:
    program = cqc.compile_files([ROOT / "examples" / "queries" / name for name in programs])
    assert (ROOT / "docs" / picture).read_text(encoding="utf-8").strip() == program.to_svg().strip()


@pytest.mark.parametrize(
    ("page", "figure"),
    [
        ("engine/filters", "4,520,477"),
        ("engine/filters", "| 92 "),
        ("engine/joins", "689,550"),
        ("engine/joins", "15.9x"),
        ("engine/joins", "11.2x"),
        ("papers/cacq", "73.0x"),
        ("engine/compile", "| 13.0 |"),
        ("engine/compile", "0.27 ms"),
    ],
)
def test_headline_figures_are_those_that_were_recorded(page: str, figure: str) -> None:
    assert figure in (ROOT / "benchmarks" / page / "results.md").read_text(encoding="utf-8")


def test_every_option_of_run_is_on_the_page_of_commands() -> None:
    text = COMMANDS_PAGE.read_text(encoding="utf-8")
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
