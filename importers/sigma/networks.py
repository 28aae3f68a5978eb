"""Networks of addresses: `cidr_match` where the language has it, else an exact regular expression."""

from __future__ import annotations

from functools import cache
from typing import Any

from sigma.exceptions import SigmaFeatureNotSupportedByBackendError

from cqc.importers.program_text import text
from cqc.importers.spoken import is_spoken

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_PROBE = "SELECT a FROM s WHERE cidr_match(a, '10.0.0.0/8')"


@cache
def _has_function() -> bool:
    return is_spoken(_PROBE)


def in_network(column: str, network: Any) -> str:
    """The condition that a column has an address of a network."""
    if _has_function():
        return f"cidr_match({column}, {text(str(network))})"
    if network.version != 4:
        raise SigmaFeatureNotSupportedByBackendError(
            f"the network {network} is of IPv6, and this cqc has no cidr_match"
        )
    return f"{column} RLIKE {text(_expression(network))}"


def _expression(network: Any) -> str:
    """All addresses of an IPv4 network, and nothing else."""
    first, last = (str(each).split(".") for each in (network[0], network[-1]))
    octets = []
    for low, high in zip(first, last, strict=True):
        if low == high:
            octets.append(low)
        elif (low, high) == ("0", "255"):
            octets.append(_OCTET)
        else:
            octets.append("(?:" + "|".join(map(str, range(int(low), int(high) + 1))) + ")")
    return r"^" + r"\.".join(octets) + "$"
