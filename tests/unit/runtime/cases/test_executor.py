import cqc
from cqc.runtime.cases.executor import EngineExecutor

PROGRAM = """
CREATE STREAM s (ts BIGINT, k BIGINT); CREATE TABLE t (k BIGINT, name STRING);
CREATE QUERY named AS SELECT t.name FROM s, t WHERE s.k = t.k;
CREATE QUERY many AS SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW;
"""


def test_steps_are_taken_one_by_one() -> None:
    for seed in range(4):  # another size of micro-batches each
        executor = EngineExecutor(cqc.compile(PROGRAM), seed=seed)
        executor.push([("t", (1, "one")), ("s", (1, 1)), ("s", (2, 2))])
        assert executor.invoke("many", None) == [(2,)]
        assert executor.invoke("many", 1_000_000) == [(1,)]
        executor.register("CREATE QUERY later AS SELECT k FROM s")
        executor.push([("s", (3, 1))])
        found = executor.results()
        assert found["named"] == [(1_000_000, ("one",)), (3_000_000, ("one",))]
        assert found["later"] == [(3_000_000, (1,))]
