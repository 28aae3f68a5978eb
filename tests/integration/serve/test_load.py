"""The load run of `cqc bench serve`: in its short form here, in full with the slow tests."""

import pytest

from cqc.benchmarks.engine.serve.run import FULL, Load, measure


def check(load: Load) -> None:
    report = measure(load)
    assert not report.outcome.wrong, report.text()
    assert report.rows_counted == report.rows > 0
    assert report.outcome.checked > 0
    assert all(report.outcome.seconds.values()), "every kind of request was made"


def test_no_request_fails_and_no_row_is_lost_under_load() -> None:
    check(Load(queries=200, clients=8, seconds=1.0))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_ten_thousand_queries_and_fifty_clients() -> None:
    check(FULL)
