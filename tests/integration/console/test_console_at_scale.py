"""The console where there is very much to show, and where it is not at the top of its server."""

import io
import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from playwright.sync_api import Browser, expect

from tests.integration.console.behind_a_prefix import behind
from tests.integration.console.browser import browsing, visiting
from tests.integration.serve.running import Running, running

pytestmark = [pytest.mark.timeout(180), pytest.mark.xdist_group("browser")]
RESULTS = 1_000_000
AT_ONCE = 50_000
ARROW = {"content-type": "application/vnd.apache.arrow.stream"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


def push_many(service: Running, first: int, count: int) -> None:
    numbers = np.arange(first, first + count)
    table = pa.table({"ts": numbers, "k": numbers, "x": numbers.astype(float) + 11})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    answer = service.client.post("/streams/s", content=sink.getvalue(), headers=ARROW)
    assert answer.status_code == 200, answer.text


def test_a_million_results_are_sampled_and_the_page_stays_usable(browser: Browser) -> None:
    with running() as own, visiting(browser, own.address) as tab:
        push_many(own, 0, 1)
        tab.visit("#/query/big")
        live = tab.page.get_by_role("region", name="Live results")
        live.wait_for()
        tab.page.get_by_text("live", exact=True).wait_for()
        for first in range(1, RESULTS, AT_ONCE):
            push_many(own, first, min(AT_ONCE, RESULTS - first))
            # A frozen page would not answer; a page that keeps every row would fill up.
            assert tab.page.locator("tbody tr").count() < 2_000
        tab.page.get_by_role("link", name="Queries").first.click()
        tab.heading("Queries")
        row = tab.page.get_by_role("row", name=re.compile("big"))
        expect(row).to_contain_text(re.compile(r"1,000,000|1\.0+ ?M|1M"))
        push_many(own, RESULTS, 1)
        tab.visit("#/query/big")
        expect(live.locator("tbody tr").first).to_contain_text(str(RESULTS))


def test_the_console_works_below_a_path_prefix(browser: Browser) -> None:
    with running() as own, behind(own.address, "/tools/cqc") as proxy:
        address = f"{proxy}/tools/cqc"
        with visiting(browser, address) as tab:
            own.push("s", {"ts": 1, "k": 1, "x": 20.0, "name": "first"})
            tab.visit()
            tab.heading("Overview")
            tab.page.get_by_role("link", name="Queries").first.click()
            tab.sees("2 queries")
            tab.page.get_by_role("link", name="big").click()
            rows = tab.page.get_by_role("region", name="Live results").locator("tbody tr")
            expect(rows).to_have_count(1)
            tab.page.get_by_text("live", exact=True).wait_for()
            own.push("s", {"ts": 2, "k": 2, "x": 30.0, "name": "second"})
            expect(rows).to_have_count(2)
            tab.visit("#/graph")
            tab.page.locator(".node").first.wait_for()
