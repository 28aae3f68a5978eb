"""Program folders that change while the service runs: what is compiled again, and what the queries then are."""

from __future__ import annotations

from pathlib import Path

import pytest

import cqc
from cqc.compiler.diagnostics.source import SourceFile
from cqc.runtime.errors import RunError
from cqc.runtime.run.program_files import stamp_of
from cqc.runtime.serve import live_program
from cqc.runtime.serve.live_program import LiveProgram

STREAMS = "CREATE STREAM s (ts BIGINT, x BIGINT); CREATE VIEW v AS SELECT ts, x FROM s WHERE x > 0;"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "streams.cq").write_text(STREAMS)
    for name in "abc":
        (tmp_path / f"{name}.cq").write_text(f"CREATE QUERY {name} AS SELECT x FROM v;")
    return tmp_path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The files of each compilation."""
    seen: list[list[str]] = []
    whole = live_program.compile_sources

    def watched(sources):  # type: ignore[no-untyped-def]
        seen.append([Path(source.name).name for source, _ in sources])
        return whole(sources)

    monkeypatch.setattr(live_program, "compile_sources", watched)
    return seen


def texts(live: LiveProgram) -> dict[str | None, str]:
    return {each.name: each.text for each in live.statements()}


def live_of(folder: Path) -> LiveProgram:
    return LiveProgram((str(folder),), cqc.compile_files(folder).catalog)


def test_an_edited_query_is_compiled_with_the_declarations_alone(
    folder: Path, compiled: list[list[str]]
) -> None:
    live = live_of(folder)
    first = texts(live)
    (folder / "b.cq").write_text("CREATE QUERY B AS SELECT x + 1 AS y FROM v;")
    assert live.changed()
    second = texts(live)
    assert compiled[-1] == ["b.cq", "streams.cq"]
    assert list(second) == ["a", "B", "c"]
    assert "x + 1" in second["B"]
    assert (second["a"], second["c"]) == (first["a"], first["c"])


def test_the_first_edit_needs_no_more_than_others(folder: Path, compiled: list[list[str]]) -> None:
    live = live_of(folder)
    files = sorted(folder.glob("*.cq"))
    sources = [(SourceFile(str(file), file.read_text()), str(folder)) for file in files]
    live.begin(cqc.compile_files(folder), sources)
    (folder / "b.cq").write_text("CREATE QUERY b AS SELECT x + 1 AS y FROM v;")
    assert list(texts(live)) == ["a", "b", "c"]
    assert compiled == [["b.cq", "streams.cq"]]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE QUERY other AS SELECT x FROM v;",
        "CREATE QUERY b AS SELECT x FROM v; CREATE QUERY d AS SELECT x FROM v;",
        "CREATE VIEW w AS SELECT ts, x FROM s; CREATE QUERY b AS SELECT x FROM w;",
        "CREATE QUERY b (most BIGINT = 1) AS SELECT x FROM v WHERE x > :most;",
        "SELECT x FROM v;",
    ],
)
def test_what_changes_more_is_compiled_whole(
    text: str, folder: Path, compiled: list[list[str]]
) -> None:
    live = live_of(folder)
    texts(live)
    (folder / "b.cq").write_text(text)
    found = texts(live)
    assert len(compiled[-1]) == 4
    assert found == {each: cqc.compile_files(folder).text_of(each) for each in found if each}


def test_after_an_error_everything_is_looked_at_again(
    folder: Path, compiled: list[list[str]]
) -> None:
    live = live_of(folder)
    texts(live)
    (folder / "b.cq").write_text("CREATE QUERY b AS SELECT nothing FROM v;")
    with pytest.raises(cqc.CompileError):
        live.statements()
    (folder / "c.cq").write_text("CREATE QUERY c AS SELECT x + 2 AS y FROM v;")
    with pytest.raises(cqc.CompileError):  # the file with the error is still there
        live.statements()
    (folder / "b.cq").write_text("CREATE QUERY b AS SELECT x FROM v;")
    assert "x + 2" in texts(live)["c"]
    assert len(compiled[-1]) == 4


def test_declarations_cannot_change(folder: Path) -> None:
    live = live_of(folder)
    (folder / "streams.cq").write_text(STREAMS.replace("x BIGINT", "x DOUBLE"))
    with pytest.raises(RunError, match="restart it for that"):
        live.statements()


def test_a_file_edited_while_the_service_starts_is_noticed(folder: Path) -> None:
    stamp = stamp_of((str(folder),))
    catalog = cqc.compile_files(folder).catalog
    (folder / "a.cq").write_text("CREATE QUERY a AS SELECT x + 1 AS y FROM v;")
    live = LiveProgram((str(folder),), catalog, stamp=stamp)
    assert live.changed()
    assert not live.changed()
