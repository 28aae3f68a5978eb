"""What executors are told: once for a run what to do (`Spec`), and with every micro-batch how far the streams are (`Header`).

A header is a function of the micro-batches before, so a micro-batch that is repeated after a crash has the same header and
finds the same results. Stage one and the cells see the clocks of the streams as they were *before* the micro-batch: what is
late is decided by them, and what a watermark completes comes one micro-batch later than in a single process.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import zlib
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

from cqc.runtime.columns.event_time import NOTHING_SEEN
from cqc.runtime.errors import RunError
from cqc.runtime.files.sealed import DamagedError, read_sealed
from cqc.runtime.intake.stream_input import StreamState
from cqc.runtime.spark.distributed.messages.plain_data import from_text, to_text

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.compiler.functions.registered import UserFunction
    from cqc.compiler.graph.partitioning import Group
    from cqc.compiler.meaning.catalog import Catalog
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.compiler.physical.strategy import Strategy
    from cqc.runtime.intake.typed_batch import TypedBatch

ARRIVALS_PER_BATCH = 1 << 32  # arrival numbers in a cell: the micro-batch, then the place in it


@dataclass(slots=True)
class ClockState:
    """How far a stream has come, over all executors."""

    first_us: int | None = None
    largest_us: int | None = None
    watermark_us: int = NOTHING_SEEN

    def as_stream(self) -> StreamState:
        """The same for an engine, which counts nothing of the stream itself."""
        return StreamState(
            first_us=self.first_us, largest_us=self.largest_us, watermark_us=self.watermark_us
        )


@dataclass(frozen=True, slots=True)
class Spread:
    """A heavy value of a group: tuples of `stream` with it are, once `dealt`, dealt out; those of the others are copied.

    An empty `stream`: it was heavy in an era before, and is not spread any more.
    """

    group: int
    stream: str
    code: int
    dealt: bool


@dataclass(frozen=True, slots=True)
class Change:
    """A query that came (`normal` is set) or left, in force from micro-batch `batch` on; or a value that is spread.

    `group` is where a query is answered; None: where its tuples are read. `functions` are those of users that it calls, as
    `signed` makes them: code, which is run only where the run that sent it says so.
    """

    batch: int
    name: str
    normal: NormalQuery | None
    group: Group | None
    spread: Spread | None = None
    functions: str = ""

    def to_text(self) -> str:
        """As data, since it is kept in checkpoints, and small, since it goes with every micro-batch."""
        return base64.b64encode(zlib.compress(to_text(self).encode())).decode("ascii")

    @staticmethod
    def from_text(text: str) -> Change:
        change: Change = from_text(zlib.decompress(base64.b64decode(text)).decode())
        return change


@dataclass(frozen=True, slots=True)
class Ask:
    """Somebody asks for the value of a pull query at an instant (None: the latest event time seen)."""

    number: int
    query: str
    at_us: int | None


@dataclass(frozen=True, slots=True)
class Header:
    """What is known before a micro-batch."""

    batch: int
    clocks: dict[str, ClockState]  # by folded stream name
    idle: tuple[str, ...] = ()  # streams past their idle timeout
    ended: bool = False  # the input has ended; no tuple comes with this micro-batch
    closing: bool = False  # invoke every pull query without EVERY, at `closing_us`
    closing_us: int | None = None
    asks: tuple[Ask, ...] = ()
    changes: tuple[str, ...] = ()  # all so far, oldest first, each as `Change.to_text`
    run: str = ""  # whose control rows are heard: what a run before has left there is for nobody

    def merged(self, other: Header) -> Header:
        """What two tasks of one micro-batch know together: one of them heard who asks."""
        told = other if other.ended or other.closing else self
        asks = {ask.number: ask for ask in (*self.asks, *other.asks)}
        return replace(
            self,
            ended=self.ended or other.ended,
            closing=self.closing or other.closing,
            closing_us=told.closing_us,
            asks=tuple(asks[number] for number in sorted(asks)),
        )

    def hears(self, control: dict[str, Any]) -> bool:
        """Whether a row of the control source is of the run that the micro-batch belongs to."""
        return bool(control.get("run", "") == self.run)

    def with_control(self, control: dict[str, Any]) -> Header:
        """The header with what a row of the control source says."""
        asks = tuple(Ask(**each) for each in control.get("asks", ()))
        return self.merged(
            replace(
                self,
                asks=asks,
                ended=control.get("ended", False),
                closing=control.get("closing", False),
                closing_us=control.get("closing_us"),
            )
        )

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Header:
        given: dict[str, Any] = json.loads(text)
        given["clocks"] = {name: ClockState(**each) for name, each in given["clocks"].items()}
        given["asks"] = tuple(Ask(**each) for each in given["asks"])
        given["idle"], given["changes"] = tuple(given["idle"]), tuple(given["changes"])
        return Header(**given)


@dataclass(frozen=True, slots=True)
class Spec:
    """What executors need for a run; sent once and cached by its content."""

    run: str  # tells apart runs that a worker process sees one after another
    catalog: Catalog
    queries: dict[str, NormalQuery]
    stateless: tuple[str, ...]
    groups: tuple[Group, ...]
    tables: dict[str, TypedBatch]  # by folded name: static tables go to every executor
    strategy: Strategy
    collect: bool  # with False results are counted and not sent
    keeps_past: int | None = None  # the group that keeps every tuple for queries to come
    shuffle_partitions: int = 1
    tells_rejects: bool = False
    tells_late: bool = False
    moved: str | None = (
        None  # the folder with what cells begin with, after a change of their number
    )
    functions: tuple[UserFunction, ...] = ()  # of users, as far as the queries call them
    most_instants: int | None = None  # of a query with EVERY, one after the other without a row
    key: bytes = b""  # by which functions that come later are signed; no file has it

    def pack(self) -> bytes:
        return _dumps(self)

    @staticmethod
    def unpack(packed: bytes, wanted: str) -> Spec:
        """A spec by its digest, which comes with the task: a file that is another is not read.

        Raises:
            RunError: when it has another digest.
        """
        if digest(packed) != wanted:
            raise RunError(f"what executors were sent as {wanted} is something else")
        spec: Spec = cloudpickle.loads(packed)
        return spec


def signed(functions: tuple[UserFunction, ...], key: bytes) -> str:
    """Functions as text that can be opened with the key of the run alone."""
    if not functions:
        return ""
    packed = _dumps(functions)
    return f"{hmac.digest(key, packed, 'sha256').hex()} {base64.b64encode(packed).decode('ascii')}"


def opened(text: str, key: bytes) -> tuple[UserFunction, ...]:
    """What was signed; nothing when it was signed by another run, which sends its functions anew."""
    if not text:
        return ()
    signature, _, code = text.partition(" ")
    packed = base64.b64decode(code)
    if not hmac.compare_digest(hmac.digest(key, packed, "sha256").hex(), signature):
        return ()
    functions: tuple[UserFunction, ...] = cloudpickle.loads(packed)
    return functions


def _dumps(what: object) -> bytes:
    """Pickled; functions that a user registered are sent as they are."""
    packed: bytes = cloudpickle.dumps(what)  # type: ignore[no-untyped-call]  # it has no types
    return packed


def read_queries(path: Path) -> dict[str, NormalQuery]:
    """The queries that a run began with, as its checkpoint has them.

    Raises:
        DamagedError: when the file is not what was written.
    """
    try:
        found: dict[str, NormalQuery] = from_text(read_sealed(path).decode())
    except ValueError as error:
        raise DamagedError(path, str(error)) from error
    return found


def digest(packed: bytes) -> str:
    """What a packed spec is cached by."""
    return hashlib.blake2b(packed, digest_size=16).hexdigest()


@dataclass(slots=True)
class Layout:
    """Which cells there are, and the keys by which tuples are sent to them.

    Spark sends a key to the partition `hash(key) mod partitions`; keys are chosen so that the cells fall on the partitions
    evenly, in turn.
    """

    shuffle_partitions: int
    first_cell: list[int] = field(default_factory=list)  # by group number
    cells: int = field(init=False)  # numbers that are given; the first are of no cell
    _keys: list[int] = field(default_factory=list)
    _next: int = 0

    def __post_init__(self) -> None:
        self.cells = self.shuffle_partitions

    def add(self, group: Group) -> None:
        """Make room for one more group; groups are added in the order of their numbers."""
        self.first_cell.append(self.cells)
        self.cells += group.cells

    def key(self, group: int, cell: int) -> int:
        return self.key_of(self.first_cell[group] + cell)

    def result_key(self, origin: int) -> int:
        """The key of what needs no cell; each partition has one."""
        return self.key_of(origin % self.shuffle_partitions)

    def key_of(self, number: int) -> int:
        while len(self._keys) <= number:
            wanted = len(self._keys) % self.shuffle_partitions
            while spark_hash(self._next) % self.shuffle_partitions != wanted:
                self._next += 1
            self._keys.append(self._next)
            self._next += 1
        return self._keys[number]

    def place_of(self, key: int) -> tuple[int, int] | None:
        """Group and cell of a key; None for results that pass."""
        self.key_of(self.cells - 1)
        number = self._keys.index(key)
        if number < self.shuffle_partitions:
            return None
        group = max(at for at, first in enumerate(self.first_cell) if first <= number)
        return group, number - self.first_cell[group]


def spark_hash(value: int) -> int:
    """Spark's hash of an INT (Murmur3, 32 bits, seed 42), as a signed number."""
    mask = 0xFFFFFFFF
    mixed = (value * 0xCC9E2D51) & mask
    mixed = ((mixed << 15) | (mixed >> 17)) & mask
    mixed = (mixed * 0x1B873593) & mask
    code = 42 ^ mixed
    code = ((code << 13) | (code >> 19)) & mask
    code = (code * 5 + 0xE6546B64) & mask
    code ^= 4
    code ^= code >> 16
    code = (code * 0x85EBCA6B) & mask
    code ^= code >> 13
    code = (code * 0xC2B2AE35) & mask
    code ^= code >> 16
    return code - (1 << 32) if code & 0x80000000 else code
