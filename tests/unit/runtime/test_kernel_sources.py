"""Which sources a compiled kernel is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.kernel_sources import digests_of, kept_of

if TYPE_CHECKING:
    from pathlib import Path


def changed(folder: Path, name: str, text: str) -> set[str]:
    """The modules whose kernels are made of something else when a source has another text."""
    before = digests_of(folder, "some")
    (folder / name).write_text(text)
    now = digests_of(folder, "some")
    return {module for module in now if now[module] != before.get(module)}


def test_what_is_imported_by_what_is_imported_counts(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "__init__.py").write_text("")
    (tmp_path / "room" / "low.py").write_text("")
    (tmp_path / "middle.py").write_text("def f():\n    from some.room import low")
    (tmp_path / "high.py").write_text("import some.middle")
    (tmp_path / "alone.py").write_text("import json")
    assert changed(tmp_path, "room/low.py", "x = 1") == {
        "some.room.low",
        "some.middle",
        "some.high",
    }
    assert changed(tmp_path, "alone.py", "x = 1") == {"some.alone"}


def test_sources_that_import_each_other_change_together(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("import some.two")
    (tmp_path / "two.py").write_text("import some.one")
    assert changed(tmp_path, "one.py", "import some.two, os") == {"some.one", "some.two"}


def test_a_kept_kernel_belongs_to_the_source_beside_its_folder(tmp_path: Path) -> None:
    (tmp_path / "room" / "__pycache__").mkdir(parents=True)
    kept = tmp_path / "room" / "__pycache__" / "low.f-12.py311.1.nbc"
    kept.write_text("compiled")
    assert list(kept_of(tmp_path, "some")) == [("some.room.low", kept)]
