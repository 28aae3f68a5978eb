"""What is printed cannot be taken back, so damage to what is known of it stops a run before it prints a byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.sinks.output import Output
from cqc.runtime.sinks.printed import Printed, check_printed

if TYPE_CHECKING:
    from pathlib import Path

FIRST, SECOND = b"one\ntwo\n", b"three\nfour\n"


@pytest.fixture
def unprinted(tmp_path: Path) -> Path:
    """A folder whose second micro-batch counts and is not printed yet."""
    printed = Printed(Output(tmp_path / "out"), tmp_path / "printing", -1, 0)
    printed.append(FIRST)
    printed.keep(0)
    printed.print(0)
    printed.append(SECOND)
    printed.keep(1)
    printed.close()
    return tmp_path


def go_on(folder: Path, length: int = len(FIRST + SECOND)) -> bytes:
    output = Output(folder / "out", append=True)
    try:
        Printed(output, folder / "printing", 1, length).close()
    finally:
        output.close()
    return (folder / "out").read_bytes()


def test_what_counts_is_printed_once(unprinted: Path) -> None:
    assert go_on(unprinted) == FIRST + SECOND
    assert go_on(unprinted) == FIRST + SECOND


@pytest.mark.parametrize("file", ["printed", "000000000001.bytes"])
def test_a_flipped_bit_anywhere_prints_nothing(file: str, unprinted: Path) -> None:
    damaged = unprinted / "printing" / file
    kept = damaged.read_bytes()
    for place in range(len(kept)):
        data = bytearray(kept)
        data[place] ^= 1 << place % 8
        damaged.write_bytes(data)
        with pytest.raises(RunError, match=rf"{file} is damaged.*: (restore|remove) it"):
            go_on(unprinted)
    assert (unprinted / "out").read_bytes() == FIRST
    damaged.write_bytes(kept)
    assert go_on(unprinted) == FIRST + SECOND


def test_results_that_have_gone_are_not_passed_over(unprinted: Path) -> None:
    (unprinted / "printing" / "000000000001.bytes").unlink()
    with pytest.raises(RunError, match=r"000000000001.bytes is missing"):
        go_on(unprinted)


def test_a_counter_that_is_damaged_after_everything_was_printed_does_no_harm(
    unprinted: Path,
) -> None:
    go_on(unprinted)
    (unprinted / "printing" / "printed").write_bytes(b"?")
    assert go_on(unprinted) == FIRST + SECOND


def test_a_checkpoint_that_is_older_than_what_was_printed_is_refused(unprinted: Path) -> None:
    go_on(unprinted)
    with pytest.raises(RunError, match="is older than what was printed from it"):
        go_on(unprinted, len(FIRST))
    with pytest.raises(RunError, match="is older than what was printed from it"):
        check_printed(unprinted / "printing", len(FIRST))
