"""Where partial combinations wait until enough of them go on together (Teddies' metaqueues and its scheduler).

Rows with one history, the same items bound and the same item to meet next, wait in one metaqueue. When a queue holds as many
as its threshold it goes to the end of the scheduler queue, and the whole train meets the next item by one call. What comes
out is finished or arrives at further queues; new tuples enter only when nothing is ready. A threshold doubles when the queue
holds twice as many by the time it is taken, and halves when others were taken too often meanwhile: a queue that fills slowly
gives up waiting. Tuples are in their shared state before they arrive here, so however long a row waits, it meets them all.

    packets of 16 tuples, one in 4 has a partner, threshold 8
    R: 16 >= 8, taken in place, now 16    RS: 4 rows wait    next packet    RS: 8 rows, on the scheduler queue, one train

Trains are also limited: what a level makes of one should stay near the processor, so a queue whose rows find many partners
cuts them into several trains. A train that is large enough when it arrives is not copied, and with nothing more to come in the
turn of its stream no row waits: a micro-batch that is one packet never sees a queue. With one tuple at a time (`--packet 1`)
every row is a train: the Eddies that Teddies are measured by. A train whose call gives up, because its rows meet too many tuples, is
cut into smaller ones; how small is remembered for a while.

Claypool, Claypool: Teddies, Trained Eddies for Reactive Stream Processing (section 3).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from cqc.runtime.adapt import settings
from cqc.runtime.adapt.size_threshold import SizeThreshold
from cqc.runtime.join.step.probe_step import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cqc.runtime.join.plan.routes import Branch


class TrainSize:
    """How many rows of one history should go together, and how many did."""

    def __init__(self, *, one_at_a_time: bool = False) -> None:
        self._adapts = not one_at_a_time
        self.worth = SizeThreshold(settings.TRAINS, None if self._adapts else 1)  # a call, in rows
        # What fits, as far as it is known.
        self.most = settings.TRAIN_FIRST_MOST if self._adapts else 1
        self.trains = 0
        self.taken = 0  # rows, in all trains
        self.waited = 0  # of them, those that had to wait
        self._ceiling = settings.TRAIN_MOST  # lower where a larger train gave up
        self._lifted_at = 0  # trains, when the ceiling goes up again

    @property
    def threshold(self) -> int:
        """How many rows make a queue eligible."""
        return min(self.worth.value, self.most)

    def saw(self, occupancy: int) -> None:
        """So many rows were there when the queue was taken."""
        self.worth.saw(occupancy)

    def starve(self) -> None:
        """The queue has waited too long."""
        self.worth.halve(self.threshold)

    def ran(self, rows: int, made: int, room: int) -> None:
        """A train made so many rows, where about `room` would be fine."""
        self.trains += 1
        self.taken += rows
        if not self._adapts:
            return
        if made > room:
            self.most = max(1, rows * room // made)
        elif self.most < self._ceiling and 2 * rows >= self.most:
            fits = rows * room // made if made else settings.TRAIN_MOST
            self.most = max(self.most, min(4 * self.most, fits, self._ceiling))
        if self._ceiling < settings.TRAIN_MOST and self.trains >= self._lifted_at:
            self._ceiling = 4 * self._ceiling
            self._lifted_at = self.trains + settings.TRAIN_TRUST

    def gave_up(self, rows: int) -> None:
        """A train of so many rows, more than two, was too much for one call."""
        self.most = self._ceiling = max(1, rows // 8)
        self._lifted_at = self.trains + settings.TRAIN_TRUST

    @property
    def most_at_once(self) -> int:
        """So many rows are taken together, though fewer would be better: cutting off a few does not pay."""
        return 2 * self.most if self._adapts else self.most

    def cuts(self, rows: int) -> int:
        """How many rows to take at a time; all of them unless they are far too many."""
        return rows if rows <= 2 * self.most and self._adapts else self.most


class MetaQueue:
    """The rows that wait before one level."""

    def __init__(self, branch: Branch, size: TrainSize) -> None:
        self.branch = branch
        self.size = size
        self.counter = 0  # trains of others since rows began to wait
        self.is_ready = False  # on the scheduler queue
        self.oldest_us = 0  # the earliest starting tuple of those that wait
        self.came = 0  # rows, of the tuples that started last
        self._waiting: Rows | None = None
        self._taken: Rows | None = None
        self._cut: Rows | None = None
        self._again = False  # the last train was too much for one call
        made = branch.level.rows
        self._room = max(1, settings.TRAIN_BYTES * made.room // made.nbytes)

    @property
    def occupancy(self) -> int:
        return 0 if self._waiting is None else self._waiting.count

    @property
    def depth(self) -> int:
        """How many items its rows have bound."""
        return len(self.branch.level.bound_items)

    def append(self, rows: Rows, oldest_us: int) -> None:
        """Copy the rows: the level that made them will overwrite them."""
        waiting = self._waiting
        if waiting is None:
            waiting = self._waiting = _like(rows)
        begin = waiting.count
        end = begin + rows.count
        if end > waiting.room:
            waiting = self._waiting = _grown(waiting, 2 * end)
        waiting.positions[:, begin:end] = rows.positions[:, : rows.count]
        waiting.ts[:, begin:end] = rows.ts[:, : rows.count]
        waiting.lineage[begin:end] = rows.lineage[: rows.count]
        waiting.count = end
        self.oldest_us = min(self.oldest_us, oldest_us) if begin else oldest_us
        self.size.waited += rows.count

    def take(self) -> Rows:
        """All rows that wait; they can be read until the next ones are taken."""
        taken, self._waiting = self._waiting, self._taken
        assert taken is not None
        self._taken = taken
        if self._waiting is not None:
            self._waiting.count = 0
        self.counter = 0
        self.is_ready = False
        return taken

    def trains(self, rows: Rows) -> Iterator[Rows]:
        """The rows as trains: all at once, or cut where what they make would be too much."""
        self.size.saw(rows.count)
        begin = 0
        while begin < rows.count:
            count = self.size.cuts(rows.count - begin)
            if count == rows.count:
                yield rows
                if self._again:
                    self._again = False
                    continue
                return
            if self._cut is None:
                self._cut = _like(rows)
            cut = self._cut
            if count > cut.room:
                cut.resize(2 * count)
            end = min(begin + count, rows.count)
            cut.count = end - begin
            cut.positions[:, : cut.count] = rows.positions[:, begin:end]
            cut.ts[:, : cut.count] = rows.ts[:, begin:end]
            cut.lineage[: cut.count] = rows.lineage[begin:end]
            yield cut
            if self._again:
                self._again = False
            else:
                begin = end

    def gave_up(self, rows: int) -> None:
        """The train in hand was too much for one call: it comes again, as smaller ones."""
        self._again = True
        self.size.gave_up(rows)

    def ran(self, rows: int, made: int) -> None:
        """A train of the queue's level made so many rows."""
        self.size.ran(rows, made, self._room)


