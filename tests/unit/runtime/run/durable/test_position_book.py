"""Where each file stands: in the commit while they are few, in a base file when they are many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from cqc.runtime.files.sealed import write_sealed_json
from cqc.runtime.run.durable import position_book
from cqc.runtime.run.durable.position_book import PositionBook
from cqc.runtime.sources.range import Range

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.run.input_plan import Planner


class Files:
    """What a book asks of a planner."""

    def __init__(self) -> None:
        self.done: dict[str, Any] = {}

    @property
    def places(self) -> int:
        return len(self.done)

    def positions(self) -> dict[str, dict[str, Any]]:
        return {"s": dict(self.done)}

    def forget_gone(self) -> None: ...

    def read(self, book: PositionBook, *names: str) -> Planner:
        for name in names:
            part = Range("s", name, "csv", 0, None)
            self.done[name] = part.place
            book.note([part])
        return cast("Planner", self)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(position_book, "MOST", 2)


def test_few_places_are_in_the_commit(tmp_path: Path) -> None:
    book, files = PositionBook(tmp_path), Files()
    book.settle(0, files.read(book, "a", "b"), write_sealed_json)
    assert (book.base, list(book.recent["s"])) == ("", ["a", "b"])
    assert not (tmp_path / "positions").exists()


def test_many_are_in_a_base_file_and_what_comes_later_beside_it(tmp_path: Path) -> None:
    book, files = PositionBook(tmp_path), Files()
    book.settle(0, files.read(book, "a", "b", "c"), write_sealed_json)
    assert (book.base, book.recent) == ("000000000000.json", {})
    book.settle(1, files.read(book, "d"), write_sealed_json)
    assert (book.base, list(book.recent["s"])) == ("000000000000.json", ["d"])
    again = PositionBook(tmp_path, book.base, book.recent)
    assert sorted(again.before["s"]) == ["a", "b", "c", "d"]


def test_a_base_is_written_anew_when_much_was_read_since_and_the_old_one_goes(
    tmp_path: Path,
) -> None:
    book, files = PositionBook(tmp_path), Files()
    book.settle(0, files.read(book, "a", "b", "c"), write_sealed_json)
    book.settle(1, files.read(book, "d", "e", "f"), write_sealed_json)
    assert (book.base, book.recent) == ("000000000001.json", {})
    book.tidy({book.base})
    assert [file.name for file in (tmp_path / "positions").iterdir()] == ["000000000001.json"]
