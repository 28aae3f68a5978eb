"""How a run ends: by itself, by Ctrl-C or SIGTERM, because nobody reads its results, or because it failed."""

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

import cqc
from cqc.cli.interrupts import Interrupts
from cqc.cli.progress import Progress, wants_progress
from cqc.cli.running import drive, run_to_end
from cqc.cli.stop_at_once import STOPS
from cqc.runtime.errors import OutputClosed, RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.finite_run import RunSummary
from cqc.runtime.run.standing import Standing
from tests.support.waiting import PATIENCE_S

QUIET = Progress(enabled=False)


@pytest.fixture(autouse=True)
def python_hears_ctrl_c() -> Iterator[None]:
    """A Spark session that another test made in this process has left a handler of its own."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def stop(request: pytest.FixtureRequest) -> signal.Signals:
    """The two ways to ask a run to stop."""
    number: signal.Signals = request.param
    return number


@pytest.fixture(autouse=True)
def a_micro_batch_may_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that pauses, what follows Ctrl-C within a micro-batch must not count as one that does not end."""
    monkeypatch.setattr("cqc.cli.interrupts.PATIENCE_S", PATIENCE_S)


@dataclass
class FakeRun:
    """Three micro-batches, with something happening in the second."""

    happens: Callable[[], None]
    done: list[int] = field(default_factory=list)
    closed: int = 0

    def to_end(self, progress: Callable[[int], None] | None = None) -> None:
        assert progress is not None
        for batch in (1, 2, 3):
            if batch == 2:
                self.happens()
            self.done.append(batch)
            progress(batch)

    def close(self) -> RunSummary:
        self.closed += 1
        return RunSummary({}, {}, [], 1.0, 0)

    def abandon(self) -> RunSummary:
        return self.close()

    def give_up(self) -> None:
        pass


def nothing() -> None:
    pass


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def is_stopped(run: FakeRun, *, deferred: bool) -> bool:
    """Run it; whether somebody stopped it."""
    with Interrupts(deferred=deferred) as interrupts:
        drive(run, QUIET, interrupts)
    return interrupts.asked


def fail() -> None:
    raise RunError("the disk is full")


def close_output() -> None:
    raise OutputClosed


@pytest.mark.parametrize(("happens", "done"), [(nothing, [1, 2, 3]), (close_output, [1])])
def test_a_run_that_nobody_stops_is_not_stopped(
    happens: Callable[[], None], done: list[int]
) -> None:
    run = FakeRun(happens)
    assert not is_stopped(run, deferred=True)
    assert run.done == done


@pytest.mark.parametrize(("times", "done"), [(1, [1, 2]), (2, [1])])
def test_a_stop_waits_for_the_micro_batch_in_hand_and_a_second_one_does_not(
    times: int, done: list[int], stop: signal.Signals
) -> None:
    def ask() -> None:
        for _ in range(times):
            signal.raise_signal(stop)

    run = FakeRun(ask)
    assert is_stopped(run, deferred=True)
    assert run.done == done


