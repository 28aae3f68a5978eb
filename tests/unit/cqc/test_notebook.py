"""`%load_ext cqc` and `%%cq`, in IPython itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import cqc

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = "CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s WHERE x > 1; SELECT SUM(x) AS n FROM s BEGIN 0 END NOW"


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "cqc")
    yield shell
    InteractiveShell.clear_instance()


def run(shell: InteractiveShell, line: str, cell: str = PROGRAM) -> Any:
    return shell.run_cell_magic("cq", line, cell)


def test_a_cell_is_compiled_kept_and_shown_as_its_graph(shell: InteractiveShell) -> None:
    program = run(shell, "rules")
    assert shell.user_ns["rules"] is program
    assert isinstance(program, cqc.Program)
    assert program._repr_html_().startswith("<svg")
    assert program.graph._repr_html_() == program.to_svg()


def test_rows_of_variables_are_pushed_and_results_shown(shell: InteractiveShell) -> None:
    shell.user_ns["rows"] = [{"ts": x, "x": x} for x in (1, 2)]
    found = [(each.query, each.row) for each in run(shell, "--push s=rows")]
    assert found == [("q1", {"x": 2}), ("q2", {"n": 3})]


@pytest.mark.parametrize(
    ("line", "cell", "said"),
    [
        ("", "SELECT x FROM nowhere", "there is no stream or table nowhere"),
        ("--push s=absent", PROGRAM, "there is no variable absent"),
        ("--push s", PROGRAM, "usage: %%cq"),
        ("--pull", PROGRAM, "usage: %%cq"),
    ],
)
def test_what_is_wrong_is_said_without_a_traceback(
    shell: InteractiveShell, capsys: pytest.CaptureFixture[str], line: str, cell: str, said: str
) -> None:
    assert run(shell, line, cell) is None
    assert said in capsys.readouterr().err
