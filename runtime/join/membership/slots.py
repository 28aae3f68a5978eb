"""Slots of a join node: which bit of the lineage stands for which bodies.

A slot is a family: bodies of one host that are equal but for one constant of their first theta condition. The join runs once for the
whole family; the rank of a result's values among the members' constants says for which members it holds. A body without
such a condition is a family of one.

Two bodies share a slot only when they were registered at the same moment (`epoch`), because a push query sees tuples from
its registration on and a slot's bits on stored tuples are what remembers that. A freed slot still has bits on stored
tuples; it is used again after those were cleared, for many slots at a time.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.join.step.theta_forms import theta_form
from cqc.runtime.join.step.theta_lists import Condition, varying_parameters
from cqc.runtime.lineage.rank_lineage import FAR_US

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Iterator, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import Body, JoinHost
    from cqc.compiler.meaning.normal import ThetaJoin
    from cqc.runtime.join.membership.host import HostAtNode
    from cqc.runtime.join.step.theta_forms import Parameters, ThetaForm


@dataclass(slots=True, eq=False)
class Member:
    """The bodies of a family with one constant. `results` is complete after `Slot.settle`."""

    theta: ThetaJoin | None  # the ranked condition, when there is one
    form: ThetaForm | None
    seats: list[JoinSeat] = field(default_factory=list)
    results: int = 0
    seconds: float = 0.0  # of work; complete after `Slot.settle`
    place: int = 0  # in the order of the family
    key: int = field(default_factory=itertools.count().__next__)


@dataclass(slots=True, eq=False)
class JoinSeat:
    """A body's place at a join."""

    body: Body
    slot: Slot
    member: Member

    @property
    def source(self) -> JoinHost:
        return self.slot.part.host

    @property
    def key(self) -> int:
        return self.member.key

    @property
    def results(self) -> int:
        """How many combinations were found for the body so far."""
        self.slot.settle()
        return self.member.results

    @property
    def seconds(self) -> float:
        """How long the join has worked for the body so far, as far as it was credited."""
        self.slot.settle()
        return self.member.seconds / max(len(self.member.seats), 1)

    @property
    def slot_number(self) -> int:
        return self.slot.number


class SlotTotals:
    """Results and seconds by slot, in one array each so that counting a packet is one addition."""

    def __init__(self) -> None:
        self._counts = np.zeros(64, np.int64)
        self._seconds = np.zeros(64)

    def add_seconds(self, seconds: NDArray[np.float64]) -> None:
        """Credit the slots with work."""
        if len(seconds) > len(self._seconds):
            self._seconds = np.append(self._seconds, np.zeros(2 * len(seconds)))
        self._seconds[: len(seconds)] += seconds

    def take_seconds(self, slot: int) -> float:
        """The seconds of a slot since they were last taken."""
        if slot >= len(self._seconds):
            return 0.0
        seconds = float(self._seconds[slot])
        self._seconds[slot] = 0.0
        return seconds

    def add(self, counts: NDArray[np.int64]) -> None:
        """Count the results of a packet."""
        if len(counts) > len(self._counts):
            grown = np.zeros(2 * len(counts), np.int64)
            grown[: len(self._counts)] = self._counts
            self._counts = grown
        self._counts[: len(counts)] += counts

    def take(self, slot: int) -> int:
        """The results of a slot since they were last taken."""
        if slot >= len(self._counts):
            return 0
        count = int(self._counts[slot])
        self._counts[slot] = 0
        return count


