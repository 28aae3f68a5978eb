"""The folded graph with its counts."""

from cqc.runtime.serve.views.live_graph import LiveGraph, path_of
from tests.unit.runtime.serve.views.services import PROGRAM, push, rows_of, service_of

MANY = PROGRAM + "\n".join(f"SELECT k FROM s WHERE x > {n};" for n in range(1_000))


def test_each_operator_is_one_node_with_what_it_counted() -> None:
    service = service_of()
    push(service, "s", *rows_of(100))
    nodes = LiveGraph().look(service).nodes
    assert nodes["source:s"].counts["out"] == 100
    assert nodes["filter:s"].counts["in"] == 100
    assert nodes["filter:s"].parts["x"].queries == 2
    assert nodes["state:s"].counts["kept"] == 100
    assert nodes["join:0"].kind == "join"
    assert nodes["deliver:query:big"].counts["out"] == 89


def test_edges_have_what_is_known_to_go_along_them() -> None:
    service = service_of()
    push(service, "s", *rows_of(100), {"ts": None, "k": 1, "x": 1.0})
    service.invoke("total", None)
    folded = LiveGraph().look(service)
    assert folded.nodes["source:s"].counts["rejected"] == 1
    flows = {key: line.flow for key, line in folded.lines.items() if line.source.endswith(":s")}
    assert flows["source:s", "filter:s"] == 100  # without the row that was rejected
    assert flows["filter:s", "deliver:query:big"] == 89
    assert flows["source:s", "history:filter:s"] in (None, 100)
    assert flows["state:s", "join:0"] == flows["source:s", "state:s"] == 100


def test_nobody_says_what_comes_from_which_of_two() -> None:
    more = "CREATE QUERY some AS SELECT COUNT(*) AS n FROM s WHERE x > 90 BEGIN 0 END NOW;"
    service = service_of(PROGRAM + more)
    push(service, "s", *rows_of(100))
    lines = LiveGraph().look(service).lines
    assert lines["filter:s", "history:filter:s"].flow is None
    assert lines["source:s", "history:filter:s"].flow is None


def test_invocations_are_no_results() -> None:
    service = service_of()
    push(service, "s", *rows_of(10))
    service.invoke("total", None)
    counts = LiveGraph().look(service).nodes["deliver:query:total"].counts
    assert counts == {"out": 0, "invoked": 1}


def test_a_thousand_queries_are_one_delivery() -> None:
    service = service_of(MANY)
    push(service, "s", *rows_of(10))
    folded = LiveGraph().look(service)
    assert len(folded.nodes) == 12
    deliver = folded.nodes["deliver:filter:s"]
    assert deliver.queries == 1_002
    assert deliver.counts["out"] == sum(
        entry.results for entry in service.registry if entry.place.operator == "filter:s"
    )
    assert folded.lines["filter:s", "deliver:filter:s"].queries == 1_002


def test_the_folded_graph_follows_the_queries() -> None:
    service, graph = service_of(), LiveGraph()
    assert "deliver:query:big" in graph.look(service).nodes
    service.unregister("big")
    assert "deliver:query:big" not in graph.look(service).nodes


def test_a_path_has_the_operators_of_one_query() -> None:
    path = path_of(service_of(MANY), "pairs")
    assert set(path.nodes) == {
        "source:s", "source:r", "state:s", "state:r", "join:0", "deliver:join:0",
    }  # fmt: skip
    assert all(node.queries == 1 for node in path.nodes.values())
    assert ("state:s", "join:0") in path.lines


def test_a_path_ends_where_the_graph_has_its_delivery() -> None:
    service = service_of(MANY)
    whole = LiveGraph().look(service)
    for entry in list(service.registry)[:6]:
        path = path_of(service, entry.name)
        assert set(path.nodes) <= set(whole.nodes)
        assert set(path.lines) <= set(whole.lines)


def test_conditions_without_an_index_have_a_node() -> None:
    service = service_of(
        PROGRAM
        + "CREATE QUERY odd AS SELECT s.k FROM s, r WHERE s.k = r.k AND sqrt(s.x * r.k) > 2 MAXWINDOW 1 SEC;"
    )
    nodes = LiveGraph().look(service).nodes
    assert [node.kind for node in nodes.values() if node.id.startswith("condition:")] == [
        "condition"
    ]
