"""Names and addresses of hosts, as users and Host headers write them."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine alone."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_address(name: str) -> bool:
    """Whether a host is given in numbers."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def host_name(header: str) -> str:
    """The name in a Host header, without the port."""
    if header.startswith("["):
        return header.partition("]")[0].lstrip("[")
    return header.partition(":")[0]


def plain_name(name: str) -> str:
    """The form in which names of hosts are compared."""
    return name.strip().strip("[]").lower().rstrip(".")
