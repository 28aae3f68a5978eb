"""The console with a hundred thousand queries in a real browser: `cqc bench console`.

A service has 100,000 filters over one stream, and a client pushes rows all the time. Chromium opens the list of queries, sorts, searches
and turns pages, looks at the graph, and follows a query with a thousand results a second. Measured are, for each screen, the time from
the address to the first figures on the page (the *first paint* that means something), and the longest task of the page's thread, during
which it would not have answered a key.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqc.runtime.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterator

FULL, QUICK = 100_000, 2_000
PAINT_S, PAUSE_S = 2.0, 0.2  # what is promised
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE_MS = 120_000
_WATCH = """
window.longest = 0;
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) window.longest = Math.max(window.longest, each.duration);
}).observe({type: "longtask", buffered: true});
"""


@dataclass(frozen=True, slots=True)
class Visit:
    """One screen: how long until it showed something, and its longest pause, in seconds."""

    screen: str
    paint: float
    pause: float


def run(*, quick: bool = False) -> str:
    """Visit every screen; the table, which a full run records in results.md."""
    queries = QUICK if quick else FULL
    load = os.getloadavg()[0]
    with serving(queries) as address, feeding(address):
        visits = visit_all(address)
    lines = [
        "| screen | first paint s | longest pause ms |",
        "|---|---|---|",
        *(f"| {each.screen} | {each.paint:.2f} | {each.pause * 1000:.0f} |" for each in visits),
    ]
    told = "all within" if all(_is_kept(each) for each in visits) else "NOT all within"
    lines += [
        "",
        (
            f"{queries:,} queries over a stream that is fed all the time, Chromium and the service on {os.cpu_count()} cores"
            f" (load average {load:.0f} before the run): {told} {PAINT_S:g} s and {PAUSE_S * 1000:g} ms."
        ),
    ]
    text = "\n".join(lines)
    if not quick:
        page = f"# The console with a hundred thousand queries\n\n`cqc bench console`\n\n{text}\n"
        Path(__file__).with_name("results.md").write_text(page, encoding="utf-8")
    return text


def _is_kept(visit: Visit) -> bool:
    return visit.paint <= PAINT_S and visit.pause <= PAUSE_S


def program_text(queries: int) -> str:
    """So many filters over one stream; the first has a result for every row."""
    names = (f"rule_{n}" for n in range(1, queries))
    rules = (
        f"CREATE QUERY {name} AS SELECT k, x FROM readings WHERE k = {n % 5_000} AND x > {90 + n % 10};"
        for n, name in enumerate(names)
    )
    first = "CREATE QUERY every_row AS SELECT k, x FROM readings WHERE x >= 0;"
    return "\n".join(
        ["CREATE STREAM readings (ts TIMESTAMP, k BIGINT, x DOUBLE);", first, *rules, ""]
    )


@contextmanager
def serving(queries: int) -> Iterator[str]:
    """A service of its own process; its address."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rules.cq")
        file.write_text(program_text(queries), encoding="utf-8")
        command = [sys.executable, "-m", "cqc.cli.main", "serve", str(file), "--port", "0"]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8"
        )
        assert process.stderr is not None
        try:
            said, found = "", None
            while found is None and (line := process.stderr.readline()):
                said += line
                found = re.search(r"http://\S+", line)
            if found is None:
                raise RunError(f"the service did not start: {said.strip()}")
            yield found[0]
        finally:
            process.kill()
            process.wait()
            process.stderr.close()


@contextmanager
def feeding(address: str) -> Iterator[None]:
    """A client that pushes a thousand rows a second."""
    over = threading.Event()

    def feed() -> None:
        number = 0
        while not over.is_set():
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            rows = [
                {"ts": now, "k": (number + n) % 5_000, "x": (number + n) % 101} for n in range(250)
            ]
            number += len(rows)
            request = urllib.request.Request(
                f"{address}/streams/readings",
                json.dumps(rows).encode(),
                {"content-type": "application/json"},
            )
            try:
                urllib.request.urlopen(request, timeout=60).close()
            except OSError:
                return
            over.wait(0.25)

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def visit_all(address: str) -> list[Visit]:
    """Every screen in one tab, each loaded anew."""
    browser_path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser_path is None:
        raise RunError("there is no Chromium on this machine (apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright  # only developers have it
    except ImportError as error:
        raise RunError("playwright is missing: pip install 'cqc[dev]'") from error
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.set_default_timeout(_PATIENCE_MS)
        page.add_init_script(_WATCH)
        found = [
            _visit(page, address, "queries", "#/queries", "tbody tr", _use_list),
            _visit(page, address, "overview", "#/", ".stat-value", _wait),
            _visit(page, address, "graph", "#/graph", ".node", _wait),
            _visit(page, address, "a query", "#/query/every_row", ".rows tbody tr", _wait),
            _visit(page, address, "new query", "#/new", ".editor", _wait),
        ]
        browser.close()
    return found


def _visit(page: Any, address: str, name: str, place: str, shown: str, use: Any) -> Visit:
    page.goto("about:blank")
    started = time.perf_counter()
    page.goto(f"{address}/{place}", wait_until="commit")
    page.locator(shown).first.wait_for()
    paint = time.perf_counter() - started
    use(page)
    return Visit(name, paint, page.evaluate("window.longest") / 1000)


def _wait(page: Any) -> None:
    """Live figures come in meanwhile."""
    page.wait_for_timeout(8_000)


def _use_list(page: Any) -> None:
    for title in ("results/s", "name", "alone"):
        page.get_by_role("button", name=title).first.click()
        page.wait_for_timeout(1_500)
    page.get_by_role("button", name="Next").click()
    page.wait_for_timeout(1_500)
    page.get_by_role("searchbox").first.fill("rule_77")
    page.wait_for_timeout(3_000)
