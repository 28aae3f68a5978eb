"""An engine used from several threads answers as one that is used from one, and as the oracle does."""

from __future__ import annotations

import gc
import multiprocessing
import random
import threading
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from cqc.compiler.parse.collector import COLLECTOR
from cqc.runtime.engine.turns import Turns
from tests.integration.threads.workers import dealt, together
from tests.support.oracle.answers import difference
from tests.support.oracle.brute_force import Data, push_answer
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PROGRAM = """
CREATE STREAM a (ts BIGINT, k BIGINT, x DOUBLE, WATERMARK FOR ts AS ts - INTERVAL '1000' SECOND);
CREATE STREAM b (ts BIGINT, k BIGINT, y DOUBLE, WATERMARK FOR ts AS ts - INTERVAL '1000' SECOND);
CREATE STREAM c (ts BIGINT, k BIGINT, name STRING, WATERMARK FOR ts AS ts - INTERVAL '1000' SECOND);
CREATE QUERY filtered AS SELECT k, x FROM a WHERE x > 0.5;
CREATE QUERY pairs AS SELECT a.k, x, y FROM a, b WHERE a.k = b.k AND x < y MAXWINDOW 50 SEC;
CREATE QUERY triples AS SELECT a.k, x, y, name FROM a, b, c WHERE a.k = b.k AND b.k = c.k MAXWINDOW 40 SEC;
CREATE QUERY near AS SELECT x, y FROM a, b WHERE x < y - 0.9 WINDOW b.ts > a.ts MAXWINDOW 20 SEC;
CREATE QUERY counted AS SELECT COUNT(*) AS n FROM a BEGIN 0 END NOW;
CREATE QUERY listed AS SELECT k, x FROM a BEGIN 0 END NOW;
"""
PUSH_QUERIES = ("filtered", "pairs", "triples", "near")


