"""Large and odd bodies: each is answered clearly, none takes many times its size in memory, and too much is told to wait."""

import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from cqc.compiler.meaning.catalog import Relation
from cqc.runtime.intake.typed_batch import TypedBatch
from cqc.runtime.serve.http import app, bodies
from tests.integration.serve.process import serving
from tests.integration.serve.running import Running, running
from tests.support.waiting import PATIENCE_S, wait_until

JSON = {"content-type": "application/json"}
LINES = {"content-type": "application/x-ndjson"}
ARROW = {"content-type": "application/vnd.apache.arrow.stream"}
PAD = b" " * bodies.FEW_BYTES  # makes a body large without changing what it says


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running() as found:
        yield found
        # Some tests here send rows that are all bad or lack columns, and the service says so when it reports next: that is right.
        expected = ("WERE REJECTED", "no row of")
        assert [said for said in found.problems if not any(each in said for each in expected)] == []


def arrow(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize("pad", [b"", PAD], ids=["small", "large"])
@pytest.mark.parametrize(
    ("headers", "body", "accepted", "reasons"),
    [
        (JSON, b'[{"ts": 1, "k": 3}, {"ts": "x"}, 5, {}]', 1,
         {"ts is not a BIGINT": 1, "not an object": 1, "ts is NULL": 1}),
        (JSON, b'{"TS": 1}', 1, {}),
        (JSON, b'[{"ts": 5, "ts": 7, "TS": "x"}]', 1, {}),
        (JSON, b'[{"ts": 1, "k": NaN}, {"ts": 1, "k": 1e400}, {"ts": 1, "k": 99999999999999999999}]', 0,
         {"k is not a BIGINT": 3}),
        (JSON, b'[{"ts": 1, "other": "\\ud800"}, {"ts": 1, "other": [[{"a": -0.5e-7}]]}]', 2, {}),
        (LINES, b'{"ts": 1}\nnope\n\n{"ts": null}\n[]\n\xff\n{"ts": 2, "other": "\xff"}\n', 2,
         {"not JSON": 1, "ts is NULL": 1, "not an object": 1, "not UTF-8": 1}),
    ],
)  # fmt: skip
def test_rows_mean_the_same_in_small_and_in_large_bodies(
    pad: bytes, headers: dict[str, str], body: bytes, accepted: int, reasons: dict[str, int]
) -> None:
    with running() as service:
        answer = service.client.post("/streams/r", content=body + pad, headers=headers)
        assert answer.status_code == 200, answer.text
        assert answer.json()["accepted"] == accepted
        assert answer.json()["reasons"] == reasons


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"[{]", "is not JSON: ']' cannot stand at byte 2"),
        (b'[{"ts": 1}', "is not JSON: it ends too early"),
        (b'[{"ts": 1}]]', "is not JSON: it should end at byte 11"),
        (b"[" * 20_000, "is not JSON: it is nested too deeply"),
        (b'[{"ts": ' + b"9" * 20_000 + b"}]", "has more than 4,300 digits"),
        (b'[{"name": "\xff"}]', "is not JSON: byte 11 is not UTF-8"),
        (b'[{"name": "\x01"}]', "is not JSON: '\\x01' cannot stand at byte 11"),
        (b"17", "must be an array of objects"),
    ],
)
def test_a_large_body_that_is_no_rows_is_refused_with_the_place(
    service: Running, body: bytes, said: str
) -> None:
    answer = service.client.post("/streams/s", content=body + PAD, headers=JSON)
    assert answer.status_code in (400, 422)
    assert said in answer.json()["error"]


def rows_of(kind: str, count: int) -> tuple[dict[str, str], bytes]:
    return {
        "json": (JSON, b"[" + b",".join([b"{}"] * count) + b"]"),
        "values": (JSON, b"[" + b",".join([b"1"] * count) + b"]"),
        "lines": (LINES, b"{}\n" * count),
        "junk": (LINES, b"x\n" * count),
        "csv": ({"content-type": "text/csv"}, b"ts,k,x,name\n" + b"1,1,1,a\n" * count),
        "arrow": (ARROW, arrow(pa.table({"ts": pa.nulls(count)}))),
    }[kind]


@pytest.mark.parametrize("kind", ["json", "values", "lines", "junk", "csv", "arrow"])
@pytest.mark.parametrize("count", [3, 50_000])
def test_a_body_has_at_most_so_many_rows(kind: str, count: int) -> None:
    with running(body_rows=count - 1) as strict, running(body_rows=count) as lenient:
        headers, body = rows_of(kind, count)
        refused = strict.client.post("/streams/s", content=body, headers=headers)
        assert refused.status_code == 413
        assert f"more than {count - 1:,} rows" in refused.json()["error"]
        taken = lenient.client.post("/streams/s", content=body, headers=headers)
        assert taken.json()["read"] == count
        assert not strict.problems


def test_a_stream_of_many_columns_takes_fewer_rows_at_once() -> None:
    with running(body_values=40) as service:
        assert service.push("s", *({"ts": ts} for ts in range(10)))["accepted"] == 10
        answer = service.client.post("/streams/s", json=[{"ts": 1}] * 11)
        assert answer.status_code == 413
        assert service.push("r", *({"ts": ts} for ts in range(20)))["accepted"] == 20


