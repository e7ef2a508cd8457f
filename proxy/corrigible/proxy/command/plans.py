"""The options and the configuration of each API, and the parts of them that change while the proxy runs.

Knows: options, the configuration, which of them a running proxy takes up. Does not know: sockets, files that change.
What takes time to import is imported where an API is loaded.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast, get_args
from urllib.parse import urlsplit

from corrigible.proxy.core.limits import Limits, Timeouts
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.own_location import OwnLocation, Rewritten
from corrigible.proxy.tls_files import Trust

from . import options

if TYPE_CHECKING:
    from corrigible.proxy.admin.reload import Part
    from corrigible.proxy.build import MapFiles
    from corrigible.proxy.core.engine import Engine
    from corrigible.proxy.core.loop.detector import Loops
    from corrigible.proxy.core.relayed_feedback import Relay
    from corrigible.proxy.http.api_routes import ApiRoute

    from .config_file import ApiText, Config

_TAKEN_UP: Final = frozenset(
    {"pack", "spec", "base", "mode", "time_limit", "no_lookups", "map", "map_origin", "config", "run", "settings"}
)
"""Options whose change a running proxy takes up, and what is no option."""


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
        from corrigible.proxy.build import build_engine

        from . import spec_option

        with spec_option.warned() as lines:
            files = spec_option.spec_files(self.specs)
            maps = map_files(self.maps, self.map_origins, self.upstream)
            engine = build_engine(self.packs, files, self.limits, base=self.base, relay=relay, maps=maps)
        engine.warm_up()
        told = spec_option.told(lines, files, self.specs)
        return engine, [*told, *spec_option.described(engine.profiles, self.specs)]

    def route(self, engine: Engine, loops: Loops, rewritten: Rewritten) -> ApiRoute:
        """Return the API as front ends see it."""
        from corrigible.proxy.http.api_routes import ApiRoute, Upstream
        from corrigible.proxy.http.corrector import HttpCorrector

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

        from corrigible.proxy.admin.reload import Part

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


def map_files(maps: Sequence[str], origins: Sequence[str], upstream: str | None) -> MapFiles:
    """Return what to load. Raises UsageError for what is no origin."""
    from corrigible.adapters.mapping.map_index import origin_of
    from corrigible.proxy.build import MapFiles

    for one in origins:
        if "://" not in one or not origin_of(one):
            raise options.UsageError(f"--map-origin {one}: not an address such as https://api.example.com")
    return MapFiles([Path(one) for one in maps], upstream or "", origins)


@dataclass(frozen=True, slots=True)
class Resolved:
    """The options as they are now, those of the configuration included."""

    args: argparse.Namespace
    config: Config | None
    engine_mode: options.EngineMode
    mode: Mode
    rewritten: Rewritten
    listen: options.Address
    limits: Limits
    timeouts: Timeouts
    plans: Sequence[ApiPlan]
    """Empty for gRPC."""

    def plan(self, name: str) -> ApiPlan | None:
        return next((plan for plan in self.plans if plan.name == name), None)


def resolve(given: argparse.Namespace, *, is_first: bool = True) -> Resolved:
    """Read the environment and the configuration. Raises UsageError, and AuthoringError with file and line."""
    args, config = given.settings.resolved(given, is_first=is_first)
    engine_mode = cast(
        options.EngineMode, options.one_of("--engine-mode", args.engine_mode, get_args(options.EngineMode))
    )
    mode = Mode(options.one_of("--mode", args.mode, [mode.value for mode in Mode]))
    rewritten = Rewritten(options.one_of("--rewrite-location", args.rewrite_location, list(Rewritten)))
    listen = options.parse_listen(args.listen)
    limits = options.limits_of(args.time_limit, args.body_limit, is_looking_up=not args.no_lookups)
    plans: Sequence[ApiPlan] = []
    if args.grpc_upstream is None:
        if args.descriptors is not None:
            raise options.UsageError("--descriptors needs --grpc-upstream")
        plans = _plans(args, config, engine_mode, mode, listen, limits)
    return Resolved(args, config, engine_mode, mode, rewritten, listen, limits, options.timeouts_of(args), plans)


def _plans(
    args: argparse.Namespace,
    config: Config | None,
    engine_mode: options.EngineMode,
    mode: Mode,
    listen: options.Address,
    limits: Limits,
) -> Sequence[ApiPlan]:
    if config is not None and config.text.apis:
        if engine_mode != "reverse" or args.upstream or args.pack or args.spec or args.map:
            raise options.UsageError(
                f"{args.config} has apis: --upstream, --pack, --spec, --map and --engine-mode cannot be used with it"
            )
        return [plan_of(api, config, args, mode, listen) for api in config.text.apis]
    upstream = _upstream(args.upstream, engine_mode, listen)
    base = options.base_path(args.base)
    if not args.pack and not args.spec:
        raise options.UsageError("--pack or --spec is required")
    more = {"maps": args.map, "map_origins": args.map_origin, "query_mode": args.query_mode}
    return [ApiPlan(args.pack, args.spec, base, mode, limits, upstream, **more)]


def plan_of(api: ApiText, config: Config, args: argparse.Namespace, mode: Mode, listen: options.Address) -> ApiPlan:
    """Return one of several APIs; what it does not say is as for all of them."""
    is_looking_up = not args.no_lookups if api.lookups is None else api.lookups
    return ApiPlan(
        config.found("pack", api.pack),
        config.found("spec", api.spec),
        options.base_path(api.base or ""),
        mode if api.mode is None else Mode(api.mode),
        options.limits_of(api.time_limit or args.time_limit, args.body_limit, is_looking_up=is_looking_up),
        _upstream(api.upstream, "reverse", listen),
        api.name,
        api.hosts,
        api.prefix or "",
        config.found("map", api.map),
        api.map_origin,
        args.query_mode if api.query_mode is None else api.query_mode,
    )


def _upstream(text: str | None, engine_mode: options.EngineMode, listen: options.Address) -> str | None:
    if engine_mode != "reverse":
        if text is not None:
            raise options.UsageError(f"--upstream cannot be used with --engine-mode {engine_mode}")
        return None
    if text is None:
        raise options.UsageError("--upstream URL is required, except with --engine-mode regular or transparent")
    upstream = options.parse_upstream(text)
    parts = urlsplit(upstream)
    if listen.port and (parts.hostname, parts.port) == listen:
        raise options.UsageError(f"--upstream {upstream}: this is the proxy's own address (--listen)")
    return upstream


class RunningPlans:
    """The APIs of a running proxy, each with what the configuration says of it now."""

    def __init__(
        self, given: argparse.Namespace, started: Resolved, relay: Relay | None, routes: Sequence[ApiRoute]
    ) -> None:
        """`routes` are those of the plans that the proxy was started with, in their order."""
        self._given, self._started, self._relay = given, started, relay
        self._routes = dict(zip((plan.name for plan in started.plans), routes, strict=True))
        self._now = started
        self._plans = {plan.name: plan for plan in started.plans}
        """What is in use."""

    def parts(self) -> Sequence[Part]:
        """Read the configuration anew, and return what can be loaded. Raises CorrigibleError and OSError."""
        self._now = resolve(self._given, is_first=False)
        return [self._part(name, self._now.plan(name) or plan) for name, plan in self._plans.items()]

    def _part(self, name: str, plan: ApiPlan) -> Part:
        part = plan.part(self._relay, self._routes[name], before=self._plans[name])

        def use(value: Any) -> None:
            part.use(value)
            self._plans[name] = plan

        return replace(part, use=use)

    def files(self) -> Iterator[Path]:
        """Yield the files of packs, descriptions and the configuration."""
        if self._started.config is not None:
            yield self._started.config.source.path
        loaded = [profile.pack.path for route in self._routes.values() for profile in route.corrector.engine.profiles]
        named = [Path(pack) for plan in self._now.plans for pack in plan.packs if Path(pack).is_dir()]
        specs = [file for plan in self._now.plans for file in (*plan.specs, *plan.maps)]
        yield from files_of(list(dict.fromkeys([*loaded, *named])), specs)

    def pending(self) -> str:
        """Return what has changed and needs a restart, empty where nothing has."""
        return ", ".join(differences(self._started, self._now))


_HTTP_ONLY: Final[Mapping[str, object]] = {"upstream": None, "spec": [], "base": "", "engine_mode": "reverse"}
"""Options for HTTP only, with their defaults."""


class GrpcPlan:
    """What to load for a gRPC API, now and when the options are read anew."""

    def __init__(
        self,
        args: argparse.Namespace,
        limits: Limits,
        given: argparse.Namespace | None = None,
        first: Resolved | None = None,
    ) -> None:
        """Without `first`, the options as they were resolved, nothing but files changes. Raises CorrigibleError."""
        for option, default in _HTTP_ONLY.items():
            if getattr(args, option, default) != default:
                raise options.UsageError(f"--{option.replace('_', '-')} cannot be used with --grpc-upstream")
        self.args, self._limits = args, limits
        self._given, self._first, self._now = given, first, first
        scheme, self.address = options.parse_grpc_upstream(args.grpc_upstream)
        if first is not None and self.address == str(first.listen):
            raise options.UsageError(f"--grpc-upstream {self.address}: this is the proxy's own address (--listen)")
        may_be_secure = options.TLS_BY_SCHEME.get(scheme, True)
        self.trust = options.read_trust(
            args, plaintext=None if may_be_secure else f"--grpc-upstream {args.grpc_upstream}"
        )
        self.is_secure = options.TLS_BY_SCHEME.get(scheme, self.trust != Trust())

    @property
    def target(self) -> str:
        """Where the API is."""
        return f"{'grpcs' if self.is_secure else 'grpc'}://{self.address}"

    @property
    def origin(self) -> str:
        """The same as of HTTP."""
        return f"{'https' if self.is_secure else 'http'}://{self.address}"

    def load(self) -> Engine:
        """Load the packs. Raises CorrigibleError and OSError."""
        from corrigible.proxy.build import build_engine

        args = self.args if self._now is None else self._now.args
        limits = self._limits if self._now is None else self._now.limits
        engine = build_engine(
            args.pack, limits=limits, rpc=True, maps=map_files(args.map, args.map_origin, self.origin)
        )
        engine.warm_up()
        return engine

    def load_anew(self) -> Engine:
        """Read the options again, and load the packs. Raises CorrigibleError and OSError."""
        if self._given is not None:
            self._now = resolve(self._given, is_first=False)
        return self.load()

    def files(self, engine: Engine) -> Iterator[Path]:
        """Yield the files of packs, descriptors, maps and the configuration."""
        args = self.args if self._now is None else self._now.args
        if self._first is not None and self._first.config is not None:
            yield self._first.config.source.path
        loaded = [profile.pack.path for profile in engine.profiles]
        named = [Path(pack) for pack in args.pack if Path(pack).is_dir()]
        descriptors = [self.args.descriptors] if self.args.descriptors is not None else []
        yield from files_of(list(dict.fromkeys([*loaded, *named])), [*descriptors, *args.map])

    def pending(self) -> str:
        """Return what has changed and needs a restart, empty where nothing has."""
        if self._first is None or self._now is None:
            return ""
        return ", ".join(differences(self._first, self._now, also=("mode",)))


def differences(started: Resolved, now: Resolved, *, also: Sequence[str] = ()) -> Iterator[str]:
    """Yield the members of the configuration whose change a running proxy does not take up. `also`: further ones."""
    before, after = vars(started.args), vars(now.args)
    for name in sorted({*before, *after} - (_TAKEN_UP - {*also})):
        if before.get(name) != after.get(name):
            yield name
    old, new = ({plan.name: plan for plan in resolved.plans} for resolved in (started, now))
    for name in dict.fromkeys([*old, *new]):
        if name not in old or name not in new:
            yield f"apis ({name or 'the only one'} is {'new' if name not in old else 'gone'})"
        elif name:
            members = (("upstream", "upstream"), ("hosts", "host"), ("prefix", "prefix"), ("query_mode", "query_mode"))
            yield from (
                f"{said} of {name}" for own, said in members if getattr(old[name], own) != getattr(new[name], own)
            )
