"""Where a broker of messages is, and the sentences for when it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.secret_values import revealed, without_secrets

if TYPE_CHECKING:
    from cqc.compiler.meaning.catalog import Relation

PATIENCE_S = 10.0


class BrokerAddress:
    """What WITH says of a broker, with the values of secrets, which no message shows.

    Raises:
        RunError: when something is missing.
    """

    def __init__(self, relation: Relation, port: int) -> None:
        self._relation = relation
        self._format = relation.options["format"].lower()
        self.options = revealed(relation.options, relation.folder)
        self.topic = self.options.get("topic", "")
        self.user, self.password = self.options.get("user"), self.options.get("password")
        host, colon, given = self.options.get("address", "").rpartition(":")
        if not colon:
            host, given = given, str(port)
        if not host or not self.topic or not given.isdigit():
            raise RunError(
                f"{relation.name} needs WITH (format = '{self._format}', address = 'host:{port}', topic = 'name')"
            )
        self.host, self.port = host.strip("[]"), int(given)

    def cannot_read(self, reason: object) -> RunError:
        """What is said when the stream cannot be read."""
        text = f"cannot read {self._relation.name} from {self._format} at {self.host}:{self.port}: {reason}"
        return RunError(without_secrets(text, self._relation.options, self.options))

    def has_gone(self) -> str:
        """What is said when the connection breaks while it is read."""
        text = f"{self._relation.name}: the connection to {self._format} at {self.host}:{self.port} broke; connecting again"
        return without_secrets(text, self._relation.options, self.options)

    def missing(self, package: str) -> RunError:
        """What is said when the client is not installed."""
        return RunError(
            f"{self._relation.name} is read from {self._format}, which needs `pip install '{package}'`"
        )
