"""The addresses that `corrigible proxy` takes: the one it listens on, and the API's."""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from .usage_error import UsageError

TLS_BY_SCHEME: Final = {"https": True, "grpcs": True, "http": False, "grpc": False}
_DEFAULT_PORTS: Final = {"https": 443, "http": 80}
_GRPC_TARGET: Final = re.compile(
    r"(?:(?P<scheme>[a-z]+)://)?(?P<host>[^\[\]/@:?#\s]+|\[[0-9a-fA-F:.]+\])(?::(?P<port>\d+))?/?"
)


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def parse_listen(text: str, option: str = "--listen") -> Address:
    """Read `HOST:PORT`; `:PORT` and `PORT` are local ones."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535) or (":" in host and not host.startswith("[")):
        raise UsageError(f"{option} {text}: not HOST:PORT")
    return Address(host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port))


def is_beyond_loopback(host: str) -> bool:
    """Whether other machines may reach what listens on this host. A name counts by all that it resolves to."""
    try:
        found = {str(one[4][0]) for one in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return False  # nothing can listen there
    return not all(_is_loopback(ipaddress.ip_address(address.partition("%")[0])) for address in found)


def _is_loopback(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


_HOST_PORT: Final = re.compile(r"[\w.-]+(?::\d{1,5})?")


def parse_upstream(text: str) -> str:
    """Return a URL's origin in full, with the port unless it is the scheme's default."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        hint = f'; did you mean "http://{text}"?' if _HOST_PORT.fullmatch(text) else ""
        raise UsageError(f"--upstream {text}: not http[s]://host[:port]{hint}")
    if parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise UsageError(f"--upstream {text}: must not have a path, a query or credentials")
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{f':{port}' if port else ''}"


def parse_grpc_upstream(text: str) -> tuple[str, str]:
    """Read `[SCHEME://]HOST:PORT`. Return the scheme (empty if it is missing) and `HOST:PORT`."""
    match = _GRPC_TARGET.fullmatch(text)
    scheme = (match["scheme"] or "") if match is not None else ""
    if match is None or (scheme and scheme not in TLS_BY_SCHEME):
        raise UsageError(f"--grpc-upstream {text}: not HOST:PORT or https://HOST:PORT")
    port = int(match["port"] or _DEFAULT_PORTS.get(scheme, 0))
    if not 0 < port <= 65535:
        raise UsageError(f"--grpc-upstream {text}: not HOST:PORT or https://HOST:PORT")
    return scheme, f"{match['host']}:{port}"
