"""Messages of MQTT, NATS and Redis: who is not there is tried again, in words that name the place."""

import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.messages import MqttReceiver, NatsReceiver, RedisReceiver
from cqc.runtime.receivers.receiver import Columns, Sent, Setting, UnreachableError
from tests.integration.sinks.receivers import free_port

RESULT = Sent(1, "id", "q", '{"row": {}}', Columns((), (), "BIGINT"))


def setting(address: str) -> Setting:
    return Setting("s", {"address": address, "topic": "t", "timeout": "2"}, "p")


@pytest.mark.parametrize("made", [MqttReceiver, NatsReceiver, RedisReceiver])
def test_a_server_that_is_not_there_is_tried_again(made: type) -> None:
    with pytest.raises(UnreachableError):
        made(setting(f"127.0.0.1:{free_port()}")).send([RESULT])


def test_an_address_that_is_none_is_told() -> None:
    with pytest.raises(RunError, match="host:port"):
        RedisReceiver(setting("127.0.0.1:port"))
