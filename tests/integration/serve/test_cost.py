"""Each query is shown with what it has cost by itself, and with what is kept for it."""

from __future__ import annotations

from tests.integration.serve.running import running

HEAVY = (
    "SELECT a.x AS x FROM s a, s b, s c WHERE a.x < b.x AND b.x + a.x * c.x < 0 MAXWINDOW 1 HOUR"
)


def test_a_query_that_works_much_costs_more_than_its_neighbours() -> None:
    with running() as service:
        service.register(HEAVY, name="heavy")
        service.register(
            "SELECT a.x AS x FROM s a, s b WHERE a.k = b.k AND a.x < 0 MAXWINDOW 1 SEC",
            name="light",
        )
        rows = [{"ts": at, "k": at, "x": 1.0 + at} for at in range(330)]

        def costs() -> dict[str, float]:
            found = service.client.get("/queries").json()["queries"]
            return {each["name"]: each["cost_seconds"] for each in found}

        service.push(
            "s", *rows[:30]
        )  # kernels are loaded with the first rows, for whoever is first
        before = costs()
        service.push("s", *rows[30:])
        after = costs()
        cost = {name: after[name] - before[name] for name in after}
        assert cost["heavy"] > 10 * cost["light"]
        assert cost["heavy"] > 10 * cost["big"]
        assert after["big"] > after["total"]  # it has results, and the other was not asked
        assert len(set(after.values())) == len(after)


def test_what_is_kept_for_a_query_is_told_and_goes_with_the_tuples() -> None:
    program = """
    CREATE STREAM s (ts BIGINT, k BIGINT, name STRING);
    SET RETENTION = 10 SEC;
    CREATE QUERY pairs AS SELECT COUNT(*) AS n FROM s a, s b WHERE a.k = b.k BEGIN NOW - 9 SEC END NOW;
    """
    with running(program) as service:

        def kept() -> tuple[int, int]:
            lines = service.client.get("/metrics").text.splitlines()
            size = next(line for line in lines if line.startswith('cqc_state_bytes{stream="s"}'))
            return int(size.split()[-1]), service.client.get("/queries/pairs").json()["kept_bytes"]

        before = kept()
        for at in range(10):
            service.push("s", *({"ts": at, "k": k % 500, "name": "a" * 50} for k in range(2_000)))
            service.invoke("pairs")
        full = kept()
        assert full[0] > 10 * before[0]
        assert full[1] > 10 * before[1]
        service.push("s", {"ts": 1_000, "k": 1, "name": "b"})
        service.invoke("pairs")
        service.push("s", {"ts": 1_001, "k": 1, "name": "b"})
        service.invoke("pairs")
        after = kept()
        assert after[0] < full[0] / 4
        assert after[1] < full[1] / 4
