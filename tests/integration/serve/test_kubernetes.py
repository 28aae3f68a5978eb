"""The manifest in `examples/kubernetes`: its command is run as it stands, in folders of the test and on loopback."""

import signal
from pathlib import Path
from typing import Any

import yaml

from tests.integration.serve.process import serving
from tests.support.waiting import PATIENCE_S

MANIFEST = Path(__file__).parents[3] / "examples" / "kubernetes" / "cqc.yaml"
STREAMS = "CREATE STREAM s (ts BIGINT, x DOUBLE);"
RULES = "CREATE QUERY big AS SELECT x FROM s WHERE x > 10;"


def deployment() -> Any:
    parts = yaml.safe_load_all(MANIFEST.read_text(encoding="utf-8"))
    return next(part for part in parts if part["kind"] == "Deployment")["spec"]


def arguments(folder: Path) -> list[str]:
    """What the container is told, with the paths of its volumes below `folder`, and heard on loopback alone."""
    container = deployment()["template"]["spec"]["containers"][0]
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    given = container["args"]
    assert given[0] == "serve"
    found = []
    for argument in given[1:]:
        name, is_option, value = argument.rpartition("=")
        if name in ("--host", "--port"):
            continue
        if value.startswith(tuple(mounts)):
            value = f"{folder}{value}"
        found.append(f"{name}={value}" if is_option else value)
    return found


def lay_out(folder: Path) -> None:
    for name, text in {
        "queries/streams.cq": STREAMS,
        "queries/live/rules.cq": RULES,
        "tokens/admin": "a" * 32,
        "tokens/reader": "r" * 32,
        "state/.keep": "",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_the_command_of_the_manifest_serves_stops_and_goes_on(tmp_path: Path) -> None:
    lay_out(tmp_path)
    admin = {"authorization": f"Bearer {'a' * 32}"}
    with serving(*arguments(tmp_path)) as (process, client):
        assert client.get("/health").status_code == 200
        assert client.get("/queries").status_code == 401
        pushed = client.post("/streams/s", json=[{"ts": 1, "x": 20.0}], headers=admin)
        assert pushed.status_code == 200, pushed.text
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 0
    with serving(*arguments(tmp_path)) as (_, client):
        reader = {"authorization": f"Bearer {'r' * 32}"}
        queries = client.get("/queries", headers=reader).json()["queries"]
        assert [(query["name"], query["results"]) for query in queries] == [("big", 1)]


def test_the_probes_and_the_volume_fit_one_process() -> None:
    spec = deployment()
    container = spec["template"]["spec"]["containers"][0]
    assert (spec["replicas"], spec["strategy"]["type"]) == (1, "Recreate")
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["path"] == "/health"
