"""The service as a client sees it: queries come and go, rows come in, answers go out."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest

from cqc.runtime.serve.http.exposition import TOP
from tests.integration.serve.running import PROGRAM, Running, running
from tests.support.waiting import wait_until, write_whole


@pytest.fixture(scope="module")
def shared() -> Iterator[Running]:
    """One server for the tests that only add to it."""
    with running() as service:
        yield service


def test_rows_pushed_over_http_give_answers_and_results() -> None:
    with running() as service:
        pushed = service.push("s", {"ts": 1, "k": 1, "x": 5.0}, {"ts": 2, "k": 2, "x": 11})
        assert pushed.pop("warnings") == ["no row of s had name"]
        assert pushed == {"read": 2, "accepted": 2, "late": 0, "rejected": 0, "reasons": {}}
        assert service.invoke("total")["rows"] == [{"n": 2, "x": 16.0}]
        assert service.invoke("total", at="1")["rows"] == [{"n": 1, "x": 5.0}]
        ((_, result),) = service.watch(1)
        assert result == {"query": "big", "ts": 2, "row": {"k": 2, "x": 11.0}}


def test_an_answer_before_any_row_is_over_no_rows() -> None:
    with running() as service:
        answer = service.invoke("total")
        assert answer["at"] is None
        assert answer["rows"] == [{"n": 0, "x": None}]


def test_a_registered_query_has_a_number_a_name_and_columns(shared: Running) -> None:
    made = shared.register("SELECT k AS key, x FROM s WHERE k = 7", owner="ward 3")
    assert made["name"].startswith("q")
    assert made["owner"] == "ward 3"
    assert made["columns"] == [{"name": "key", "type": "BIGINT"}, {"name": "x", "type": "DOUBLE"}]
    assert shared.client.get(f"/queries/{made['name']}").json()["id"] == made["id"]
    assert made["name"] in shared.names()


def test_names_match_in_any_case_and_an_unregistered_one_can_be_used_again(shared: Running) -> None:
    first = shared.register("SELECT k FROM s", name="Again")
    assert shared.client.post(
        "/queries", json={"text": "SELECT x FROM s", "name": "aGAIN"}
    ).status_code == 409  # fmt: skip
    assert shared.client.delete("/queries/AGAIN").status_code == 204
    assert shared.client.delete("/queries/AGAIN").status_code == 404
    assert shared.register("SELECT x FROM s", name="again")["id"] > first["id"]


def test_a_name_may_hold_any_character(shared: Running) -> None:
    made = shared.register("SELECT k FROM s BEGIN 0 END NOW", name="a/b c?é")
    assert shared.client.get("/queries/a%2Fb%20c%3F%C3%A9/invoke").json()["query"] == made["name"]
    assert shared.client.delete("/queries/a%2Fb%20c%3F%C3%A9").status_code == 204


def test_a_pull_query_registered_late_sees_the_retained_past() -> None:
    with running() as service:
        service.push("s", {"ts": 1, "k": 1, "x": 5.0})
        service.register("SELECT MAX(x) AS m FROM s BEGIN 0 END NOW", name="late")
        assert service.invoke("late")["rows"] == [{"m": 5.0}]


def test_asking_beyond_the_retention_is_answered_with_a_warning() -> None:
    program = "CREATE STREAM s (ts BIGINT); SET RETENTION = 10 SECONDS;"
    with running(program) as service:
        name = "caf\u00e9 \u20ac\r\nx"
        service.register("SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW", name=name)
        service.push("s", *({"ts": ts} for ts in range(0, 100, 10)))
        service.push("s", {"ts": 100})
        answer = service.client.get(f"/queries/{quote(name, safe='')}/invoke")
        assert answer.status_code == 200
        assert "kept from 90" in answer.json()["warnings"][0]
        assert answer.json()["rows"] == [{"n": 2}]
        assert json.loads(answer.headers["x-cqc-warnings"]) == answer.json()["warnings"]


def test_a_query_with_errors_is_refused_with_the_compilers_diagnostics(shared: Running) -> None:
    answer = shared.client.post("/queries", json={"text": "SELECT kk FROM s"})
    assert answer.status_code == 422
    (found,) = answer.json()["diagnostics"]
    assert (found["line"], found["column"], found["severity"]) == (1, 8, "error")
    assert set(found) == {
        *(
            "file",
            "line",
            "column",
            "end_line",
            "end_column",
            "code",
            "severity",
            "message",
            "hint",
        ),
        "detail",
    }


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b'[{"ts": 1, "k": 3}, {"ts": "x"}, 5]'),
        ("application/json; charset=utf-8", b'[{"ts": 1, "k": 3}, {"ts": "x"}, 5]'),
        ("application/x-ndjson", b'{"ts": 1, "k": 3}\n{"ts": "x"}\nnot json\n'),
        ("text/csv", b"ts,k\n1,3\nx,1\n1,2,3\n"),
    ],
)
def test_rows_come_in_several_forms_and_bad_ones_are_counted(
    content_type: str, body: bytes
) -> None:
    with running() as service:
        answer = service.client.post(
            "/streams/R", content=body, headers={"content-type": content_type}
        )
        assert answer.status_code == 200, answer.text
        assert (answer.json()["accepted"], answer.json()["rejected"]) == (1, 2)


def test_rows_come_as_an_arrow_stream_and_answers_go_out_as_one() -> None:
    with running() as service:
        sink = io.BytesIO()
        table = pa.table({"ts": [1, 2], "x": [1.5, 2.5]})
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        kind = "application/vnd.apache.arrow.stream"
        pushed = service.client.post(
            "/streams/s", content=sink.getvalue(), headers={"content-type": kind}
        )
        assert pushed.json()["accepted"] == 2
        answer = service.client.get("/queries/total/invoke", headers={"accept": kind})
        assert answer.headers["content-type"] == kind
        assert pa.ipc.open_stream(answer.content).read_all().to_pylist() == [{"n": 2, "x": 4.0}]
        text = service.client.post("/queries/total/invoke", headers={"accept": "text/csv"})
        assert text.text == "n,x\n2,4.0\n"


def test_rows_far_ahead_wait_for_company_also_across_a_restart(tmp_path: Path) -> None:
    declared = PROGRAM.replace("ts BIGINT", "ts TIMESTAMP").replace("BEGIN 0", "BEGIN NOW - 1 HOUR")
    with running(declared, checkpoint=tmp_path / "state") as service:
        pushed = service.push(
            "s", {"ts": "2024-01-01T00:00:00Z", "x": 1}, {"ts": "2094-01-01T00:00:00Z", "x": 2}
        )
        assert (pushed["read"], pushed["accepted"], pushed["waiting"]) == (2, 1, 1)
        assert "late" in pushed
        assert service.push("s", {"ts": "2024-01-01T00:00:01Z", "x": 3})["accepted"] == 1
        assert service.invoke("total")["rows"] == [{"n": 2, "x": 4.0}]
        assert 'cqc_rows_waiting{stream="s"} 1' in service.client.get("/metrics").text
        paused = [{"ts": f"2024-03-01T00:00:{at:02}Z", "x": 10} for at in range(16)]
        assert service.push("s", *paused)["waiting"] == 16
        assert len(service.problems) == 1
    with running(declared, checkpoint=tmp_path / "state") as service:
        assert service.invoke("total")["rows"] == [{"n": 2, "x": 4.0}]
        pushed = service.push("s", {"ts": "2024-03-01T00:00:16Z", "x": 10})
        assert (pushed["read"], pushed["accepted"], pushed["waiting"]) == (1, 17, -16)
        assert service.invoke("total")["rows"] == [{"n": 17, "x": 170.0}]
        assert service.push("s", {"ts": "2024-03-01T00:00:17Z", "x": 10})["late"] == 0
    with running(declared, checkpoint=tmp_path / "state") as service:
        assert 'cqc_rows_waiting{stream="s"} 1' in service.client.get("/metrics").text
        assert service.invoke("total")["rows"] == [{"n": 18, "x": 180.0}]


def test_late_rows_are_counted() -> None:
    with running() as service:
        service.push("s", {"ts": 10})
        assert service.push("s", {"ts": 9}, {"ts": 10})["late"] == 1


def test_lists_show_owner_age_results_and_cost() -> None:
    with running() as service:
        service.push("s", {"ts": 1, "x": 20.0}, {"ts": 1, "x": 30.0})
        service.invoke("total")
        queries = {each["name"]: each for each in service.client.get("/queries").json()["queries"]}
        assert (queries["big"]["results"], queries["big"]["kind"]) == (2, "push")
        assert (queries["total"]["invocations"], queries["total"]["kind"]) == (1, "pull")
        assert queries["big"]["owner"] == "program"
        assert queries["total"]["cost_seconds"] > 0
        assert queries["big"]["age_seconds"] >= 0


def test_the_programs_sources_are_read_and_followed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts,k,x,name\n1,1,20,a\n")
    with running(binds={"s": str(tmp_path)}) as service:
        assert service.watch(1)[0][1]["row"] == {"k": 1, "x": 20.0}
        write_whole(tmp_path / "b.csv", "ts,k,x,name\n2,2,30,b\n")
        assert service.watch(2)[1][1]["row"] == {"k": 2, "x": 30.0}


def test_files_of_a_stream_wait_while_another_one_is_behind(tmp_path: Path) -> None:
    put_settled(tmp_path / "s" / "0.csv", 60, 1)
    put_settled(tmp_path / "r" / "0.csv", 1, 1)
    binds = {name: str(tmp_path / name) for name in "sr"}
    state = tmp_path / "state"
    with running(binds=binds, checkpoint=state) as service:
        wait_until(lambda: reads_of(service) == {"s": (1, 0), "r": (1, 0)})
        put_settled(tmp_path / "r" / "1.csv", 2, 50)
        put_settled(tmp_path / "s" / "1.csv", 61, 30)
        wait_until(lambda: reads_of(service) == {"s": (31, 0), "r": (51, 0)})
    put_settled(tmp_path / "s" / "2.csv", 91, 3)
    with running(binds=binds, checkpoint=state) as service:
        wait_until(lambda: reads_of(service) == {"s": (34, 0), "r": (51, 0)})


def put_settled(file: Path, first: int, rows: int) -> None:
    """A file that nobody has touched for long appears at once."""
    file.parent.mkdir(exist_ok=True)
    aside = file.with_name(f".{file.name}")
    numbers = range(first, first + rows)
    aside.write_text("ts,k,x,name\n" + "".join(f"{ts},{ts},1.0,n\n" for ts in numbers))
    os.utime(aside, (1_700_000_000, 1_700_000_000))
    aside.replace(file)


def reads_of(service: Running) -> dict[str, tuple[int, int]]:
    values = dict(line.rsplit(" ", 1) for line in service.client.get("/metrics").text.splitlines())
    return {
        name: (
            int(float(values[f'cqc_rows_read_total{{stream="{name}"}}'])),
            int(float(values[f'cqc_rows_late_total{{stream="{name}"}}'])),
        )
        for name in "sr"
    }


def test_tables_are_read_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("k,nurse\n1,Ada\n")
    program = """CREATE STREAM s (ts BIGINT, k BIGINT); CREATE TABLE w (k BIGINT, nurse STRING);
                 CREATE QUERY who AS SELECT nurse FROM s, w WHERE s.k = w.k"""
    with running(program, binds={"w": str(tmp_path / "w.csv")}) as service:
        service.push("s", {"ts": 1, "k": 1})
        assert service.watch(1)[0][1]["row"] == {"nurse": "Ada"}
        refused = service.client.post("/streams/w", json=[{"k": 2, "nurse": "Bo"}])
        assert refused.status_code == 409


def test_metrics_have_declared_streams_as_labels_and_only_the_top_queries(shared: Running) -> None:
    shared.push("r", {"ts": 1})
    text = shared.client.get("/metrics").text
    assert 'cqc_rows_read_total{stream="r"}' in text
    named = [line for line in text.splitlines() if "query=" in line]
    assert len(named) <= 3 * TOP
    assert all(line.startswith("cqc_top_query_") for line in named)
    for line in text.splitlines():
        assert line.startswith("#") or len(line.rsplit(" ", 1)) == 2


def test_openapi_describes_every_route_and_the_token(shared: Running) -> None:
    document = shared.client.get("/openapi.json").json()
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    assert document["security"] == [{"token": []}, {}]
    paths = document["paths"]
    assert {
        *("/queries", "/queries/{name}", "/queries/{name}/invoke", "/queries/{name}/results"),
        *("/results", "/streams/{name}", "/health", "/metrics"),
        *("/overview", "/graph", "/schema", "/check", "/preview", "/sinks", "/sinks/{name}/test"),
        *("/alerts", "/execute"),
    } == set(paths)
    assert "put" in paths["/queries/{name}"]
