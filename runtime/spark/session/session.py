"""A Spark session of our own: quick to start, silent, and gone without a trace.

Everything the JVM says goes to a log file that is named when something fails. Its temporary files are in one folder that is
removed at the end. The JVM is ended by its process id once the work is done: nothing it holds is worth waiting for, since
results are ours and checkpoints are complete after every micro-batch.

A session that is there already (`spark-submit`, a notebook) is used as it is, and left as it was.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.protocol import (  # type: ignore[import-untyped]  # it has no types
    Py4JError,
    Py4JJavaError,
)
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from cqc.runtime.errors import RunError
from cqc.runtime.files.private_files import open_private
from cqc.runtime.spark.session.archive_path import archive_options
from cqc.runtime.spark.session.java import java_home

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_PREFIX = "cqc-spark-"
_LOCAL = re.compile(r"local(?:\[(\d+|\*)\])?")
_TRIES = 4
_LOOPBACK = "127.0.0.1"
_IN_ONE_JVM = re.compile(r"local(\[(\d+|\*)(,\s*\d+)?\])?")
_STREAMING = "org.apache.spark.sql.execution.streaming.checkpointing"
SETTINGS = {
    "spark.app.name": "cqc",
    "spark.ui.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Without these two the JVM starts an external program for every file it writes.
    "spark.sql.streaming.checkpointFileManagerClass": f"{_STREAMING}.FileSystemBasedCheckpointFileManager",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.pollingDelay": "20ms",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "2",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.log.level": "ERROR",
    "spark.python.daemon.module": "cqc.runtime.spark.distributed.daemon",
}
# What a call into the JVM, or reading what it sends, raises when it fails there or when the JVM has gone.
SPARK_ERRORS = (PySparkException, Py4JError, OSError, EOFError, pa.ArrowException)
# The JVM passes on lists of files and does no heavy work of its own: a quick start beats the best code.
_JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData -Xshare:auto"


_running: list[Session] = []


def running_session() -> SparkSession | None:
    """The session that has started last and was not ended, for other threads of this process."""
    return _running[-1].spark if _running else None


class Session:
    """A running Spark session, ours to end or somebody else's.

    Args:
        master: where to run; local mode with every core by default.
        jvm_options: more options for the JVM.

    Raises:
        RunError: when Spark does not start.
    """

    def __init__(self, master: str | None = None, *, jvm_options: str | None = None) -> None:
        _be_silent()
        _remove_left_behind()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._jvm_options = archive_options() if jvm_options is None else jvm_options
        self.log = self._folder / "spark.log"
        self._kept_log: str | None = None
        self._java: Any = None  # the process of our own JVM
        atexit.register(self.close)
        try:
            self.spark = self._existing() or self._start(master)
        except BaseException:
            self.close()
            raise
        _running.append(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def new_folder(self) -> Path:
        """A new folder for files that live as long as the session."""
        return Path(tempfile.mkdtemp(dir=self._folder))

    def cpu_seconds(self) -> float:
        """Processor time of this process and of the JVM so far."""
        own = time.process_time()
        if self._java is None:
            return own
        fields = Path(f"/proc/{self._java.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
        user, system = fields.split()[11:13]
        return own + (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def keep_log(self) -> str:
        """Let the log outlive the session; where it is, in words."""
        if self._kept_log is None:
            try:
                # A name that nobody can foresee, and a file that is ours alone: others can write to this folder.
                descriptor, name = tempfile.mkstemp(prefix=f"{_PREFIX}log-", suffix=".log")
                with os.fdopen(descriptor, "wb") as kept:
                    if self.log.exists():
                        with self.log.open("rb") as log:
                            shutil.copyfileobj(log, kept)
            except OSError as error:
                return f"its log cannot be kept ({error.strerror or error})"
            self._kept_log = name
        return f"its log is {self._kept_log}"

    def end_gently(self, number: int, limit_s: float) -> None:
        """Ask the JVM to end by a signal, and wait for it."""
        if self._java is not None:
            self._java.send_signal(number)
            self._java.wait(timeout=limit_s)

    def close(self) -> None:
        """End the JVM if it is ours, and remove every file it made."""
        # TypedBatch first: the thread that starts Spark closes it too, when its JVM is ended under it.
        if self in _running:
            _running.remove(self)
        java, self._java = self._java, None
        if java is not None:
            java.kill()
            java.wait(timeout=30)
            java.stdin.close()
            _forget_context()
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.close)

    def _existing(self) -> SparkSession | None:
        active = SparkSession.getActiveSession()
        if active is None and "PYSPARK_GATEWAY_PORT" in os.environ:  # inside spark-submit
            active = SparkSession.builder.getOrCreate()
        return active

    def _start(self, master: str | None) -> SparkSession:
        home = java_home(self._folder)
        if home is not None:
            os.environ["JAVA_HOME"] = home
        # The name of the interpreter reaches some of Spark's processes by the environment only.
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        settings = dict(SETTINGS)
        if master is None or master.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
            settings |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
        if master is None or _IN_ONE_JVM.fullmatch(master):
            # Others on this machine can reach the driver's ports. Spark makes a secret of its own for each run here; one given
            # as a setting would be seen by everybody in the JVM's command line. A cluster has its own settings for this.
            settings["spark.authenticate"] = "true"
        conf = SparkConf(loadDefaults=False).setAll(
            [*settings.items(), *self._own_settings(master)]
        )
        with open_private(self.log, "wb") as log:
            try:
                gateway = launch_gateway(conf, {"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]  # pyspark's own
                self._java = gateway.proc
                return SparkSession(SparkContext(conf=conf, gateway=gateway))
            except (PySparkException, Py4JError, OSError) as error:
                # Asked for before the JVM is ended, which is the one that knows.
                place = "" if master is None else f" with --master {master}"
                raise RunError(
                    f"Spark does not start{place}{_why_in_java(error)}; {self.keep_log()}"
                ) from error

    def _own_settings(self, master: str | None) -> list[tuple[str, str]]:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return [
            ("spark.master", with_retries(master or "local[*]")),
            ("spark.sql.shuffle.partitions", str(cores)),
            ("spark.local.dir", str(self._folder)),
            ("spark.sql.warehouse.dir", str(self._folder / "warehouse")),
            (
                "spark.driver.extraJavaOptions",
                f"{_JVM_OPTIONS} {self._jvm_options} -Djava.io.tmpdir={self._folder}",
            ),
        ]


def with_retries(master: str) -> str:
    """The master, with as many tries of a task as on a cluster.

    In local mode a task has one, so that a worker which could not connect in time, on a busy machine, would end the run.
    """
    found = _LOCAL.fullmatch(master)
    return master if found is None else f"local[{found[1] or '1'},{_TRIES}]"


def spark_failed(error: BaseException, session: Session | None) -> RunError:
    """What went wrong inside Spark, in one sentence."""
    log = "" if session is None else f"; {session.keep_log()}"
    if isinstance(error, PySparkException):
        reason = reason_of(error)
    elif isinstance(error, Py4JJavaError):
        reason = _thrown(text_of(error)) or "its process has gone"
    else:
        reason = "its process has gone"  # there is nobody left who could say why
    return RunError(f"Spark failed: {reason}{log}")


def reason_of(error: PySparkException) -> str:
    """What Spark says of a failure, in one line; where that is nothing, which exception it was and where it came from."""
    said = str(error).strip().partition("\n")[0]
    said = said.partition("terminated with exception:")[2] or said
    said = said.partition("SQLSTATE")[0].strip()
    return said or _thrown(getattr(error, "_stackTrace", None) or "") or type(error).__name__


def text_of(error: BaseException) -> str:
    """What an exception says; nothing when it is one of a JVM that has gone."""
    try:
        return str(error)
    except (Py4JError, OSError):
        return ""


def _thrown(trace: str) -> str:
    """The exception at the bottom of a stack trace of the JVM, with the first line of code it names."""
    lines = [line.strip() for line in trace.strip().splitlines()]
    if lines and lines[0].startswith("An error occurred while calling "):  # py4j says so before it
        lines = [lines[1].removeprefix(": "), *lines[2:]] if lines[1:] else []
    causes = [at for at, line in enumerate(lines) if line.startswith("Caused by: ")]
    at = causes[-1] if causes else 0
    return " ".join(lines[at : at + 2]).removeprefix("Caused by: ")


def _why_in_java(error: Exception) -> str:
    """The message of an exception in the JVM, to go on a sentence with; nothing when there is none, or nobody to ask."""
    if not isinstance(error, Py4JJavaError):
        return ""
    try:
        message = error.java_exception.getMessage()
    except (Py4JError, OSError):
        return ""
    lines = str(message or "").strip().splitlines()
    if lines and "stopped SparkContext" in lines[0]:  # what the first call after that finds
        return ": it gave up before it was ready"
    return f": {lines[0].rstrip('.')}" if lines else ""


def _be_silent() -> None:
    """Let pyspark and py4j say nothing to the user: what matters comes as an exception, and `spark_failed` says it."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    # Threads that wait for an answer from a JVM that was ended complain at the root of all loggers.
    logging.getLogger().addFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def _remove_left_behind() -> None:
    """Remove the files of sessions whose process was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not owner.isdigit() or folder.lstat().st_uid != os.getuid():
            continue  # nobody is asked to remove what is another user's
        if not Path(f"/proc/{owner}").exists() and Path("/proc/self").exists():
            shutil.rmtree(folder, ignore_errors=True)


def _forget_context() -> None:
    """Let a later session in this process begin afresh: pyspark keeps the one JVM in class variables."""
    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