def test_a_third_stop_ends_the_process(
    stop: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else would end a run that drops exceptions and does not come to the end of its micro-batch."""
    ended: list[int] = []
    monkeypatch.setattr(
        "cqc.cli.interrupts.end_at_once", lambda number, frame: ended.append(number)
    )
    with Interrupts(deferred=True):
        signal.raise_signal(stop)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(stop)
        assert ended == []
        signal.raise_signal(stop)
    assert ended == [stop]


def test_a_stop_is_heard_at_once_where_a_run_stops_by_itself(stop: signal.Signals) -> None:
    run = FakeRun(lambda: signal.raise_signal(stop))
    assert is_stopped(run, deferred=False)
    assert run.done == [1]


def test_a_stop_that_python_drops_in_a_finalizer_is_heard_after_the_micro_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Finalized:
        def __del__(self) -> None:
            interrupt()

    dropped: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", lambda told: dropped.append(told.exc_type))
    run = FakeRun(lambda: Finalized() and None)
    assert is_stopped(run, deferred=False)
    assert run.done == [1, 2]
    assert dropped == [KeyboardInterrupt]


def test_a_run_that_is_being_closed_is_closed_before_it_stops(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stop: signal.Signals
) -> None:
    class SlowToClose(FakeRun):
        def close(self) -> RunSummary:
            signal.raise_signal(stop)
            return super().close()

    run = SlowToClose(nothing)
    monkeypatch.setattr("cqc.cli.running.open_run", lambda *_: run)
    assert run_to_end(cqc.compile(PROGRAM), RunOptions(), quiet=False, progress=False) == 130
    assert (run.done, run.closed) == ([1, 2, 3], 1)
    assert "0 tuples in 1.00 s" in capsys.readouterr().err


def test_signals_are_as_before_when_the_run_is_over(stop: signal.Signals) -> None:
    before = [signal.getsignal(number) for number in STOPS]
    is_stopped(FakeRun(lambda: signal.raise_signal(stop)), deferred=True)
    assert [signal.getsignal(number) for number in STOPS] == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_another_handler_of_ctrl_c_is_put_back_after_the_run() -> None:
    def another(number: int, frame: object) -> None:
        raise AssertionError((number, frame))

    signal.signal(signal.SIGINT, another)
    run = FakeRun(interrupt)
    assert is_stopped(run, deferred=True)
    assert run.done == [1, 2]
    assert signal.getsignal(signal.SIGINT) is another


def test_a_micro_batch_that_does_not_end_is_interrupted_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cqc.cli.interrupts.PATIENCE_S", 0.01)

    def wait_for_input() -> None:
        interrupt()
        while (
            True
        ):  # not signal.pause: the alarm may come before it, and is then waited for in vain
            time.sleep(0.01)

    run = FakeRun(wait_for_input)
    assert is_stopped(run, deferred=True)
    assert run.done == [1]


def test_an_ignored_stop_stays_ignored(stop: signal.Signals) -> None:
    before = signal.signal(stop, signal.SIG_IGN)
    try:
        assert not is_stopped(FakeRun(lambda: signal.raise_signal(stop)), deferred=True)
        assert signal.getsignal(stop) is signal.SIG_IGN
    finally:
        signal.signal(stop, before)


PROGRAM = "CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s;"


@pytest.mark.parametrize(
    ("happens", "code", "shown"),
    [
        (nothing, 0, "0 tuples in 1.00 s"),
        (close_output, 0, "0 tuples in 1.00 s"),
        (interrupt, 130, "interrupted\n0 tuples in 1.00 s"),
    ],
)
def test_every_end_closes_the_run_and_shows_the_summary(
    happens: Callable[[], None],
    code: int,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = FakeRun(happens)
    monkeypatch.setattr("cqc.cli.running.open_run", lambda *_: run)
    assert run_to_end(cqc.compile(PROGRAM), RunOptions(), quiet=False, progress=False) == code
    assert capsys.readouterr().err.startswith(shown)
    assert run.closed == 1


def test_a_run_that_fails_is_closed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    run = FakeRun(fail)
    monkeypatch.setattr("cqc.cli.running.open_run", lambda *_: run)
    with pytest.raises(RunError, match="the disk is full"):
        run_to_end(cqc.compile(PROGRAM), RunOptions(), quiet=True, progress=False)
    assert run.closed == 1


class Terminal:
    """A standard error that is a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def test_progress_on_a_terminal_is_one_line_written_over(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    times = iter([0.0, 1.0, 1.1, 2.0])
    progress = Progress(enabled=True, clock=lambda: next(times))
    for tuples in (1000, 1500, 4000):
        progress(tuples)
    progress.end()
    assert terminal.text == (
        "\r\x1b[K1,000 rows, 1,000 rows/s\r\x1b[K4,000 rows, 2,000 rows/s\r\x1b[K"
    )


def test_progress_says_how_far_the_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    times = iter([0.0, 2.0])
    progress = Progress(enabled=True, clock=lambda: next(times))
    progress(1000, lambda: Standing(12, 0.456, "2024-01-01 08:00:00", 90.0))
    expected = "1,000 rows, 500 rows/s, 46 % of the files, watermark 2024-01-01 08:00:00, 12 results, lag 1.5 min"
    assert terminal.text == f"\r\x1b[K{expected}"


def test_the_rate_is_of_this_start_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    times = iter([0.0, 2.0])
    progress = Progress(enabled=True, clock=lambda: next(times))
    progress.begin(9_000)
    progress(10_000)
    assert terminal.text == "\r\x1b[K10,000 rows, 500 rows/s"


def test_a_log_has_the_last_figures_of_a_burst(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    times = iter([0.0, 1.0, 2.0, 5.0, 11.0, 30.0])
    progress = Progress(enabled=True, clock=lambda: next(times))
    progress(1000)
    progress(4000)
    for _ in range(3):
        progress.idle()
    shown = capsys.readouterr().err
    assert shown == "1,000 rows, 1,000 rows/s\n4,000 rows, 2,000 rows/s\n"


def test_on_a_terminal_the_lag_grows_while_nothing_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    times = iter([0.0, 2.0, 3.0, 4.0])
    progress = Progress(enabled=True, clock=lambda: next(times))
    progress(1000, lambda: Standing(1, None, None, 1.0))
    progress.idle(lambda: Standing(1, None, None, 2.0))
    progress.idle(lambda: Standing(1, None, None, 3.0))
    lines = [f"1,000 rows, 500 rows/s, 1 result, lag {lag}.0 s" for lag in (1, 3)]
    assert terminal.text == "".join(f"\r\x1b[K{line}" for line in lines)


@pytest.mark.parametrize(
    ("options", "quiet", "asked", "wanted"),
    [
        (RunOptions(), False, False, False),  # results run over the same terminal
        (RunOptions(out="results.jsonl"), False, False, True),
        (RunOptions(sink="none"), False, False, True),
        (RunOptions(sink="table"), False, False, True),
        (RunOptions(), False, True, True),
        (RunOptions(out="results.jsonl"), True, True, False),
    ],
)
def test_progress_stays_out_of_the_results(
    options: RunOptions,
    quiet: bool,
    asked: bool,
    wanted: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr("sys.stdout", Terminal())
    assert wants_progress(options, quiet=quiet, asked=asked) is wanted
