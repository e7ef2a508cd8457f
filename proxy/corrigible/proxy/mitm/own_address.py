"""Whether a connection leads back to this proxy.

Knows: addresses of sockets. Does not know: names and URLs; only the peer address of the connection counts.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable

Address = tuple[str, int]


def is_own(peer: Address, listening: Iterable[Address]) -> bool:
    """Whether this peer is one of the addresses that the proxy listens on."""
    return any(port == peer[1] and _covers(host, peer[0]) for host, port in listening)


def _covers(own: str, address: str) -> bool:
    own_ip, other_ip = _parse_address(own), _parse_address(address)
    return own_ip == other_ip or (own_ip.is_unspecified and _is_local(other_ip))


def _parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.ip_address(host.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def _is_local(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether the address belongs to this machine: only those can be bound."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True