def test_ten_million_empty_objects_cost_little_more_memory_than_their_bytes(tmp_path: Path) -> None:
    """31 MB of them once took 4.3 GB, and a hundred seconds."""
    (tmp_path / "p.cq").write_text("CREATE STREAM s (ts BIGINT, x DOUBLE, name STRING);")
    with serving(tmp_path / "p.cq") as (process, client):
        assert client.post("/streams/s", content=b"{}" + PAD, headers=JSON).status_code == 200
        before = peak_megabytes(process.pid)
        body = b"[" + b"{}," * 10_000_000 + b"{}]"
        answers = [client.post("/streams/s", content=body, headers=JSON)]
        some = b"[" + b"{}," * 900_000 + b"{}]"
        answers.append(client.post("/streams/s", content=some, headers=JSON))
        assert [answer.status_code for answer in answers] == [413, 200]
        assert answers[1].json()["reasons"] == {"ts is NULL": 900_001}
        large_query = client.post("/queries", content=body, headers=JSON)
        assert large_query.status_code == 413
        assert peak_megabytes(process.pid) - before < 300


def peak_megabytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024


def test_bodies_that_are_read_count_as_waiting_and_too_many_are_told_to_try_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One body is held while it is read, so that there is no room for another; then there is."""
    held, go_on = threading.Event(), threading.Event()
    read = bodies.read_body

    def read_slowly(relation: Relation, kind: str, body: bytes, most_rows: int) -> TypedBatch:
        held.set()
        assert go_on.wait(PATIENCE_S)
        return read(relation, kind, body, most_rows)

    monkeypatch.setattr(app, "read_body", read_slowly)
    body = b'[{"ts": 1}]' + PAD
    with running(waiting_bytes=len(body) + 100) as service:
        answers: list[int] = []
        client = threading.Thread(
            target=lambda: answers.append(
                service.client.post("/streams/r", content=body, headers=JSON).status_code
            )
        )
        client.start()
        assert held.wait(PATIENCE_S)
        refused = service.client.post("/streams/r", content=body, headers=JSON)
        go_on.set()
        client.join(PATIENCE_S)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert "try again later" in refused.json()["error"]
        assert answers == [200]
        assert service.server.worker.waiting_bytes == 0
        assert service.client.post("/streams/r", content=body, headers=JSON).status_code == 200
        larger = service.client.post("/streams/r", content=body + PAD, headers=JSON)
        assert larger.status_code == 413


def test_a_body_that_hangs_up_or_breaks_no_longer_counts(service: Running) -> None:
    for body in (b"{" + PAD, b"[{}" + PAD):
        assert service.client.post("/streams/s", content=body, headers=JSON).status_code == 400
    wait_until(lambda: service.server.worker.waiting_bytes == 0)


LONG = "a" * 1_000_000


@pytest.mark.parametrize(
    ("table", "status"),
    [
        (pa.table({"ts": pa.nulls(500_000), "other": pa.nulls(500_000)}), 200),
        (pa.table({"ts": [1] * 1_000,
                   "name": pa.DictionaryArray.from_arrays(pa.array([0] * 1_000, pa.int32()), [LONG])}), 413),
        (pa.table({"ts": [1] * 3, "name": pa.DictionaryArray.from_arrays([0, None, 0], ["a"])}), 200),
        (pa.table({"ts": [1] * 3, "name": pa.array(["a", None, "b" * 99], pa.string_view())}), 200),
        (pa.table({"ts": [1, 1], "name": pa.array([["a"], None])}), 200),
        (pa.table({"ts": [1] * 9, "x": pa.array([[None] * 1000] * 9, pa.list_(pa.null(), 1000))}), 200),
        (pa.table({"ts": pa.RunEndEncodedArray.from_arrays([4_000], [1])}), 422),
        (pa.table({"other": pa.RunEndEncodedArray.from_arrays([4_000], [1])}), 200),
    ],
    ids=["nulls", "long dictionary", "dictionary", "view", "list", "nulls in lists", "runs", "runs aside"],
)  # fmt: skip
def test_arrow_streams_that_stand_for_much_are_bounded(
    service: Running, table: pa.Table, status: int
) -> None:
    answer = service.client.post("/streams/s", content=arrow(table), headers=ARROW)
    assert answer.status_code == status, answer.text
    if status == 200:
        assert answer.json()["read"] == table.num_rows


@pytest.mark.parametrize("path", ["/queries", "/streams/s"])
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", ""])
def test_curl_without_a_content_type_is_told_what_to_add(
    service: Running, path: str, kind: str
) -> None:
    body = json.dumps({"text": "SELECT k FROM s"})
    answer = service.client.post(path, content=body, headers={"content-type": kind})
    assert answer.status_code == 415
    assert "add -H 'Content-Type: application/json'" in answer.json()["error"]


@pytest.mark.parametrize("pad", [b"", PAD], ids=["small", "large"])
def test_a_column_that_no_row_had_is_told_with_what_it_is_called(pad: bytes) -> None:
    program = "CREATE STREAM r (ts BIGINT, temperature DOUBLE); SELECT temperature FROM r;"
    table = pa.table({"ts": [1], "temperatur": [2.5]})
    with running(program) as service:
        bodies_of_a_kind = [
            (JSON, b'[{"ts": 1, "temperatur": 2.5}]' + pad),
            (LINES, b'{"ts": 1, "temperatur": 2.5}\n' + pad),
            (ARROW, arrow(table)),
        ]
        for headers, body in bodies_of_a_kind:
            said = service.client.post("/streams/r", content=body, headers=headers).json()
            assert said["accepted"] == 1
            assert "no row of r had temperature. Did you mean `temperatur`?" in said["warnings"][0]
        for body in (b'{"ts": 2, "temperature": 2.5}', b'{"ts": 2}'):
            answer = service.client.post("/streams/r", content=body, headers=JSON)
            assert answer.status_code == 200, answer.text
            assert answer.json().get("warnings", []) == []  # a row has had it by now
