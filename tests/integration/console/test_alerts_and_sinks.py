"""The screens Alerts and Sinks in a real browser: what fires, what was told, what waits for receivers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.integration.console.browser import browsing, visiting
from tests.integration.serve.running import Running, running

pytestmark = [pytest.mark.timeout(100), pytest.mark.xdist_group("browser")]
expect.set_options(timeout=20_000)
NOBODY = "http://127.0.0.1:9/"  # a port that nothing listens on


def program(folder: Path) -> str:
    """An alert with keys, one with a hostile name, and sinks that work and that do not."""
    archive = json.dumps(str(folder / "archive.jsonl")).replace('"', "'")
    return f"""
    CREATE STREAM s (ts BIGINT, k STRING, x BIGINT);
    CREATE SINK archive WITH (type = 'file', path = {archive});
    CREATE SINK nowhere WITH (type = 'webhook', url = '{NOBODY}');
    CREATE ALERT hot SEVERITY 'critical' INTO archive AS SELECT k, x FROM s WHERE x > 10 PER k NO DATA AFTER 1 HOUR;
    CREATE ALERT slow SEVERITY 'warning' AS SELECT k, x FROM s WHERE x > 10 PER k FOR 1 HOUR NO DATA AFTER 2 HOURS;
    CREATE ALERT "<img src=x onerror=alert(1)>" INTO nowhere AS SELECT x FROM s WHERE x > 90 NO DATA AFTER 1 HOUR;
    """


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(program(tmp_path), checkpoint=tmp_path / "checkpoint") as found:
        found.push("s", {"ts": 1, "k": "attic", "x": 20}, {"ts": 2, "k": None, "x": 30})
        found.push("s", {"ts": 3, "k": "attic", "x": 5}, {"ts": 4, "k": "cellar", "x": 95})
        yield found


def test_keys_are_shown_by_state_with_since_and_count(browser: Browser, service: Running) -> None:
    with visiting(browser, service.address) as tab:
        tab.visit("#/alerts")
        keys = tab.page.get_by_role("region", name="Keys that are pending or firing")
        row = keys.get_by_role("row", name=re.compile("hot.*k = cellar"))
        expect(row).to_contain_text("firing")
        expect(row).to_contain_text("critical")
        expect(keys.get_by_role("row", name=re.compile("hot.*k = NULL"))).to_have_count(1)
        expect(keys.get_by_role("row", name=re.compile("hot.*attic"))).to_have_count(0)
        expect(keys.get_by_role("row", name=re.compile("pending.*slow.*cellar"))).to_have_count(1)
        service.push("s", {"ts": 5, "k": "cellar", "x": 1})
        expect(row).to_have_count(0)
        assert not tab.wrong_for_everybody()


def test_an_alert_has_a_history(browser: Browser, service: Running) -> None:
    with visiting(browser, service.address) as tab:
        tab.visit("#/alerts")
        tab.page.get_by_role("link", name="History of hot").click()
        history = tab.page.get_by_role("region", name="History").locator("tbody tr")
        expect(history).to_have_count(4)
        expect(history.first).to_contain_text("cellar")
        expect(history.nth(1)).to_contain_text("resolved")
        tab.page.get_by_role("button", name="Show all alerts").click()
        expect(history).to_have_count(0)


def test_an_alert_with_a_hostile_name_is_only_a_name(browser: Browser, service: Running) -> None:
    with visiting(browser, service.address) as tab:
        tab.visit("#/alerts")
        tab.sees("<img src=x onerror=alert(1)>")
        assert tab.page.locator("main img").count() == 0


def test_sinks_show_what_was_sent_and_what_waits(browser: Browser, service: Running) -> None:
    with visiting(browser, service.address) as tab:
        tab.visit("#/sinks")
        row = tab.page.get_by_role("row", name=re.compile("^archive"))
        expect(row.locator("td").nth(3)).to_have_text("4")
        expect(row).to_contain_text("working")
        lost = tab.page.get_by_role("row", name=re.compile("^nowhere"))
        expect(lost).to_contain_text("failing")
        expect(lost.locator("td").nth(4)).to_contain_text("1")
        assert not tab.wrong_for_everybody()


def test_a_sink_is_tested_from_the_page(browser: Browser, service: Running) -> None:
    with visiting(browser, service.address) as tab:
        tab.visit("#/sinks")
        tab.page.get_by_role("button", name="Test archive").click()
        tab.sees("The receiver took the test result")
        tab.page.get_by_role("button", name="Test nowhere").click()
        tab.sees("The test failed")


def test_a_service_without_alerts_and_sinks_says_so(browser: Browser) -> None:
    with running() as own, visiting(browser, own.address) as tab:
        tab.visit("#/alerts")
        tab.sees("No alerts")
        tab.visit("#/sinks")
        tab.sees("No sinks")


def test_the_overview_has_alerts_by_severity_and_what_waits_for_sinks(
    browser: Browser, service: Running
) -> None:
    with visiting(browser, service.address) as tab:
        tab.visit("#/")
        alerts = tab.page.get_by_role("region", name="Alerts by severity")
        expect(alerts.get_by_role("row", name=re.compile("critical 2 0 1"))).to_have_count(1)
        expect(alerts.get_by_role("row", name=re.compile("warning 0 2 1"))).to_have_count(1)
        expect(alerts.get_by_role("row", name=re.compile("no severity 1 0 1"))).to_have_count(1)
        sinks = tab.page.get_by_role("region", name="Sinks with what waits for them")
        expect(sinks.get_by_role("row", name=re.compile("nowhere failing 1 "))).to_have_count(1)
        expect(sinks.get_by_role("row", name=re.compile("archive 0 "))).to_have_count(1)
        assert not tab.wrong_for_everybody()
