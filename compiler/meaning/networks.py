"""Networks as ranges of addresses: `10.0.0.0/8` is the addresses 10.0.0.0 to 10.255.255.255.

An IPv6 address that stands for an IPv4 one (`::ffff:10.0.0.1`) counts as that one, in nets too. A net may have bits after its prefix.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Network, ip_network

Range = tuple[int, int]  # first and last address

PRIVATE = (
    "10.0.0.0/8",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "::1/128",
    "fc00::/7",
    "fe80::/10",
)
_MAPPED = 0xFFFF << 32


@lru_cache(maxsize=65_536)
def range_of(net: str) -> tuple[int, Range] | None:
    """4 or 6, and the first and last address of a net; None for a text that is none."""
    try:
        network = ip_network(net.strip(), strict=False)
    except ValueError:
        return None
    first, last = int(network.network_address), int(network.broadcast_address)
    if isinstance(network, IPv6Network):
        if first >> 32 == 0xFFFF and network.prefixlen >= 96:
            return 4, (first - _MAPPED, last - _MAPPED)
        return 6, (first, last)
    return 4, (first, last)


def ranges_of(nets: tuple[str, ...], version: int) -> list[Range]:
    """The ranges of nets of one version, sorted and without overlaps."""
    found = sorted(each[1] for net in nets if (each := range_of(net)) and each[0] == version)
    merged: list[Range] = []
    for first, last in found:
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
