"""The grammar's tables, kept in a file: what is read is what was built, and a file that is not right is built again."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from cqc.compiler.syntax import grammar_tables as kept
from cqc.compiler.syntax.grammar_tables import grammar_tables

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "cqc" / "grammar.tables"


def test_what_is_read_is_what_was_built(cache: Path) -> None:
    built = grammar_tables()
    assert cache.is_file()
    assert grammar_tables() == built


@pytest.mark.parametrize("content", [b"", b"junk", b"\xe9\x01\x00\x00\x00", b"i\x01\x00\x00\x00"])
def test_a_damaged_file_is_built_again(cache: Path, content: bytes) -> None:
    built = grammar_tables()
    cache.write_bytes(content)
    again = grammar_tables()  # Lark numbers states and rules as it pleases
    assert (set(again.rules), len(again.states)) == (set(built.rules), len(built.states))
    assert grammar_tables() == again


def test_a_file_with_one_wrong_byte_is_not_used(cache: Path) -> None:
    built = grammar_tables()
    content = cache.read_bytes()
    for at in range(len(content) // 2, len(content), len(content) // 97):
        cache.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        assert kept._read(cache, (kept._FORM, sys.version, kept.grammar_text())) is None
    cache.write_bytes(content)
    assert grammar_tables() == built


def test_the_tables_of_another_grammar_are_not_used(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grammar_tables()
    other = kept.grammar_text().replace('"PER"', '"PEER"')
    monkeypatch.setattr(kept, "grammar_text", lambda: other)
    assert any("PEER" in row for row in grammar_tables().states.values())


def test_a_folder_that_cannot_be_made_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert grammar_tables().rules


def test_lark_is_not_loaded_where_the_tables_are_kept(cache: Path) -> None:
    grammar_tables()
    look = "import sys; from cqc.compiler.syntax.tables import tables; tables(); sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0
