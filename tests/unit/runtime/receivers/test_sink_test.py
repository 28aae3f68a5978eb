"""`cqc sink test`: one marked result to what takes messages, a look at what keeps rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.integration.sinks.receivers import Hook, free_port

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunCqc


def test_a_marked_result_is_sent_and_a_dead_receiver_is_told(
    run_cqc: RunCqc, tmp_path: Path
) -> None:
    hook = Hook()
    (tmp_path / "p.cq").write_text(
        f"CREATE SINK works WITH (type = 'webhook', url = '{hook.url}');"
        f"CREATE SINK dead WITH (type = 'webhook', url = 'http://127.0.0.1:{free_port()}/');"
        f"CREATE SINK table WITH (type = 'sqlite', path = '{tmp_path}/a.db', table = 'r');"
    )
    done = run_cqc("sink", "test", "Works", str(tmp_path / "p.cq"))
    assert (done.returncode, done.stdout.startswith("sink Works took the test result")) == (0, True)
    (line,) = hook.lines()
    assert line["test"] is True
    assert run_cqc("sink", "test", "table", str(tmp_path / "p.cq")).returncode == 0
    failed = run_cqc("sink", "test", "dead", str(tmp_path / "p.cq"))
    assert failed.returncode == 3
    assert "sink dead did not take the test" in failed.stderr
    unknown = run_cqc("sink", "test", "nobody", str(tmp_path / "p.cq"))
    assert (unknown.returncode, "there is no sink nobody" in unknown.stderr) == (3, True)
    hook.close()
