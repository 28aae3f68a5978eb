"""What travels between a spool and a receiver."""

from cqc.runtime.receivers.receiver import Columns, RefusedError, Sent, UnreachableError


def test_a_result_knows_its_values() -> None:
    assert Sent(1, "i", "q", '{"row": {"x": 1}}', Columns((), (), "BIGINT")).value() == {
        "row": {"x": 1}
    }


def test_errors_say_what_was_taken_all_the_same() -> None:
    assert UnreachableError("down", 3.0, [1, 2]).taken == {1, 2}
    refused = RefusedError("no", 400, [3], taken=[1])
    assert (refused.refused, refused.taken, RefusedError("no").refused) == ({3}, {1}, None)
