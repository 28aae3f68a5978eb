"""Every screen of the console in a real browser, as somebody uses it."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from cqc.runtime.serve.http.tokens import Tokens
from tests.integration.console.browser import Visitor, browsing, visiting
from tests.integration.console.hospital import fill, program
from tests.integration.serve.running import Running, running

pytestmark = [pytest.mark.timeout(100), pytest.mark.xdist_group("browser")]
expect.set_options(timeout=20_000)
IMAGES = Path(__file__).parents[3] / "docs" / "images"
SCREENS = {
    "#/": "Overview",
    "#/queries": "Queries",
    "#/query/sepsis": "sepsis",
    "#/query/ward_load": "ward_load",
    "#/graph?query=sepsis": "Graph",
    "#/new": "New query",
    "#/alerts": "Alerts",
    "#/sinks": "Sinks",
    "#/ask": "Ask",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running(program(240)) as found:
        fill(found, minutes=1)
        yield found


def test_the_overview_shows_what_goes_in_and_out(browser: Browser, service: Running) -> None:
    with visiting(browser, service.address) as tab:
        tab.visit()
        tab.sees("243")
        row = tab.page.get_by_role("row", name=re.compile("labs"))
        expect(row).to_contain_text("97")
        tab.sees("1 rejected:")


def test_queries_are_searched_sorted_and_paged(browser: Browser, service: Running) -> None:
    with visiting(browser, service.address) as tab:
        tab.visit("#/queries")
        tab.sees("243 queries")
        tab.page.get_by_role("button", name="name").click()
        expect(tab.page.locator("tbody tr").first).to_contain_text("after_dose_101")
        tab.page.get_by_role("button", name="Next").click()
        tab.sees("2 of 5")
        tab.page.get_by_placeholder("Search name, owner, text").fill("lactate sepsis")
        tab.sees("1 of 243")
        tab.page.get_by_role("link", name="sepsis").click()
        tab.heading("sepsis")


def test_headings_stand_over_their_figures(browser: Browser, service: Running) -> None:
    """The right ends of a heading and of the figures under it, at the width of a small screen."""
    with visiting(browser, service.address, viewport={"width": 1300, "height": 800}) as tab:
        tab.visit("#/queries")
        tab.page.locator("table.queries tbody tr").first.wait_for()
        ends = tab.page.evaluate(
            """() => {
                const end = (element) => {
                    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
                    const range = document.createRange();
                    range.selectNodeContents(walker.nextNode());
                    return range.getBoundingClientRect().right;
                };
                const cells = document.querySelectorAll("table.queries tbody tr:first-child td.number");
                const heads = document.querySelectorAll("table.queries thead th.number");
                return [...heads].map((head, at) => [head.textContent, end(head), end(cells[at])]);
            }"""
        )
        assert len(ends) == 7
        assert [title for title, head, figure in ends if abs(head - figure) > 2] == []


def test_results_and_invocations_are_told_apart(browser: Browser) -> None:
    with running() as own, visiting(browser, own.address) as tab:
        own.push("s", *({"ts": n, "k": n, "x": float(n), "name": "a"} for n in range(40)))
        for _ in range(3):
            own.invoke("total")
        tab.visit("#/query/total")
        facts = tab.page.locator("dl.stats").first
        expect(facts).to_contain_text("Results0")
        expect(facts).to_contain_text("Invoked3times")
        tab.sees("3 invoked")  # at its delivery in the graph
        tab.visit("#/queries?search=total")
        row = tab.page.get_by_role("row", name=re.compile("total"))
        expect(row.locator("td.number").nth(1)).to_have_text("0")
        expect(row.locator("td.number").nth(2)).to_have_text("3")


def test_a_query_shows_its_plan_its_path_and_live_results(browser: Browser) -> None:
    with running() as own, visiting(browser, own.address) as tab:
        own.push("s", {"ts": 1, "k": 1, "x": 20.0, "name": "first"})
        tab.visit("#/query/big")
        tab.sees("x > 10.0")
        tab.page.get_by_role("button", name=re.compile("grouped filter")).wait_for()
        rows = tab.page.get_by_role("region", name="Live results").locator("tbody tr")
        expect(rows).to_have_count(1)
        tab.page.get_by_text("live", exact=True).wait_for()
        own.push("s", {"ts": 2, "k": 77, "x": 30.0, "name": "second"})
        expect(rows).to_have_count(2)
        expect(rows.first).to_contain_text("77")
        tab.page.get_by_role("button", name="Unregister").click()
        tab.page.get_by_role("dialog").get_by_role("button", name="Unregister").click()
        tab.heading("Queries")
        assert own.names() == ["total"]


def test_a_pull_query_is_invoked_at_an_instant(browser: Browser) -> None:
    with running() as own, visiting(browser, own.address) as tab:
        own.push("s", *({"ts": n, "k": 1, "x": 1.0} for n in range(10)))
        tab.visit("#/query/total")
        tab.page.get_by_role("textbox", name="At").fill("4")
        tab.page.get_by_role("button", name="Invoke").click()
        expect(tab.page.get_by_role("region", name="Answer").locator("tbody tr")).to_contain_text(
            "5"
        )


def test_the_graph_folds_queries_and_shows_the_path_of_one(
    browser: Browser, service: Running
) -> None:
    with visiting(browser, service.address) as tab:
        tab.visit("#/graph")
        tab.sees("243 queries in")
        nodes = tab.page.locator(".node")
        assert nodes.count() < 25
        tab.page.locator(".node-filter").first.click()
        panel = tab.page.get_by_role("complementary")
        expect(panel).to_contain_text("Columns and conditions")
        panel.get_by_role("link", name="Show them all").click()
        tab.heading("Queries")
        tab.sees("of 243")
        tab.visit("#/graph?query=sepsis")
        expect(tab.page.locator(".node.on")).to_have_count(10)
        before = tab.page.locator("svg.graph-canvas > g").get_attribute("transform")
        tab.page.get_by_role("button", name="Zoom in").click()
        assert tab.page.locator("svg.graph-canvas > g").get_attribute("transform") != before


def test_a_query_is_written_checked_previewed_and_registered(browser: Browser) -> None:
    with running() as own, visiting(browser, own.address) as tab:
        own.push("s", *({"ts": n, "k": n, "x": float(n), "name": "a"} for n in range(40)))
        tab.visit("#/new")
        editor = tab.page.get_by_role("textbox", name="Text of the query")
        editor.click()
        tab.page.keyboard.type("SELECT k FROM s WHERE y > 35")
        tab.sees("s has no column y")
        for _ in range(6):
            tab.page.keyboard.press("Backspace")
        tab.page.keyboard.type("x > 35")
        tab.sees("It will share its operator with")
        tab.page.get_by_role("button", name="Preview").click()
        expect(
            tab.page.get_by_role("region", name="Latest results of the preview").locator("tbody tr")
        ).to_have_count(4)
        tab.page.get_by_label("Name").fill("mine")
        tab.page.get_by_role("button", name="Register").click()
        tab.heading("mine")
        assert "mine" in own.names()
        tab.page.get_by_role("link", name="Change").click()
        tab.page.get_by_role("button", name="Replace").click()
        tab.page.get_by_role("dialog").get_by_role("button", name="Replace").click()
        tab.heading("mine")


def test_completion_knows_the_columns(browser: Browser) -> None:
    with running() as own, visiting(browser, own.address) as tab:
        tab.visit("#/new")
        tab.page.get_by_role("textbox", name="Text of the query").click()
        tab.page.keyboard.type("SELECT na")
        tab.page.get_by_role("option", name="nameSTRING").wait_for()


def test_a_question_is_answered_as_a_table_and_as_a_chart(
    browser: Browser, service: Running
) -> None:
    with visiting(browser, service.address) as tab:
        tab.visit("#/ask")
        tab.page.get_by_role("button", name="take an example").click()
        tab.page.get_by_role("button", name="Ask", exact=True).first.click()
        tab.page.get_by_role("region", name="Answer").wait_for()
        tab.page.get_by_role("button", name="Chart").click()
        expect(tab.page.locator(".bars li")).to_have_count(16)
        tab.page.get_by_role("button", name="Ask ward_load").click()
        tab.page.get_by_role("link", name="ward_load").nth(1).wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_every_screen(browser: Browser, service: Running, scheme: str) -> None:
    with visiting(browser, service.address, color_scheme=scheme) as tab:
        for place, title in SCREENS.items():
            tab.visit(place)
            tab.heading(title)
            tab.page.wait_for_timeout(700)
            assert not tab.wrong_for_everybody(), place


def test_the_keyboard_is_enough(browser: Browser, service: Running) -> None:
    with visiting(browser, service.address) as tab:
        tab.visit()
        tab.heading("Overview")
        tab.page.keyboard.press("Tab")
        assert tab.page.evaluate("document.activeElement.textContent") == "Skip to the content"
        tab.page.keyboard.press("Enter")
        assert tab.page.evaluate("document.activeElement.id") == "main"
        tab.page.get_by_role("link", name="Graph").focus()
        tab.page.keyboard.press("Enter")
        tab.heading("Graph")
        tab.page.locator(".node").first.wait_for()
        for _ in range(30):
            tab.page.keyboard.press("Tab")
            if tab.page.evaluate("document.activeElement.classList.contains('node')"):
                break
        tab.page.keyboard.press("Enter")
        tab.page.get_by_role("complementary").wait_for()


def test_a_narrow_page_does_not_scroll_sideways(browser: Browser, service: Running) -> None:
    with visiting(browser, service.address, viewport={"width": 400, "height": 800}) as tab:
        for place, title in SCREENS.items():
            tab.visit(place)
            tab.heading(title)
            tab.page.wait_for_timeout(400)
            assert tab.page.evaluate("document.documentElement.scrollWidth") <= 400, place


def test_a_token_is_asked_for_and_a_wrong_one_is_not_taken(browser: Browser) -> None:
    with running(tokens=Tokens("right")) as own, visiting(browser, own.address) as tab:
        tab.visit("#/queries")
        tab.page.get_by_label("Token").fill("wrong")
        tab.page.get_by_role("button", name="Continue").click()
        tab.sees("This token is not accepted.")
        assert not tab.wrong_for_everybody()
        tab.page.get_by_label("Token").fill("right")
        tab.page.keyboard.press("Enter")
        tab.sees("2 queries")
        tab.page.reload()
        tab.sees("2 queries")  # the tab remembers it
        tab.page.get_by_role("button", name="Sign out").click()
        tab.page.get_by_label("Token").wait_for()


def test_a_reader_is_not_offered_what_it_may_not_do(browser: Browser) -> None:
    with (
        running(tokens=Tokens("right", {}, "looking")) as own,
        visiting(browser, own.address) as tab,
    ):
        tab.visit()
        tab.page.get_by_label("Token").fill("looking")
        tab.page.keyboard.press("Enter")
        tab.heading("Overview")
        tab.page.goto(f"{own.address}/#/query/big")
        tab.sees("x > 10.0")
        assert tab.page.get_by_role("button", name="Unregister").count() == 0
        tab.page.goto(f"{own.address}/#/new")
        tab.page.get_by_role("button", name="Preview").wait_for()
        assert tab.page.get_by_role("button", name="Register").count() == 0


HOSTILE = (
    '<img src=x onerror="window.broken=1">',
    "\"'`--;</script><script>window.broken=1</script>",
    "\u202eright to left\u202c اسم",
    "n" * 10_000,
    "a/b?c#d%20 e",
)


def test_hostile_names_and_values_are_only_text(browser: Browser) -> None:
    quoted = [name.replace('"', '""') for name in HOSTILE]
    text = "CREATE STREAM s (ts BIGINT, k BIGINT, name STRING);" + "".join(
        f'CREATE QUERY "{name}" AS SELECT name FROM s WHERE k > {n};'
        for n, name in enumerate(quoted)
    )
    with running(text) as own, visiting(browser, own.address) as tab:
        own.push("s", {"ts": 1, "k": 50, "name": HOSTILE[0]})
        tab.visit("#/queries")
        tab.sees("5 queries")
        expect(tab.page.locator("tbody tr")).to_have_count(5)
        for name in HOSTILE:
            tab.visit(f"#/query/{quote(name, safe='')}")
            tab.page.get_by_role("region", name="Live results").wait_for()
            assert tab.page.locator("h1 bdi").text_content() in (name, f"{name[:120]}…")
            assert tab.page.evaluate("document.documentElement.scrollWidth") <= 1280
        tab.visit("#/graph")
        tab.page.locator(".node").first.wait_for()
        assert tab.page.evaluate("window.broken") is None
        assert tab.page.locator("main img").count() == 0


def test_a_lost_connection_is_told_and_found_again(browser: Browser) -> None:
    with running() as own, visiting(browser, own.address) as tab:
        own.push("s", {"ts": 1, "k": 1, "x": 20.0, "name": "first"})
        tab.visit("#/query/big")
        rows = tab.page.get_by_role("region", name="Live results").locator("tbody tr")
        expect(rows).to_have_count(1)
        tab.page.get_by_text("live", exact=True).wait_for()
        tab.page.context.set_offline(True)
        tab.sees("The connection to the service is lost.")
        own.push("s", {"ts": 2, "k": 2, "x": 30.0, "name": "meanwhile"})
        tab.page.context.set_offline(False)
        expect(tab.page.get_by_text("The connection to the service is lost.")).to_have_count(0)
        own.push("s", {"ts": 3, "k": 3, "x": 30.0, "name": "after"})
        expect(rows).to_have_count(3)  # nothing is missing, nothing twice


def test_a_service_that_starts_again_is_found_by_the_page(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    with running(checkpoint=folder) as own:
        port = int(own.address.rpartition(":")[2])
        own.push("s", {"ts": 1, "k": 1, "x": 20.0, "name": "first"})
        context = browser.new_context()
        tab = Visitor(context.new_page(), own.address)
        tab.visit("#/query/big")
        rows = tab.page.get_by_role("region", name="Live results").locator("tbody tr")
        expect(rows).to_have_count(1)
        tab.page.get_by_text("live", exact=True).wait_for()
    tab.sees("The connection to the service is lost.")
    with running(checkpoint=folder, port=port) as own:
        own.push("s", {"ts": 2, "k": 2, "x": 30.0, "name": "second"})
        expect(rows).to_have_count(2)
        expect(tab.page.get_by_text("The connection to the service is lost.")).to_have_count(0)
        assert not tab.troubles
        context.close()


def test_two_tabs_see_the_same(browser: Browser) -> None:
    with (
        running() as own,
        visiting(browser, own.address) as one,
        visiting(browser, own.address) as two,
    ):
        one.visit("#/queries")
        two.visit("#/queries")
        one.sees("2 queries")
        two.sees("2 queries")
        own.register("SELECT k FROM s", name="third")
        one.sees("3 queries")
        two.sees("3 queries")


def test_pictures_of_the_screens_are_taken(
    browser: Browser, service: Running, request: pytest.FixtureRequest
) -> None:
    """With `--update` they are written to `docs/images`; else it is only seen that they can be."""
    shots = {
        "console-overview": ("#/", "light"), "console-queries": ("#/queries", "light"),
        "console-query": ("#/query/sepsis", "dark"), "console-graph": ("#/graph?query=sepsis", "light"),
        "console-new": ("#/new", "dark"), "console-ask": ("#/ask", "light"),
    }  # fmt: skip
    update = request.config.getoption("--update")
    for name, (place, scheme) in shots.items():
        with visiting(
            browser, service.address, color_scheme=scheme, viewport={"width": 1280, "height": 760}
        ) as tab:
            tab.visit(place)
            tab.heading(SCREENS[place])
            if place in ("#/new", "#/ask"):
                tab.page.get_by_role("button", name="take an example").click()
                main = "Preview" if place == "#/new" else "Ask"
                button = tab.page.get_by_role("button", name=main, exact=True).first
                expect(button).to_be_enabled()
                button.click()
                tab.page.wait_for_timeout(800)
            tab.page.wait_for_timeout(6_000 if update else 200)
            picture = tab.page.screenshot()
            assert len(picture) > 10_000
            if update:
                IMAGES.mkdir(exist_ok=True)
                (IMAGES / f"{name}.png").write_bytes(picture)
