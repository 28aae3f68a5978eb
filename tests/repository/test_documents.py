"""What the pages in docs/ show is true: sessions and Python are run, and links, commands and options are there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from cqc.cli.main import COMMANDS, LazyGroup
from tests.support.documents import blocks_of, reading
from tests.support.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
DOCUMENTS = [*PAGES, *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"))]
SHOWING = [page for page in PAGES if re.search(r"^(\$ cqc|>>>)", page.read_text(), re.MULTILINE)]
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
OTHERS = {  # options of other programs that the documents speak of
    "--archives", "--conf", "--deploy-mode", "--preload", "--update", "--dist", "--seed", "--episode",
}  # fmt: skip


def name_of(page: Path) -> str:
    return page.name


@pytest.mark.parametrize("page", SHOWING, ids=name_of)
def test_every_command_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    with reading(tmp_path) as reader:
        wrong = reader.follow(blocks_of(page))
    assert not wrong, "\n\n".join(wrong)


def test_sessions_are_marked_so_that_they_are_run() -> None:
    """`openssl` and the like make keys of this machine, and the console is looked at: these are shown only."""
    unmarked = [
        (page.name, session)
        for page in PAGES
        for session in re.findall(r"^```\n(\$ .*)$", page.read_text(), re.MULTILINE)
    ]
    shown_only = ("openssl", "cqc serve examples/queries/traffic.cq")
    assert [
        page for page, session in unmarked if not any(words in session for words in shown_only)
    ] == []


def test_the_pages_make_a_site_without_dead_links_or_pages_that_nobody_finds(
    tmp_path: Path,
) -> None:
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--quiet",
            "--site-dir",
            str(tmp_path),
        ],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert {page.with_suffix(".html").name for page in PAGES} <= {
        file.name for file in tmp_path.glob("*.html")
    }


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_every_option_that_is_named_exists(page: Path) -> None:
    group = LazyGroup()
    context = click.Context(click.Command("cqc"))
    known = {"--debug", "--version", "--help", "--push", *OTHERS}  # --push is of the magic %%cq
    for command in COMMANDS:
        found = group.get_command(context, command)
        assert found is not None
        inside = found.commands.values() if isinstance(found, click.Group) else ()
        for each in (found, *inside):
            known.update(name for parameter in each.params for name in parameter.opts)
    assert not sorted(set(OPTION.findall(page.read_text(encoding="utf-8"))) - known)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        file, _, heading = target.partition("#")
        if target.startswith("http"):
            continue
        other = (page.parent / file).resolve() if file else page
        assert other.exists(), target
        if other.suffix == ".png":
            continue
        titles = re.findall(r"^#+ (.*)$", other.read_text(encoding="utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-") for title in titles}
        assert not heading or heading in anchors, target


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_every_file_that_a_document_names_exists(page: Path) -> None:
    named = re.findall(
        r"`((?:grammar|compiler|runtime|cli|tests|benchmarks|docs|examples)/[\w./-]*)`",
        page.read_text(encoding="utf-8"),
    )
    assert not [name for name in named if "CODE" not in name and not (ROOT / name).exists()]