def random_rows(count: int, seed: int = 0) -> list[tuple[str, tuple[Any, ...]]]:
    rng = random.Random(seed)
    makers: dict[str, Callable[[], Any]] = {
        "a": rng.random,
        "b": rng.random,
        "c": lambda: rng.choice(["one", "two"]),
    }
    return [
        (name, (rng.randrange(100), rng.randrange(count // 4), makers[name]()))
        for name in rng.choices("abc", k=count)
    ]


COLUMNS = {"a": ("ts", "k", "x"), "b": ("ts", "k", "y"), "c": ("ts", "k", "name")}


def push_all(
    engine: cqc.Engine, rows: Iterable[tuple[str, tuple[Any, ...]]], size: int = 3
) -> None:
    """Push rows in their order, a few of one stream at a time."""
    waiting: dict[str, list[dict[str, Any]]] = {"a": [], "b": [], "c": []}
    for name, row in rows:
        waiting[name].append(dict(zip(COLUMNS[name], row, strict=True)))
        if len(waiting[name]) == size:
            engine.push(name, waiting[name])
            waiting[name] = []
    for name, rest in waiting.items():
        if rest:
            engine.push(name, rest)


def drained(engine: cqc.Engine) -> Counter[tuple[Any, ...]]:
    return Counter((each.query, each.ts, *each.row.values()) for each in engine.drain())


def served_serially(program: cqc.Program, rows: Any) -> Counter[tuple[Any, ...]]:
    engine = cqc.Engine(program)
    push_all(engine, rows)
    return drained(engine)


def test_four_threads_push_and_the_answers_are_those_of_the_oracle() -> None:
    program = cqc.compile(PROGRAM)
    rows = random_rows(100)
    engine = cqc.Engine(program)
    together(*(partial(push_all, engine, hand) for hand in dealt(rows, 4)))
    streams: dict[str, list[Any]] = {"a": [], "b": [], "c": []}
    for name, row in rows:
        streams[name].append((row, len(streams[name])))
    data = Data(streams)
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in PUSH_QUERIES}
    for each in engine.drain():
        found[each.query].append((each.ts, *each.row.values()))
    for name in PUSH_QUERIES:
        answer = push_answer(program.queries[name], data.streams, data.tables)
        expected = [(us // 1_000_000, *row) for us, row in answer]
        wrong = difference(expected, found[name])
        assert wrong is None, f"{name}: {wrong}"
    assert {name: count.read for name, count in engine.stream_counts().items()} == {
        name: len(given) for name, given in streams.items()
    }


@pytest.mark.parametrize("sharing", [True, False])
def test_results_drained_while_others_push_are_neither_lost_nor_given_twice(sharing: bool) -> None:
    program = cqc.compile(PROGRAM)
    rows = random_rows(1500, seed=1)
    engine = cqc.Engine(program, sharing=sharing)
    done = threading.Event()

    def push(hand: Any) -> None:
        push_all(engine, hand, size=20)

    def drain_some() -> Counter[tuple[Any, ...]]:
        """Take three results at a time: the rest of a micro-batch is for whoever comes next."""
        found: Counter[tuple[Any, ...]] = Counter()
        while not done.is_set():
            for number, each in enumerate(engine.drain()):
                found[(each.query, each.ts, *each.row.values())] += 1
                if number == 2:
                    break
        return found

    def push_and_tell() -> None:
        try:
            together(*(partial(push, hand) for hand in dealt(rows, 3)))
        finally:
            done.set()

    _, some, others = together(push_and_tell, drain_some, drain_some)
    assert some + others + drained(engine) == served_serially(program, rows)


def test_queries_come_and_go_and_are_asked_while_others_push() -> None:
    program = cqc.compile(PROGRAM)
    rows = random_rows(1200, seed=2)
    engine = cqc.Engine(program)

    def come_and_go(number: int) -> None:
        for turn in range(15):
            name = f"extra_{number}_{turn}"
            handle = engine.register(f"SELECT k FROM a WHERE k > {number}", name)
            listed = engine.register("SELECT x FROM a BEGIN 0 END NOW", f"asked_{number}_{turn}")
            before = engine.invoke(listed).num_rows
            assert engine.invoke(listed).num_rows >= before
            assert engine.invoke("counted").column("n")[0].as_py() >= before
            assert handle.name in engine.queries
            engine.unregister(handle)
            engine.unregister(listed)
            engine.measure()
            assert engine.warnings == ()
            engine.result_counts()

    pushers = [partial(push_all, engine, hand, 10) for hand in dealt(rows, 3)]
    together(*pushers, *(partial(come_and_go, number) for number in range(2)))
    expected = served_serially(program, rows)
    found = drained(engine)
    assert Counter({row: n for row, n in found.items() if row[0] in PUSH_QUERIES}) == expected
    assert engine.invoke("counted").column("n")[0].as_py() == sum(name == "a" for name, _ in rows)
    assert set(engine.queries) == {*PUSH_QUERIES, "counted", "listed"}


def test_an_answer_that_was_given_does_not_change_while_others_push() -> None:
    program = cqc.compile(PROGRAM)
    rows = [each for each in random_rows(3000, seed=3) if each[0] == "a"]
    engine = cqc.Engine(program)
    push_all(engine, rows[:300], size=100)
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            answer = engine.invoke("listed")
            assert answer.to_pylist() == answer.to_pylist()
            assert answer.num_rows >= 300

    def push() -> None:
        try:
            push_all(engine, rows[300:], size=5)
        finally:
            done.set()

    together(push, ask, ask)
    assert engine.invoke("listed").num_rows == len(rows)


def test_two_engines_of_one_program_work_side_by_side() -> None:
    program = cqc.compile(PROGRAM)
    rows = [random_rows(900, seed=seed) for seed in (4, 5)]
    engines = [cqc.Engine(program), cqc.Engine(program)]
    asked = "SELECT k, y FROM b WHERE y < 0.25"

    def serve(engine: cqc.Engine, given: Any) -> Counter[tuple[Any, ...]]:
        engine.register(asked, "registered_on_both")
        push_all(engine, given, size=10)
        return drained(engine)

    found = together(*(partial(serve, *each) for each in zip(engines, rows, strict=True)))
    for answer, given in zip(found, rows, strict=True):
        assert answer == serve(cqc.Engine(program), given)


def test_programs_are_compiled_in_several_threads() -> None:
    """Twice as many shapes as threads, none of which was parsed before."""

    def compile_some(number: int) -> list[str]:
        texts = []
        for turn in range(12):
            columns = ", ".join(f"x{number}_{turn} + {at} AS c{at}" for at in range(turn + 2))
            program = cqc.compile(
                f"CREATE STREAM s (ts BIGINT, x{number}_{turn} DOUBLE); SELECT {columns} FROM s;"
            )
            texts.append(program.graph.to_json())
            assert [output.name for output in program.queries["q1"].outputs][-1] == f"c{turn + 1}"
        return texts

    found = together(*(partial(compile_some, number) for number in range(4)))
    assert found == [compile_some(number) for number in range(4)]
    assert gc.isenabled()


def test_the_garbage_collector_stays_on_however_threads_that_compile_overlap() -> None:
    """One thread looks whether it is on while another has it off: neither may leave it off."""
    inside, outside = threading.Event(), threading.Event()

    def first() -> None:
        with COLLECTOR.is_still():
            inside.set()
            outside.wait(PATIENCE_S)
            assert not gc.isenabled()

    def second() -> None:
        inside.wait(PATIENCE_S)
        with COLLECTOR.is_still():
            assert not gc.isenabled()
        assert not gc.isenabled()  # the first still parses
        outside.set()

    together(first, second)
    assert gc.isenabled()


def test_functions_are_registered_while_others_compile() -> None:
    stop = threading.Event()

    def register() -> None:
        try:
            for number in range(300):
                cqc.function(f"threads_f{number}", lambda x: x)
        finally:
            stop.set()

    def misspell() -> None:
        while not stop.is_set():  # looking for what was meant walks over all that are registered
            with pytest.raises(cqc.CompileError, match="threads_g"):
                cqc.compile("CREATE STREAM s (ts BIGINT); SELECT threads_g(ts) AS x FROM s;")

    together(register, misspell)


def test_a_closed_engine_refuses_what_comes_and_gives_what_it_found() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    rows = random_rows(400, seed=6)
    pushed: Counter[str] = Counter()
    refused: list[str] = []

    def push() -> None:
        for name, row in rows * 100:
            try:
                engine.push(name, [dict(zip(COLUMNS[name], row, strict=True))])
            except cqc.RunError as error:
                refused.append(str(error))
                return
            pushed[name] += 1

    def leave() -> None:
        with engine:
            pass

    together(push, leave)
    assert refused == ["the engine is closed: engine.push is not possible any more"]
    assert sum(count.read for count in engine.stream_counts().values()) == sum(pushed.values())
    assert sum(drained(engine).values()) == sum(engine.result_counts().values())
    engine.close()
    for call in (
        lambda: engine.register("SELECT k FROM a"),
        lambda: engine.invoke("counted"),
        lambda: engine.unregister("counted"),
        engine.finish,
    ):
        with pytest.raises(
            cqc.RunError, match=r"the engine is closed: engine\.\w+ is not possible"
        ):
            call()


def test_whoever_waits_is_served_in_turn() -> None:
    """A thread that pushes in a tight loop cannot keep out one that drains."""
    engine = cqc.Engine(cqc.compile(PROGRAM))
    had = threading.Event()
    turns = 0

    def push() -> None:
        nonlocal turns
        while not had.is_set():
            engine.push("a", [{"ts": 1, "k": 1, "x": 0.1}])
            turns += 1
            assert turns < 1_000_000

    def look() -> None:
        try:
            for _ in range(50):
                engine.stream_counts()
        finally:
            had.set()

    together(push, look)


def test_who_gives_up_waiting_is_passed_over() -> None:
    """Ctrl-C in a thread that waits for its turn: before the turn is its own, and after."""
    turns = Turns()
    turns.begin("push")
    gate = threading.Lock()
    turns._waiting.append(gate)
    turns._give_up(gate)
    gate.acquire()
    turns._waiting.append(gate)
    turns.end()
    turns._give_up(gate)
    together(turns.close)


no_warning_of_forks = pytest.mark.filterwarnings(
    "ignore:.*multi-threaded.*fork:DeprecationWarning"  # from Python 3.12 on
)


def _child(engine: cqc.Engine, connection: Any) -> None:
    try:
        engine.push("a", [{"ts": 1, "k": 1, "x": 0.9}])
        connection.send(sorted(drained(engine)))
    except cqc.RunError as error:
        connection.send(str(error))


def in_a_fork(engine: cqc.Engine) -> Any:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_child, args=(engine, theirs))
    process.start()
    try:
        assert ours.poll(PATIENCE_S), "the forked process waits for ever"
        return ours.recv()
    finally:
        process.kill()
        process.join()


@no_warning_of_forks
def test_a_fork_has_an_engine_of_its_own() -> None:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    assert in_a_fork(engine) == [("filtered", 1, 1, 0.9)]
    assert drained(engine) == Counter()


@no_warning_of_forks
def test_a_fork_in_the_middle_of_a_call_gets_an_error_and_does_not_wait_for_ever() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def wait(values: Any) -> Any:
        inside.set()
        go_on.wait(PATIENCE_S)
        return values

    cqc.function("wait_for_the_fork", wait)
    text = "SELECT wait_for_the_fork(x) AS x FROM a"
    engine = cqc.Engine(cqc.compile(PROGRAM))
    engine.register(text, "waits")

    def fork() -> Any:
        inside.wait(PATIENCE_S)
        try:
            return in_a_fork(engine)
        finally:
            go_on.set()

    _, told = together(partial(engine.push, "a", [{"ts": 1, "k": 1, "x": 0.1}]), fork)
    assert told == (
        "this process was forked while another thread was at work in the engine: make the engine after the fork"
    )
    assert drained(engine) == Counter([("waits", 1, 0.1)])
