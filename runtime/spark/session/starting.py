"""A session that starts in a thread of its own, so that nobody has to wait for it before its result is needed."""

from __future__ import annotations

import threading

from cqc.runtime.errors import RunError
from cqc.runtime.run.driver import LOOK_S
from cqc.runtime.spark.session.session import Session


class Starting:
    """A session that is on its way."""

    def __init__(self, master: str | None) -> None:
        self._master = master
        self._session: Session | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._start, daemon=True)
        self._thread.start()

    def wait(self) -> bool:
        """Wait for a moment; whether it is still starting."""
        self._thread.join(LOOK_S)
        return self._thread.is_alive()

    def result(self) -> Session:
        """The session, as soon as there is one.

        Raises:
            RunError: when Spark does not start.
        """
        while self.wait():
            pass
        if self._session is None:
            raise self._failure or RunError("Spark does not start")
        return self._session

    def close(self) -> None:
        """End the session, also one that is still starting: the end of this process ends its JVM."""
        if self._session is not None:
            self._session.close()

    def _start(self) -> None:
        try:
            self._session = Session(self._master)
        except BaseException as error:  # it is raised where the session is asked for
            self._failure = error
