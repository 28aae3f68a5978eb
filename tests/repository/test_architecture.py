"""What ARCHITECTURE.md shows is true: the worked query's output at every stage, and the map of the code."""

import re
from pathlib import Path

from tests.support.documents import blocks_of, reading

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "ARCHITECTURE.md"
FOLDERS = ("grammar", "compiler", "runtime", "cli", "benchmarks")


def test_the_worked_query_prints_what_the_document_shows(tmp_path: Path) -> None:
    with reading(tmp_path) as reader:
        wrong = reader.follow(blocks_of(DOCUMENT))
    assert not wrong, "\n\n".join(wrong)


def test_every_file_that_the_document_names_exists() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    named = re.findall(r"`((?:grammar|compiler|runtime|cli|cqc|tests)/[\w./]*)`", text)
    assert named
    assert not [name for name in named if not (ROOT / name).exists()]


def test_every_folder_of_code_is_on_the_map() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    folders = {
        file.parent.relative_to(ROOT).as_posix()
        for folder in FOLDERS[:-1]
        for file in (ROOT / folder).rglob("__init__.py")
    }
    assert not sorted(folder for folder in folders if f"`{folder}/`" not in text)


def test_only_the_command_line_catches_everything() -> None:
    catching = [
        file.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for file in sorted((ROOT / folder).rglob("*.py"))
        if re.search(r"except Exception\b", file.read_text(encoding="utf-8"))
    ]
    # Who sends results calls receivers that users have written.
    assert set(catching) == {"cli/main.py", "runtime/receivers/sender.py"}
