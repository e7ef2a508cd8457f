"""One API of a proxy as its options say: its packs and descriptions, loaded at the start and when they change.

Knows: packs, descriptions, limits of one API. Does not know: options, sockets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corrigible.proxy.admin.reload import Part
from corrigible.proxy.build import build_engine
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.loop.detector import Loops
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.core.relay_seal import Relay
from corrigible.proxy.http.api_routes import ApiRoute, Upstream
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.own_location import OwnLocation, Rewritten

from . import map_option, spec_option


@dataclass(frozen=True, slots=True)
class ApiPlan:
    """What to load for one API, and which requests are for it."""

    packs: Sequence[str]
    specs: Sequence[str]
    """Files and URLs, as they were given."""
    base: str
    mode: Mode
    limits: Limits
    upstream: str | None
    name: str = ""
    """Empty where it is the only one."""
    hosts: frozenset[str] = frozenset()
    prefix: str = ""
    maps: Sequence[str] = ()
    """Files of mappings."""
    map_origins: Sequence[str] = ()
    query_mode: bool = False
    """Whether `?mode=` is the proxy's also where nothing describes the API."""

    @property
    def task(self) -> str:
        """What workers know its corrections by."""
        return f"correct {self.name}" if self.name else "correct"

    def load(self, relay: Relay | None) -> tuple[Engine, list[str]]:
        """Load packs and descriptions; return also what is worth a line each. Raises CorrigibleError and OSError."""
        with spec_option.warned() as lines:
            files = spec_option.spec_files(self.specs)
            maps = map_option.map_files(self.maps, self.map_origins, self.upstream)
            engine = build_engine(self.packs, files, self.limits, base=self.base, relay=relay, maps=maps)
        engine.warm_up()
        told = spec_option.told(lines, files, self.specs)
        return engine, [*told, *spec_option.described(engine.profiles, self.specs)]

    def route(self, engine: Engine, loops: Loops, rewritten: Rewritten) -> ApiRoute:
        """Return the API as front ends see it."""
        query_mode = True if self.query_mode else None
        corrector = HttpCorrector(
            engine, mode=self.mode, query_mode=query_mode, loops=loops, name=self.name, prefix=self.prefix
        )
        own_location = None if self.upstream is None else OwnLocation(self.upstream, rewritten, self.prefix)
        upstream = Upstream.parse(self.upstream) if self.upstream is not None else None
        label = self.name or engine.packs
        return ApiRoute(corrector, self.task, own_location, upstream, self.hosts, self.prefix, self.name, label)

    def part(self, relay: Relay | None, route: ApiRoute, *, before: ApiPlan | None = None) -> Part:
        """Return what can be loaded anew of it. `before` is what was said of the API: what differs is told."""

        def load() -> tuple[Engine, list[str]]:
            engine, lines = self.load(relay)
            if before is not None and self != before:
                lines.append(f"{self.name or 'the API'}: {self.served(engine)}")
            return engine, lines

        def use(engine: Engine) -> None:
            route.corrector.use(engine)
            route.corrector.mode = self.mode

        return Part(load, use)

    def described(self, engine: Engine) -> str:
        """Return where it is, and what is loaded for it."""
        places = [*(f"{host}{self.prefix}" for host in sorted(self.hosts)), *([] if self.hosts else [self.prefix])]
        where = f"{', '.join(places)} " if any(places) else ""
        return f"{where}-> {self.upstream} ({self.served(engine)})"

    def served(self, engine: Engine) -> str:
        """Return which packs serve it, and in which mode."""
        return f"{engine.packs}; {self.mode.value}"


def files_of(packs: Sequence[Path], descriptions: Sequence[str | Path]) -> Iterator[Path]:
    """Yield the files of packs, by their folders, and of descriptions and maps: of folders all that is in them."""
    for folder in packs:
        yield from folder.rglob("*.yaml")
        yield from folder.rglob("*.json")
    for description in descriptions:
        if "://" not in str(description):
            path = Path(description)
            yield from path.rglob("*") if path.is_dir() else (path,)
