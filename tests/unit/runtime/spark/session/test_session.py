"""How a session of our own ends."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from pyspark.sql.pandas.utils import require_minimum_pandas_version

from cqc.runtime.spark.session.session import Session, with_retries
from tests.support.waiting import PATIENCE_S


class EndedByBoth:
    """A process that somebody else ends at the very moment at which its session is closed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._process = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.stdin = self._process.stdin

    def kill(self) -> None:
        self._session.close()
        self._process.kill()

    def wait(self, timeout: float) -> int:
        return self._process.wait(timeout)


def test_a_session_closed_by_two_threads_at_a_time_is_closed_once(tmp_path: Path) -> None:
    """As when SIGTERM goes to the whole process group while Spark starts: who starts it and who leaves both close it."""
    session = Session.__new__(Session)
    session._folder = tmp_path
    java = session._java = EndedByBoth(session)
    session.close()
    assert java.wait(PATIENCE_S) != 0
    assert java.stdin is not None
    assert java.stdin.closed


@pytest.mark.parametrize(
    ("master", "used"),
    [
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2,1]", "local[2,1]"),
        ("local[none]", "local[none]"),
        ("local-cluster[2,1,1024]", "local-cluster[2,1,1024]"),
        ("spark://host:7077", "spark://host:7077"),
    ],
)
def test_a_task_has_several_tries_in_local_mode_too(master: str, used: str) -> None:
    assert with_retries(master) == used


def test_the_pandas_that_is_installed_is_one_that_spark_supports() -> None:
    """Spark asks this before it starts Python operators, as in `--distribute`, and warns the user of one that is too new."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        require_minimum_pandas_version()