class MetaQueues:
    """The queues of one join, and the scheduler queue of those that are eligible."""

    def __init__(self) -> None:
        self.one_at_a_time = False
        self.on_decision: Callable[[], None] | None = None  # for benchmarks: what a router costs
        self.worths: dict[tuple[int, ...], TrainSize] = {}  # by items bound and the item to meet
        self._queues: dict[Branch, MetaQueue] = {}
        self._waiting: list[MetaQueue] = []  # that hold rows and are not eligible
        self._ready: deque[MetaQueue] = deque()

    def __bool__(self) -> bool:
        """Whether rows wait."""
        return bool(self._waiting or self._ready)

    @property
    def lets_through(self) -> bool:
        """Whether rows may pass several levels at once, without a look at each queue on the way."""
        return not (self or self.one_at_a_time)

    def of(self, branch: Branch) -> MetaQueue:
        """The queue before a branch."""
        queue = self._queues.get(branch)
        if queue is None:
            level = branch.level
            key = (*level.bound_items, level.target.item)
            if key not in self.worths:
                self.worths[key] = TrainSize(one_at_a_time=self.one_at_a_time)
            queue = self._queues[branch] = MetaQueue(branch, self.worths[key])
        return queue

    def forget(self) -> None:
        """The branches are others from now on; nothing waits. What was learned of histories stays."""
        assert not self
        self._queues = {}

    def clear(self) -> None:
        """Forget the rows that wait."""
        while (queue := self.next_ready() or self.next_waiting()) is not None:
            queue.take()

    def start_rows(self, branches: Sequence[Branch], offered: int, before: int) -> int:
        """How many new tuples to let in at a time from now on; `before` as yet, and so many were offered last.

        A branch that only some of them take sees a part of them, and is no reason to let in few.
        """
        if self.one_at_a_time:
            return 1
        queues = [self.of(branch) for branch in branches]
        most = [each.size.most * offered // each.came for each in queues if each.came]
        # Where nothing was met, nothing is known; but what starts together is cut again before it meets something.
        return max(1, min(4 * before, settings.TRAIN_MOST, *most))

    def came(self, branches: Sequence[Branch], rows: int) -> None:
        """Tuples start: so many of them take each of the branches, as far as it is known."""
        for branch in branches:
            self.of(branch).came = rows

    def passes(self, queue: MetaQueue, rows: int, *, more: bool) -> bool:
        """Whether arriving rows go on at once: they are enough, or nothing would join them (`more`: tuples follow)."""
        return rows >= queue.size.threshold or not (more or queue.occupancy)

    def put(self, queue: MetaQueue, rows: Rows, oldest_us: int) -> None:
        """Let arriving rows wait."""
        if not queue.occupancy:
            self._waiting.append(queue)
        queue.append(rows, oldest_us)
        if not queue.is_ready and queue.occupancy >= queue.size.threshold:
            self._make_ready(queue)

    def next_ready(self) -> MetaQueue | None:
        """The first of the scheduler queue."""
        return self._ready.popleft() if self._ready else None

    def next_waiting(self) -> MetaQueue | None:
        """For the end of a turn: the queue with the shortest history, whose rows may still reach the others."""
        if not self._waiting:
            return None
        queue = min(self._waiting, key=lambda each: each.depth)
        self._waiting.remove(queue)
        return queue

    def ran(self, queue: MetaQueue, rows: int, made: int) -> None:
        """A round of the scheduler: a train was processed, the others have waited."""
        queue.ran(rows, made)
        if self.on_decision is not None:
            self.on_decision()
        if not self._waiting:
            return
        for each in self._waiting[:]:
            if each is queue:
                continue
            each.counter += 1
            if each.counter > settings.TRAINS.starved:
                each.size.starve()
                if each.occupancy >= each.size.threshold:
                    self._make_ready(each)

    def sizes(self) -> dict[tuple[int, ...], TrainSize]:
        """By history: the items that are bound, in order, and the one that is met next."""
        return self.worths

    def branches(self) -> Iterator[tuple[Branch, TrainSize]]:
        """The branches that rows came to since they are what they are, each with what came with its history."""
        for branch, queue in self._queues.items():
            yield branch, queue.size

    def _make_ready(self, queue: MetaQueue) -> None:
        self._waiting.remove(queue)
        queue.is_ready = True
        self._ready.append(queue)


def _like(rows: Rows) -> Rows:
    """No rows yet, of the same form."""
    return Rows(len(rows.positions), rows.lineage.shape[1])


def _grown(rows: Rows, room: int) -> Rows:
    grown = _like(rows)
    grown.resize(room)
    count = grown.count = rows.count
    grown.positions[:, :count] = rows.positions[:, :count]
    grown.ts[:, :count] = rows.ts[:, :count]
    grown.lineage[:count] = rows.lineage[:count]
    return grown
