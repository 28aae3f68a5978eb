"""Addresses are read as Python reads them."""

from __future__ import annotations

import subprocess
import sys
from ipaddress import IPv6Address, ip_address
from random import Random

import pyarrow as pa

from cqc.runtime.networks.addresses import read_addresses

TEXTS = [
    *("10.0.0.1", "255.255.255.255", "0.0.0.0", "01.2.3.4", "1.2.3", "1.2.3.4.5", "1..2.3", "256.1.1.1"),
    *("::", "::1", "1::", "fe80::1%eth0", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9"),
    *("::ffff:1.2.3.4", "1::2::3", ":1", "1:", "12345::", "g::", "::1.2.3.4", "1:2:3:4:5:6:1.2.3.4"),
    *("1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1.2.3.4::", "", "x", ":::", "a", "1.2.3.4 "),
]  # fmt: skip


def expected(text: str) -> tuple[int, int]:
    try:
        address = ip_address(text)
    except ValueError:
        return 0, 0
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return 4, int(address.ipv4_mapped)
        return 6, int(address) if address.scope_id is None else int(IPv6Address(text.split("%")[0]))
    return 4, int(address)


def test_every_text_is_read_as_python_reads_it() -> None:
    random = Random(7)
    made = [
        "".join(random.choice("0:1f.") for _ in range(random.randrange(2, 12))) for _ in range(3000)
    ]
    texts = [*TEXTS, *made]
    version, high, low = read_addresses(pa.array(texts))
    for at, text in enumerate(texts):
        whole = (int(high[at]) << 64) | int(low[at])
        assert (int(version[at]), whole) == expected(text), text


def test_a_slice_and_nulls() -> None:
    version, _, low = read_addresses(pa.array(["x", "1.2.3.4", None, "::"])[1:])
    assert version.tolist() == [4, 0, 6]
    assert int(low[0]) == 0x01020304


def test_python_reads_them_as_the_machine_does() -> None:
    """Runs over a handful of rows do not compile kernels; that is for a process of its own to see."""
    program = (
        "from cqc.runtime.kernel import begin_plain, is_plain\n"
        "begin_plain(float('inf'))\n"
        "import pyarrow as pa\n"
        "from cqc.runtime.networks.addresses import read_addresses\n"
        f"found = read_addresses(pa.array({TEXTS!r}))\n"
        "assert is_plain()\n"
        "print([(int(v), int(h) << 64 | int(l)) for v, h, l in zip(*found)])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert ran.stdout.strip() == str([expected(text) for text in TEXTS]), ran.stderr
