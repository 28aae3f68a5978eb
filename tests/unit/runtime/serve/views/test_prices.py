"""What a query costs when it is alone."""

import pytest

from cqc.runtime.serve.views import prices as module
from cqc.runtime.serve.views.prices import Prices
from tests.unit.runtime.serve.views.services import push, rows_of, service_of


def test_each_operator_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SECONDS", 60.0)  # kernels may have to be compiled
    service = service_of()
    push(service, "s", *rows_of(200))
    push(service, "r", *({"ts": n, "k": n} for n in range(200)))
    prices = Prices()
    measured = []
    while (trial := prices.next_trial(service)) is not None:
        measured.append(trial.operator)
        prices.measure(trial)
    assert sorted(measured) == ["filter:r", "filter:s", "join:0"]
    for operator in measured:
        price = prices.of(operator)
        assert price is not None
        assert price.tuple > 0
        assert price.batch >= 0


def test_the_query_with_the_fewest_results_stands_for_the_others() -> None:
    service = service_of()
    push(service, "s", *rows_of(200))
    trial = Prices().next_trial(service)
    assert trial is not None
    assert "x < 0" in trial.text


def test_without_rows_there_is_no_price() -> None:
    prices = Prices()
    assert prices.next_trial(service_of()) is None
    assert prices.of("filter:s") is None
