"""Slots: which bodies share one, and how freed ones come back."""

from __future__ import annotations

from cqc.runtime.join.membership.slots import SlotTable
from tests.support.join_nodes import SmallNode

FAMILY = "".join(
    f"SELECT a.k AS x FROM a, b WHERE a.k = b.k AND a.v < {factor} * b.v MAXWINDOW 5 SEC;"
    for factor in (3, 1, 2)
)
OTHER = "SELECT a.k AS x FROM a, b WHERE a.k = b.k AND a.l > 3 MAXWINDOW 5 SEC;"


def test_bodies_that_differ_in_one_constant_share_a_slot_in_its_order() -> None:
    node = SmallNode(FAMILY + OTHER)
    assert [seat.slot.number for seat in node.seats] == [0, 0, 0, 1]
    slot = node.seats[0].slot
    slot.arrange()
    assert slot.is_family
    assert [member.form.parameters[2] for member in slot.members if member.form] == [1.0, 2.0, 3.0]


def test_results_of_a_family_are_settled_member_by_member() -> None:
    node = SmallNode(FAMILY)
    node.push("a", [(1, 7, 0, 15.0)])
    node.push("b", [(1, 7, 0, 10.0)])
    assert [seat.results for seat in node.seats] == [1, 0, 1]  # 15 < 3 * 10 and 15 < 2 * 10


def test_a_freed_slot_is_used_again_once_its_bits_are_cleared() -> None:
    node = SmallNode(OTHER)
    table, part, body = SlotTable(), node.join.parts[0], node.bodies[0]
    seats = [table.place(part, body, epoch)[0] for epoch in range(20)]
    assert table.size == 20
    for seat in seats[:15]:
        assert table.leave(seat)
    soiled = table.take_soiled()
    assert soiled == list(range(15))
    seat, is_new = table.place(part, body, "later")
    assert is_new
    assert seat.slot.number in soiled
    assert table.size == 20


def test_slots_are_numbered_without_gaps_when_most_have_left() -> None:
    node = SmallNode(OTHER)
    table, part, body = SlotTable(), node.join.parts[0], node.bodies[0]
    seats = [table.place(part, body, epoch)[0] for epoch in range(5)]
    for seat in (seats[0], seats[3]):
        table.leave(seat)
    before, now = table.compact()
    assert before.tolist() == [1, 2, 4]
    assert now.tolist() == [0, 1, 2]
    assert [seats[at].slot_number for at in (1, 2, 4)] == [0, 1, 2]
