"""A folder of query files beside queries registered over HTTP."""

from pathlib import Path

import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.serve.query_folder import QueryFolder
from tests.integration.serve.running import Running, running
from tests.support.waiting import wait_until, write_whole


def owners(service: Running) -> dict[str, str]:
    return {
        each["name"]: each["owner"] for each in service.client.get("/queries").json()["queries"]
    }


def test_files_take_effect_when_they_change(tmp_path: Path) -> None:
    folder = tmp_path / "alarms"
    folder.mkdir()
    write_whole(folder / "a.cq", "CREATE QUERY one AS SELECT k FROM s; SELECT x FROM s;")
    with running(folders=(folder,)) as service:
        service.register("SELECT k FROM r", name="mine")
        wait_until(lambda: "one" in owners(service))
        assert owners(service) == {
            "big": "program", "total": "program", "mine": "http",
            "one": "alarms/a.cq", "q1": "alarms/a.cq",
        }  # fmt: skip
        kept = service.client.get("/queries/one").json()["id"]
        write_whole(
            folder / "a.cq",
            "CREATE QUERY one AS SELECT k FROM s; CREATE QUERY two AS SELECT x FROM s;",
        )
        wait_until(lambda: "two" in owners(service))
        assert service.client.get("/queries/one").json()["id"] == kept
        assert "q1" not in owners(service)
        (folder / "a.cq").unlink()
        wait_until(lambda: set(owners(service)) == {"big", "total", "mine"})


def test_queries_of_a_program_folder_may_change_too(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.cq", "CREATE STREAM s (ts BIGINT, k BIGINT);")
    write_whole(tmp_path / "b.cq", "CREATE QUERY old AS SELECT k FROM s;")
    program = "".join(file.read_text() for file in sorted(tmp_path.iterdir()))
    with running(program, programs=(str(tmp_path),)) as service:
        write_whole(tmp_path / "b.cq", "CREATE QUERY newer AS SELECT k FROM s;")
        wait_until(lambda: owners(service) == {"newer": "program"})
        write_whole(tmp_path / "b.cq", "CREATE QUERY broken AS SELECT z FROM s;")
        wait_until(lambda: bool(service.problems))
        assert owners(service) == {"newer": "program"}


def test_a_file_with_errors_is_reported_and_changes_nothing(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.cq", "CREATE QUERY one AS SELECT k FROM s")
    with running(folders=(tmp_path,)) as service:
        wait_until(lambda: "one" in owners(service))
        write_whole(
            tmp_path / "a.cq", "CREATE QUERY new AS SELECT k FROM s;\nSELECT nothing FROM s"
        )
        wait_until(lambda: bool(service.problems))
        assert f"{tmp_path / 'a.cq'}:2:8" in service.problems[0]
        assert "one" in owners(service)
        assert "new" not in owners(service)
        assert service.client.get("/health").json()["problems"]


def test_a_file_that_declares_something_is_refused(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.cq", "CREATE STREAM z (ts BIGINT); SELECT k FROM s")
    with running(folders=(tmp_path,)) as service:
        wait_until(lambda: bool(service.problems))
        assert "a.cq:1:1" in service.problems[0]


def test_a_file_that_went_away_between_two_lives_takes_its_queries_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "alarms"
    folder.mkdir()
    for name in ("a", "b"):
        write_whole(folder / f"{name}.cq", f"CREATE QUERY {name} AS SELECT k FROM s")
    checkpoint = tmp_path / "state"
    with running(folders=(folder,), checkpoint=checkpoint) as service:
        wait_until(lambda: {"a", "b"} <= set(owners(service)))
        kept = service.client.get("/queries/b").json()["id"]
    (folder / "a.cq").unlink()
    with running(folders=(folder,), checkpoint=checkpoint) as service:
        wait_until(lambda: "a" not in owners(service))
        assert service.client.get("/queries/b").json()["id"] == kept


def test_a_file_that_is_being_written_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "a.cq").write_text("SELECT k FROM s")
    folder = QueryFolder(tmp_path)
    assert folder.changed() == ["a.cq"]
    (tmp_path / "a.cq").write_text("")
    (tmp_path / "b.cq").write_text("")
    assert folder.changed() == []
    (tmp_path / "a.cq").write_text("SELECT x FROM s")
    assert folder.changed() == ["a.cq", "b.cq"]
    assert folder.changed() == []
    (tmp_path / "a.cq").write_text("")
    assert folder.changed() == []
    assert folder.changed() == ["a.cq"]
    assert folder.statements("a.cq") == []
    (tmp_path / "a.cq").unlink()
    assert folder.changed() == ["a.cq"]


def test_a_client_that_takes_the_name_of_a_file_keeps_its_queries(tmp_path: Path) -> None:
    folder = tmp_path / "alarms"
    folder.mkdir()
    write_whole(folder / "a.cq", "CREATE QUERY one AS SELECT k FROM s")
    checkpoint = tmp_path / "state"
    mine = {"mine": "alarms/a.cq", "yours": "program", "his": "alarms/gone.cq"}
    with running(folders=(folder,), checkpoint=checkpoint) as service:
        wait_until(lambda: "one" in owners(service))
        for name, owner in mine.items():
            service.register("SELECT k FROM r", name=name, owner=owner)
        write_whole(folder / "a.cq", "CREATE QUERY two AS SELECT k FROM s")
        wait_until(lambda: "two" in owners(service))
        assert mine.items() <= owners(service).items()
    with running(folders=(folder,), checkpoint=checkpoint) as service:
        write_whole(folder / "a.cq", "CREATE QUERY three AS SELECT k FROM s")
        wait_until(lambda: "three" in owners(service))
        assert mine.items() <= owners(service).items()


def test_a_file_with_too_many_queries_is_reported_and_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "alarms"
    folder.mkdir()
    write_whole(folder / "a.cq", "CREATE QUERY one AS SELECT k FROM s")
    with running(folders=(folder,), queries=4) as service:
        wait_until(lambda: "one" in owners(service))
        before = owners(service)
        write_whole(folder / "a.cq", "SELECT k FROM s; SELECT x FROM s; SELECT ts FROM s")
        wait_until(lambda: bool(service.problems))
        assert "the limit is 4" in service.problems[0]
        assert owners(service) == before


def test_two_folders_of_one_name_are_refused(tmp_path: Path) -> None:
    folders = (tmp_path / "a" / "alarms", tmp_path / "b" / "alarms")
    for folder in folders:
        folder.mkdir(parents=True)
    refused = pytest.raises(RunError, match="2 folders of queries are called alarms")
    with refused, running(folders=folders):
        pass
