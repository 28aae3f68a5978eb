"""Files of results that only grow: what counts is kept through crashes, rotation and other people's hands, or nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.sinks.growing import Growing, Known, bring_back, check, leave

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def counted(path: Path) -> Known:
    """A file with a line that counts, and one that came after it."""
    file = Growing(path)
    file.append(b"counts\n")
    known = file.keep(1)
    file.append(b"does not\n")
    return known


def test_what_does_not_count_is_cut_off(path: Path) -> None:
    known = counted(path)
    again = Growing(path, known)
    assert (again.length, path.read_bytes()) == (7, b"counts\n")
    again.append(b"more\n")
    assert path.read_bytes() == b"counts\nmore\n"


def test_looking_changes_nothing(path: Path) -> None:
    check(path, counted(path))
    assert path.read_bytes() == b"counts\ndoes not\n"


def test_a_rotated_file_is_cut_back_where_it_is_and_results_go_on_in_a_new_one(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = counted(path)
    aside = path.with_suffix(".1")
    path.rename(aside)
    again = Growing(path, known)
    again.append(b"more\n")
    assert (aside.read_bytes(), path.read_bytes()) == (b"counts\n", b"more\n")
    assert "was moved to" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (lambda path: path.unlink(), "has gone, which had 7 bytes"),
        (lambda path: path.write_bytes(b"co"), "was cut to 2 bytes, but had 7 bytes"),
        (lambda path: path.write_bytes(b"XXXXXX\n"), "does not hold the 7 bytes"),
    ],
)
def test_a_file_that_does_not_hold_what_counts_is_refused(
    path: Path, harm: object, sentence: str
) -> None:
    known = counted(path)
    harm(path)  # type: ignore[operator]
    before = path.read_bytes() if path.exists() else None
    for look in (check, bring_back, Growing):
        with pytest.raises(RunError, match=f"{sentence}.*or name another --out"):
            look(path, known)
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("harm", ["deleted", "written", "replaced"])
def test_a_file_that_others_change_under_way_is_written_no_more(path: Path, harm: str) -> None:
    file = Growing(path)
    file.append(b"mine\n")
    if harm == "deleted":
        path.unlink()
    elif harm == "written":
        path.write_bytes(b"mine\nyours\n")
    else:
        path.rename(path.with_suffix(".1"))
        path.write_bytes(b"mine\n")
    for act in (lambda: file.append(b"more\n"), lambda: file.keep(1)):
        with pytest.raises(RunError, match="the micro-batch under way does not count"):
            act()


def test_another_place_begins_anew_and_the_old_one_keeps_what_counts(path: Path) -> None:
    known = counted(path)
    other = path.with_name("other.jsonl")
    assert Growing(other, known).length == 0
    assert path.read_bytes() == b"counts\n"


def test_results_that_go_to_no_file_any_more_leave_what_counts(path: Path) -> None:
    leave(counted(path))
    assert path.read_bytes() == b"counts\n"
    leave(Known(5))  # what was printed is nowhere


def test_a_file_that_nothing_was_added_to_is_known_without_a_look(path: Path) -> None:
    file = Growing(path)
    assert file.keep(1) is file.keep(2)


def test_what_was_printed_before_begins_anew_in_a_file(path: Path) -> None:
    assert Growing(path, Known(100)).length == 0
