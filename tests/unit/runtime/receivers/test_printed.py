"""Standard output and nowhere."""

import pytest

from cqc.runtime.receivers.printed import NoneReceiver, StdoutReceiver
from cqc.runtime.receivers.receiver import Columns, Sent, Setting

RESULT = Sent(1, "id", "q", '{"row": {}}', Columns((), (), "BIGINT"))


def test_lines_are_printed_with_their_line_end(capsys: pytest.CaptureFixture[str]) -> None:
    made = StdoutReceiver(Setting("s", {}, "p"))
    made.send([RESULT, RESULT])
    made.close()
    assert (capsys.readouterr().out, made.stored()) == ('{"row": {}}\n' * 2, None)


def test_nowhere_takes_everything(capsys: pytest.CaptureFixture[str]) -> None:
    made = NoneReceiver(Setting("s", {}, "p"))
    made.send([RESULT])
    made.close()
    assert (capsys.readouterr().out, made.stored()) == ("", None)
