"""Secrets: looked up when they are needed, shown as their place everywhere else."""

import pickle
from pathlib import Path

import pytest

import cqc
from cqc.compiler.meaning.secrets import Secret
from cqc.runtime.errors import RunError
from cqc.runtime.receivers.secret_values import reveal, revealed, without_secrets


def test_a_value_comes_from_the_environment_or_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CQC_T", "hush")
    (tmp_path / "f").write_text("quiet\n")
    assert reveal(Secret("env", "CQC_T")) == "hush"
    assert revealed({"a": Secret("FILE", "f"), "b": "plain"}, str(tmp_path)) == {
        "a": "quiet",
        "b": "plain",
    }


def test_one_that_is_not_there_is_named() -> None:
    with pytest.raises(RunError, match=r"ENV\('CQC_NOT_SET'\) has no value"):
        reveal(Secret("ENV", "CQC_NOT_SET"))
    with pytest.raises(RunError, match=r"FILE\('no/such'\) cannot be read"):
        reveal(Secret("FILE", "no/such"))


def test_a_program_shows_the_place_and_never_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CQC_T", "hush")
    program = cqc.compile(
        "CREATE SINK s WITH (type = 'webhook', url = 'http://x', token = ENV('CQC_T'));"
        "CREATE STREAM t (ts BIGINT); CREATE QUERY q INTO s AS SELECT ts FROM t"
    )
    shown = repr(program.catalog) + program.graph.to_json()
    assert "ENV('CQC_T')" in shown
    assert "hush" not in shown
    again = pickle.loads(pickle.dumps(program.catalog.sinks["s"].options["token"]))
    assert (again, again.place, again.name) == ("ENV('CQC_T')", "ENV", "CQC_T")


def test_no_part_of_a_secret_is_shown() -> None:
    place = Secret("ENV", "PG")
    address = "postgresql://me:hush-hush@db.example:5432/shop"
    for text in (address, 'invalid "hush-hush" there', "no host db.example"):
        shown = without_secrets(
            f"it says {text}", {"dsn": place, "table": "t"}, {"dsn": address, "table": "t"}
        )
        assert "hush-hush" not in shown
        assert "db.example" not in shown
        assert "ENV('PG')" in shown
    assert without_secrets("a plain word", {"x": "plain"}, {"x": "plain"}) == "a plain word"
