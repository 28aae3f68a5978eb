"""The driver's ports are reachable for everybody on the machine; who speaks to them must know a secret of this run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cqc.runtime.spark.session.session import Session


def test_our_own_session_has_a_secret_that_no_command_line_shows(session: Session) -> None:
    context = session.spark.sparkContext
    assert context.getConf().get("spark.authenticate") == "true"
    hadoop = context._jvm.org.apache.hadoop  # type: ignore[union-attr]  # it is there while the session is
    credentials = hadoop.security.UserGroupInformation.getCurrentUser().getCredentials()
    secret = bytes(credentials.getSecretKey(hadoop.io.Text("sparkCookie"))).decode()
    assert len(secret) >= 32
    for shown in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert secret not in shown.read_bytes().decode(errors="replace")
        except OSError:  # it has ended meanwhile
            continue
    assert context.getConf().get("spark.authenticate.secret") is None
