"""The options and the configuration of each API, and the parts of them that change while the proxy runs.

Knows: options, the configuration, which of them a running proxy takes up. Does not know: sockets, files that change.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args
from urllib.parse import urlsplit

from corrigible.proxy.admin.reload import Part
from corrigible.proxy.core.limits import Limits, Timeouts
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.core.relay_seal import Relay
from corrigible.proxy.http.api_routes import ApiRoute
from corrigible.proxy.http.own_location import Rewritten

from . import spec_option
from .addresses import Address, parse_listen, parse_upstream
from .api_plan import ApiPlan, files_of
from .config_file import ApiText, Config
from .time_limit import limits_of, timeouts_of
from .usage_error import UsageError, one_of

EngineMode = Literal["reverse", "regular", "transparent"]
_TAKEN_UP: Final = frozenset(
    {"pack", "spec", "base", "mode", "time_limit", "no_lookups", "map", "map_origin", "config", "run", "settings"}
)
"""Options whose change a running proxy takes up, and what is no option."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The options as they are now, those of the configuration included."""

    args: argparse.Namespace
    config: Config | None
    engine_mode: EngineMode
    mode: Mode
    rewritten: Rewritten
    listen: Address
    limits: Limits
    timeouts: Timeouts
    plans: Sequence[ApiPlan]
    """Empty for gRPC."""

    def plan(self, name: str) -> ApiPlan | None:
        return next((plan for plan in self.plans if plan.name == name), None)


def resolve(given: argparse.Namespace, *, is_first: bool = True) -> Resolved:
    """Read the environment and the configuration. Raises UsageError, and AuthoringError with file and line."""
    args, config = given.settings.resolved(given, is_first=is_first)
    engine_mode = cast(EngineMode, one_of("--engine-mode", args.engine_mode, get_args(EngineMode)))
    mode = Mode(one_of("--mode", args.mode, [mode.value for mode in Mode]))
    rewritten = Rewritten(one_of("--rewrite-location", args.rewrite_location, list(Rewritten)))
    listen = parse_listen(args.listen)
    limits = limits_of(args.time_limit, is_looking_up=not args.no_lookups)
    plans: Sequence[ApiPlan] = []
    if args.grpc_upstream is None:
        if args.descriptors is not None:
            raise UsageError("--descriptors needs --grpc-upstream")
        plans = _plans(args, config, engine_mode, mode, listen, limits)
    return Resolved(args, config, engine_mode, mode, rewritten, listen, limits, timeouts_of(args), plans)


def _plans(
    args: argparse.Namespace,
    config: Config | None,
    engine_mode: EngineMode,
    mode: Mode,
    listen: Address,
    limits: Limits,
) -> Sequence[ApiPlan]:
    if config is not None and config.text.apis:
        if engine_mode != "reverse" or args.upstream or args.pack or args.spec or args.map:
            raise UsageError(
                f"{args.config} has apis: --upstream, --pack, --spec, --map and --engine-mode cannot be used with it"
            )
        return [_plan_of(api, config, args, mode, listen) for api in config.text.apis]
    upstream = _upstream(args.upstream, engine_mode, listen)
    base = spec_option.base_path(args.base)
    if not args.pack and not args.spec:
        raise UsageError("--pack or --spec is required")
    more = {"maps": args.map, "map_origins": args.map_origin, "query_mode": args.query_mode}
    return [ApiPlan(args.pack, args.spec, base, mode, limits, upstream, **more)]


def _plan_of(api: ApiText, config: Config, args: argparse.Namespace, mode: Mode, listen: Address) -> ApiPlan:
    """Return one of several APIs; what it does not say is as for all of them."""
    is_looking_up = not args.no_lookups if api.lookups is None else api.lookups
    return ApiPlan(
        config.found("pack", api.pack),
        config.found("spec", api.spec),
        spec_option.base_path(api.base or ""),
        mode if api.mode is None else Mode(api.mode),
        limits_of(api.time_limit or args.time_limit, is_looking_up=is_looking_up),
        _upstream(api.upstream, "reverse", listen),
        api.name,
        api.hosts,
        api.prefix or "",
        config.found("map", api.map),
        api.map_origin,
        args.query_mode if api.query_mode is None else api.query_mode,
    )


def _upstream(text: str | None, engine_mode: EngineMode, listen: Address) -> str | None:
    if engine_mode != "reverse":
        if text is not None:
            raise UsageError(f"--upstream cannot be used with --engine-mode {engine_mode}")
        return None
    if text is None:
        raise UsageError("--upstream URL is required, except with --engine-mode regular or transparent")
    upstream = parse_upstream(text)
    parts = urlsplit(upstream)
    if listen.port and (parts.hostname, parts.port) == listen:
        raise UsageError(f"--upstream {upstream}: this is the proxy's own address (--listen)")
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

    def parts(self) -> list[Part]:
        """Read the configuration anew, and return what can be loaded. Raises CorrigibleError and OSError."""
        self._now = resolve(self._given, is_first=False)
        return [self._part(name, self._now.plan(name) or plan) for name, plan in self._plans.items()]

    def _part(self, name: str, plan: ApiPlan) -> Part:
        part = plan.part(self._relay, self._routes[name], before=self._plans[name])

        def use(value: Any) -> None:
            part.use(value)
            self._plans[name] = plan

        return Part(part.load, use)

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
