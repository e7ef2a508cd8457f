"""Which API a request is for, where one proxy serves several: by the host that the caller names, or the path's prefix.

Knows: hosts, prefixes, the corrector of each API. Does not know: sockets, files. A prefix is the proxy's own: the API
gets the path without it, and feedback names paths with it, as the caller sends them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from .corrector import HttpCorrector
from .own_location import OwnLocation


class Upstream(NamedTuple):
    """Where an API is."""

    scheme: str
    host: str
    port: int

    @classmethod
    def parse(cls, url: str) -> Upstream:
        """Read `scheme://host[:port]`."""
        parts = urlsplit(url)
        return cls(parts.scheme, parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))

    @property
    def authority(self) -> str:
        """What the API is called in `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.scheme == "https" else 80) else f"{host}:{self.port}"


@dataclass(eq=False, slots=True)
class ApiRoute:
    """One API behind the proxy."""

    corrector: HttpCorrector
    task: str = "correct"
    """What workers know its corrections by."""
    own_location: OwnLocation | None = None
    """Keeps callers from following an answer around the proxy; None where they call the API itself."""
    upstream: Upstream | None = None
    """None where the connection says where requests go."""
    hosts: frozenset[str] = frozenset()
    """In lower case, with the port where only that one is meant. Empty: any."""
    prefix: str = ""
    """`/name`. Empty: any path."""
    name: str = ""
    """What the configuration calls it. Empty where it is the only one."""
    label: str = ""
    """What the log and the metrics call it: its name, else its packs."""

    def takes(self, names: frozenset[str], path: str) -> bool:
        """Whether a request is for this API. `names` are those of the host: without the port, and with it."""
        if self.hosts and self.hosts.isdisjoint(names):
            return False
        return not self.prefix or path == self.prefix or path.startswith(f"{self.prefix}/")

    def stripped(self, target: str) -> str:
        """Return the target that the API knows."""
        rest = target[len(self.prefix) :]
        return rest if rest.startswith("/") else f"/{rest}"


class ApiRoutes:
    """All APIs of one proxy."""

    def __init__(self, routes: Sequence[ApiRoute], *, are_passed_by: bool = False) -> None:
        """`are_passed_by`: whether requests for other hosts are forwarded as they are. Else they are refused."""
        self.are_passed_by = are_passed_by
        # Longer prefixes first, and a named host before any host.
        self._routes = sorted(routes, key=lambda route: (not route.hosts, -len(route.prefix)))
        self._only = routes[0] if len(routes) == 1 and not routes[0].hosts and not routes[0].prefix else None

    def __iter__(self) -> Iterator[ApiRoute]:
        return iter(self._routes)

    @property
    def only(self) -> ApiRoute | None:
        """The one that takes everything, if there is no other."""
        return self._only

    def find(self, host: str, target: str) -> ApiRoute | None:
        """Return the API of a request, None if there is none for it."""
        host = host.lower()
        name = host.partition("]")[0][1:] if host.startswith("[") else host.partition(":")[0]
        path, names = target.partition("?")[0], frozenset((name, host))
        return next((route for route in self._routes if route.takes(names, path)), None)