class Slot:
    """One bit of the lineage: a family of bodies, in the order of their varying constant."""

    def __init__(
        self, number: int, part: HostAtNode, body: Body, form: ThetaForm | None, totals: SlotTotals
    ) -> None:
        self.number = number
        self.part = part  # the host it is of
        self._totals = totals
        self.body = body  # any of the family; all but the ranked condition's constant is the same
        self.most_us = _most_us(body)  # the largest ts_j - ts_i, FAR_US where nothing limits it
        self.shape = None if form is None else form.shape
        self.varying = (
            -1
        )  # which parameter of the ranked condition differs; -1 while there is one member
        self.keys: list[Hashable] = []
        self._members: dict[Parameters | None, Member] = {}
        self._ordered: list[Member] = []
        self._in_order = False
        self.parameters = np.zeros((0, 4), np.float64)  # of the members, in order
        self.member_keys = np.zeros(0, np.int64)  # in order
        self.counts = np.zeros(0, np.int64)  # results of the members, in order, not yet settled
        self._muted: set[Member] = set()  # that are about to leave, and for which nothing is done
        self.left_limit = self.right_limit = float(
            "inf"
        )  # the ranks are exact up to these magnitudes

    @property
    def is_family(self) -> bool:
        return len(self._members) > 1

    @property
    def is_used(self) -> bool:
        return bool(self._members)

    @property
    def members(self) -> list[Member]:
        """The members in order, since the last `arrange`."""
        return self._ordered

    def move(self, number: int, totals: SlotTotals) -> None:
        """Be another slot, of another table, from now on."""
        self.settle()
        self.number = number
        self._totals = totals

    def settle(self) -> None:
        """Credit the members with the results counted since."""
        seconds = self._totals.take_seconds(self.number)
        if seconds:
            for each in self._ordered:
                each.seconds += seconds / len(self._ordered)
        total = self._totals.take(self.number)
        if len(self._ordered) == 1:
            self._ordered[0].results += total
            return
        for at in np.flatnonzero(self.counts).tolist():
            self._ordered[at].results += int(self.counts[at])
        self.counts[:] = 0

    def member(self, theta: ThetaJoin | None, form: ThetaForm | None) -> Member:
        """The member with the form's constants, made if there is none."""
        parameters = None if form is None else form.parameters
        found = self._members.get(parameters)
        if found is None:
            found = self._members[parameters] = Member(theta, form)
            self._in_order = False
        return found

    def drop(self, member: Member) -> None:
        """Remove a member that nobody uses."""
        self.settle()
        self._in_order = False
        del self._members[None if member.form is None else member.form.parameters]

    def arrange(self) -> None:
        """Bring the members into order, after some came or went."""
        if self._in_order:
            return
        self._in_order = True
        self.settle()
        ordered = list(self._members.values())
        if self.is_family:
            at = self.varying
            ordered.sort(key=lambda each: each.form.parameters[at])  # type: ignore[union-attr]  # families have forms
        forms = [each.form for each in ordered if each.form is not None]
        for place, each in enumerate(ordered):
            each.place = place
        self._ordered = ordered
        self.body = ordered[0].seats[0].body
        self.parameters = np.array([form.parameters for form in forms], np.float64).reshape(-1, 4)
        self.counts = np.zeros(len(ordered), np.int64)
        self.member_keys = np.array([each.key for each in ordered], np.int64)
        self.left_limit = min((form.left_limit for form in forms), default=float("inf"))
        self.right_limit = min((form.right_limit for form in forms), default=float("inf"))

    def conditions(self, forms: Sequence[ThetaForm]) -> Iterator[Condition]:
        """The theta conditions that the join checks for this slot; the ranked one by the two ends of the family."""
        for at, form in enumerate(forms):
            ends = [form.parameters]
            if at == 0 and self.is_family:
                ends = [each.form.parameters for each in self._ends() if each.form is not None]
            yield Condition(
                self.number, form.shape, tuple(ends), self.varying if len(ends) > 1 else -1
            )

    def mute(self, silent: Container[Member]) -> bool:
        """Do nothing more for some members; whether that is new."""
        muted = {each for each in self._ordered if each in silent}
        is_new = muted != self._muted
        self._muted = muted
        return is_new

    def _ends(self) -> tuple[Member, Member]:
        left = [each for each in self._ordered if each not in self._muted] or self._ordered
        return left[0], left[-1]


def _most_us(body: Body) -> NDArray[np.int64]:
    rows = body.bounds.most_us
    most = np.array([[FAR_US if each is None else each for each in row] for row in rows], np.int64)
    if body.bounds.contradictory:
        most[:] = -1  # ts_j - ts_i and its opposite cannot both be negative
    return np.minimum(most, FAR_US)


