"""`cqc top` at a terminal: a screen that is drawn anew every second or two, and what keys do.

The service is asked by a thread of its own, so that keys are answered at once, also while it is busy or gone.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import Layout
from prompt_toolkit.layout.containers import Window
from prompt_toolkit.layout.controls import FormattedTextControl

from cqc.cli.service_connection import ServiceError
from cqc.cli.top.figures import read_figures
from cqc.cli.top.page import KEYS, SORTS, View, chosen, page

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.output import Output

    from cqc.cli.service_connection import Connection
    from cqc.cli.top.figures import Figures

_PAGE = 10  # queries that a key scrolls by


class LiveTop:
    """The screen, the keys, and who asks the service.

    Args:
        connection: how the service is reached.
        address: how it is called on the screen.
        interval_s: between two looks at it.
        figures: the first look.
        keys_from: where keys come from; the terminal by default.
        shown_on: where it is shown; the terminal by default.
    """

    def __init__(
        self,
        connection: Connection,
        address: str,
        interval_s: float,
        figures: Figures,
        keys_from: Input | None = None,
        shown_on: Output | None = None,
    ) -> None:
        self._connection = connection
        self._address = address
        self._interval_s = interval_s
        self._figures = figures
        self._trouble = ""
        self.view = View()
        self._typing: str | None = None  # the filter, while it is typed
        self._over = threading.Event()
        self.application: Application[None] = Application(
            layout=Layout(Window(FormattedTextControl(self._drawn), wrap_lines=False)),
            key_bindings=self._keys(),
            full_screen=True,
            input=keys_from,
            output=shown_on,
        )

    def run(self) -> None:
        """Show it until the user leaves."""
        looking = threading.Thread(target=self._look_again, daemon=True)
        looking.start()
        try:
            self.application.run()
        finally:
            self._over.set()

    def _look_again(self) -> None:
        while not self._over.wait(self._interval_s):
            if self.view.paused:
                continue
            try:
                view = self.view
                self._figures = read_figures(
                    self._connection, self._figures, sort=view.server_sort, search=view.filter
                )
                self._trouble = ""
            except ServiceError as error:
                self._trouble = error.message.splitlines()[0]
            self.application.invalidate()

    def _drawn(self) -> StyleAndTextTuples:
        size = self.application.output.get_size()
        lines = page(self._figures, self.view, size.columns, size.rows, self._address)
        drawn: StyleAndTextTuples = []
        for at, line in enumerate(lines):
            is_title = line.startswith(("stream ", "query ", "alert ", "sink "))
            style = "bold" if at == 0 else "reverse" if is_title else ""
            drawn += [(style, line.ljust(size.columns) if is_title else line), ("", "\n")]
        drawn.append(self._last_line(size.columns))
        return drawn

    def _last_line(self, width: int) -> tuple[str, str]:
        if self._typing is not None:
            return "bold", f"filter: {self._typing}_   (Enter: done, Escape: none)"[:width]
        if self._trouble:
            return "ansired", self._trouble[:width]
        return "ansibrightblack", KEYS[:width]

    def _scroll(self, by: int) -> None:
        most = max(len(chosen(self._figures, self.view)) - 1, 0)
        self.view = replace(self.view, first=min(max(self.view.first + by, 0), most))

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        typing = Condition(lambda: self._typing is not None)

        @keys.add("q", filter=~typing)
        @keys.add("c-c")
        def _(event: KeyPressEvent) -> None:
            event.app.exit()

        for key in SORTS:

            @keys.add(key, filter=~typing)
            def _(event: KeyPressEvent, key: str = key) -> None:
                del event
                self.view = self.view.sorted_by(key)

        @keys.add("p", filter=~typing)
        @keys.add(" ", filter=~typing)
        def _(event: KeyPressEvent) -> None:
            del event
            self.view = replace(self.view, paused=not self.view.paused)

        for key, by in (
            *(("j", 1), ("down", 1), ("f", _PAGE), ("pagedown", _PAGE)),
            *(("u", -1), ("up", -1), ("g", -_PAGE), ("pageup", -_PAGE)),
        ):

            @keys.add(key, filter=~typing)
            def _(event: KeyPressEvent, by: int = by) -> None:
                del event
                self._scroll(by)

        @keys.add("/", filter=~typing)
        def _(event: KeyPressEvent) -> None:
            del event
            self._typing = self.view.filter

        @keys.add("enter", filter=typing)
        def _(event: KeyPressEvent) -> None:
            del event
            self._typing = None

        @keys.add("escape", filter=typing, eager=True)
        def _(event: KeyPressEvent) -> None:
            del event
            self._typing = None
            self.view = replace(self.view, filter="", first=0)

        @keys.add("backspace", filter=typing)
        def _(event: KeyPressEvent) -> None:
            del event
            self._type((self._typing or "")[:-1])

        @keys.add("<any>", filter=typing)
        def _(event: KeyPressEvent) -> None:
            if event.data.isprintable():
                self._type((self._typing or "") + event.data)

        return keys

    def _type(self, text: str) -> None:
        self._typing = text
        self.view = replace(self.view, filter=text, first=0)
