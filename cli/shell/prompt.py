"""The prompt at a terminal: history, completion, several lines, and mistakes underlined while one types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.styles import Style

from cqc.cli.shell.entered_text import is_whole
from cqc.cli.shell.typing_help import STYLE, Mistakes, NameCompleter, StatementLexer, toolbar

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.output import Output

    from cqc.cli.shell.session import Session

CONTINUED = "... "


def make_prompt(
    session: Session,
    history: Path | None,
    keys_from: Input | None = None,
    shown_on: Output | None = None,
) -> PromptSession[str]:
    """The prompt of a session.

    Args:
        session: what it completes from and asks for mistakes.
        history: the file of what was entered before.
        keys_from: where keys come from; the terminal by default.
        shown_on: where it is shown; the terminal by default.
    """
    mistakes = Mistakes(session)
    prompt: PromptSession[str] = PromptSession(
        multiline=True,
        history=InMemoryHistory() if history is None else FileHistory(str(history)),
        completer=NameCompleter(session),
        complete_while_typing=True,
        lexer=StatementLexer(mistakes),
        style=Style.from_dict(STYLE),
        key_bindings=_keys(),
        prompt_continuation=CONTINUED,
        reserve_space_for_menu=6,
        enable_open_in_editor=True,
        input=keys_from,
        output=shown_on,
    )

    def below() -> StyleAndTextTuples:
        text = prompt.default_buffer.text
        return toolbar(mistakes.of(text), not text.strip() or is_whole(text))

    prompt.bottom_toolbar = below
    return prompt


def _keys() -> KeyBindings:
    """Enter ends a statement that is whole, and begins a new line in one that is not."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys
