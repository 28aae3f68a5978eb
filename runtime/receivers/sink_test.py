"""`cqc sink test`: one marked result, sent at once, to see that a receiver takes what it is sent."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.kinds import open_receiver
from cqc.runtime.receivers.receiver import Columns, RefusedError, Sent, Setting, UnreachableError
from cqc.runtime.receivers.secret_values import revealed, without_secrets

if TYPE_CHECKING:
    from cqc.compiler.meaning.catalog import SinkDeclaration

_QUERY = "cqc_sink_test"
_COLUMNS = Columns(("test",), ("STRING",), "TIMESTAMP")
_NOT_SENT_TO = (
    "file",
    "sqlite",
    "duckdb",
    "postgres",
)  # a row of the test would stay among the results


def send_test(program: str, declared: SinkDeclaration) -> str:
    """Send one marked result. Returns its id. For tables and files only the connection is tried: nothing is left in them.

    Raises:
        RunError: when the receiver cannot be reached, or does not take it.
    """
    options = revealed(declared.options, declared.folder)
    id_ = os.urandom(16).hex()
    line = json.dumps(
        {
            "query": _QUERY,
            "ts": "1970-01-01T00:00:00Z",
            "row": {"test": f"a test of sink {declared.name}"},
            "test": True,
            "id": id_,
        }
    )
    setting = Setting(declared.name, options, program, declared.folder, None, f"test {id_}")
    try:
        if declared.type == "file":
            return id_
        receiver = open_receiver(declared.type, setting)
        try:
            if declared.type in _NOT_SENT_TO:
                receiver.stored()
            else:
                receiver.send([Sent(1, id_, _QUERY, line, _COLUMNS)])
        finally:
            receiver.close()
    except (UnreachableError, RefusedError) as error:
        reason = without_secrets(str(error), declared.options, options)
        raise RunError(f"sink {declared.name} did not take the test: {reason}") from error
    return id_