class SlotTable:
    """The slots of one node, dense from 0."""

    def __init__(self) -> None:
        self.slots: dict[int, Slot] = {}
        self.size = 0  # slots given and not taken back by `compact`: the lineage has a bit for each
        self.totals = SlotTotals()
        self._by_key: dict[Hashable, Slot] = {}
        self._clean: list[int] = []
        self._soiled: list[int] = []
        self._keys: NDArray[np.int64] | None = None
        self.numbering = (
            object()
        )  # another one whenever slots get other numbers: for whoever remembers something by number

    def __len__(self) -> int:
        return len(self.slots)

    def place(self, part: HostAtNode, body: Body, epoch: Hashable) -> tuple[JoinSeat, bool]:
        """A seat for the body; TRUE when its slot is new."""
        self._keys = None
        form = theta_form(body.theta_joins[0]) if body.theta_joins else None
        theta = body.theta_joins[0] if body.theta_joins else None
        slot = self._family_of(body, form, (part.host.number, epoch))
        is_new = slot is None
        if slot is None:
            slot = Slot(self._free_number(), part, body, form, self.totals)
            slot.keys = [key for _, key in _keys(body, form, (part.host.number, epoch))]
            for key in slot.keys:
                self._by_key.setdefault(key, slot)
            self.slots[slot.number] = slot
        member = slot.member(theta, form)
        seat = JoinSeat(body, slot, member)
        member.seats.append(seat)
        return seat, is_new

    def keys_by_slot(self) -> NDArray[np.int64]:
        """For each slot the key of its first member; -1 where there is none."""
        if self._keys is None:
            self._keys = np.full(self.size, -1, np.int64)
            for number, slot in self.slots.items():
                self._keys[number] = slot.member_keys[0]
        return self._keys

    def leave(self, seat: JoinSeat) -> bool:
        """Free what only this seat used; TRUE when its slot is gone."""
        self._keys = None
        slot = seat.slot
        slot.settle()
        seat.member.seats.remove(seat)
        if seat.member.seats:
            return False
        slot.drop(seat.member)
        if slot.is_used:
            return False
        self._forget(slot, slot.keys)
        del self.slots[slot.number]
        self._soiled.append(slot.number)
        return True

    def compact(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Number the slots without gaps; their numbers before and now. Whatever bits the freed ones have, the caller drops."""
        self._keys = None
        slots = list(self.slots.values())
        before = np.array([slot.number for slot in slots], np.int64)
        self.totals = SlotTotals()
        for number, slot in enumerate(slots):
            slot.move(number, self.totals)
        self.slots = dict(enumerate(slots))
        self.size = len(slots)
        self._clean, self._soiled = [], []
        self.numbering = object()
        return before, np.arange(self.size)

    def take_soiled(self) -> list[int]:
        """Freed slots whose bits the caller now clears on all stored tuples, when there are enough to be worth it."""
        if self._clean or len(self._soiled) <= 8 + self.size // 4:
            return []
        soiled, self._soiled = self._soiled, []
        self._clean += soiled
        return soiled

    def take_all_soiled(self) -> list[int]:
        """The same whether it is worth it or not."""
        soiled, self._soiled = self._soiled, []
        self._clean += soiled
        return soiled

    def absorb(self, other: SlotTable, begin: int) -> None:
        """Take over the slots of another table, numbered from `begin` on; all its free ones are clean."""
        self._keys = None
        self._clean += range(self.size, begin)
        self._clean += [begin + number for number in other._clean]
        self.size = begin + other.size
        for slot in other.slots.values():
            slot.move(begin + slot.number, self.totals)
            self.slots[slot.number] = slot
        for key, slot in other._by_key.items():
            self._by_key.setdefault(key, slot)

    def gather(self, other: SlotTable, slots: Sequence[Slot]) -> NDArray[np.int64]:
        """Take slots of another table, numbered after those that are here; the numbers that they had there."""
        self._keys = None
        before = np.array([slot.number for slot in slots], np.int64)
        for slot in slots:
            slot.move(self.size, self.totals)
            self.slots[slot.number] = slot
            self.size += 1
        for key, slot in other._by_key.items():
            if self.slots.get(slot.number) is slot:
                self._by_key.setdefault(key, slot)
        return before

    def _free_number(self) -> int:
        if self._clean:
            return self._clean.pop()
        self.size += 1
        return self.size - 1

    def _family_of(self, body: Body, form: ThetaForm | None, epoch: Hashable) -> Slot | None:
        for varying, key in _keys(body, form, epoch):
            slot = self._by_key.get(key)
            if slot is None or slot.varying not in (-1, varying):
                continue
            if slot.varying == -1 and varying >= 0:
                slot.varying = varying
                self._forget(slot, [other for other in slot.keys if other != key])
                slot.keys = [key]  # from now on only this parameter may differ
            return slot
        return None

    def _forget(self, slot: Slot, keys: list[Hashable]) -> None:
        for key in keys:
            if self._by_key.get(key) is slot:
                del self._by_key[key]


def _keys(body: Body, form: ThetaForm | None, epoch: Hashable) -> Iterator[tuple[int, Hashable]]:
    """The names under which a family that takes this body can be found, by the parameter that would vary."""
    common = (epoch, body.filters, body.theta_joins[1:], body.residuals, body.bounds)
    if form is None:
        yield -1, common
        return
    if form.shape.wide or not form.shape.is_monotone:
        yield -1, (*common, body.theta_joins[0])
        return
    for varying in varying_parameters(form.shape):
        own = form.parameters
        yield varying, (*common, form.shape, varying, own[:varying] + own[varying + 1 :])
