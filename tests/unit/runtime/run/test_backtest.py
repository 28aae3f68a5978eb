from pathlib import Path

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.run.backtest import Backtest, QueryHistory, compare, run_backtest

TEXT = "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = '{path}'); CREATE QUERY q AS SELECT x FROM s WHERE x > {most};"


def histories(folder: Path, most: int, samples: int = 10) -> list[QueryHistory]:
    data = folder / "s.csv"
    data.write_text("ts,x\n" + "".join(f"{at},{at % 7}\n" for at in range(0, 200_000, 1000)))
    program = cqc.compile(TEXT.format(path=data, most=most))
    backtest = Backtest(program, RunOptions(rows_per_batch=7), samples=samples, keeps_lines=True)
    run_backtest(backtest)
    return backtest.histories


def test_days_of_numbers_are_counted_from_zero(tmp_path: Path) -> None:
    (history,) = histories(tmp_path, 5, samples=3)
    times = [at for at in range(0, 200_000, 1000) if at % 7 > 5]
    assert history.results == len(times)
    assert history.days == {str(day): sum(at // 86400 == day for at in times) for day in range(3)}
    assert (history.first, history.last) == (times[0], times[-1])
    assert [sample["ts"] for sample in history.samples] == times[:3]


def test_two_sets_are_compared_as_multisets(tmp_path: Path) -> None:
    before, after = histories(tmp_path, 4), histories(tmp_path, 5)
    (difference,) = compare(before, after, samples=2)
    assert difference.added_count == 0
    assert difference.lost_count == before[0].results - after[0].results
    assert [row["row"] for row in difference.lost] == [{"x": 5}, {"x": 5}]
    assert not compare(before, histories(tmp_path, 4))
