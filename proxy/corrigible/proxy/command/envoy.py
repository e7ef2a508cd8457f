"""`corrigible envoy config`: the configuration of an Envoy that asks correctors, for who runs Envoy already."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

import yaml

from corrigible.proxy.build import load_profiles
from corrigible.proxy.core.limits import Timeouts
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.envoy.bootstrap import bootstrap, envoy_gateway, istio
from corrigible.proxy.envoy.gateway import Gateway, is_asking_for_target, media_types, refusing_operations
from corrigible.proxy.http.api_routes import Upstream
from corrigible.proxy.http.own_location import Rewritten
from corrigible.rules.errors import CorrigibleError

from . import options
from .envoy_engine import GRACE
from .spec_option import spec_files

_TARGETS: Final = ("envoy", "gateway", "istio")
_UNIX: Final = "unix:"


def add(commands: options.Subparsers) -> None:
    """Add the command's options."""
    parser = commands.add_parser("envoy")
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    config = verbs.add_parser(
        "config",
        help="print a configuration",
        description="Print the configuration of Envoy 1.40 or newer for correctors (corrigible corrector) that run "
        "somewhere: a whole one for a plain Envoy, patches for Envoy Gateway and Istio.",
    )
    groups = options.Groups(config)
    options.add_api(groups, listen="127.0.0.1:8080")
    options.add_callers_side(groups)
    options.add(groups, "envoy")
    config.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print. Exit status: 0, 2 an argument is wrong."""
    try:
        document = _document(args)
    except (CorrigibleError, OSError, ValueError) as problem:
        print(f"corrigible envoy config: {problem}", file=sys.stderr)
        return 2
    print(yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=120), end="")
    return 0


def _document(args: argparse.Namespace) -> dict[str, Any]:
    target = options.one_of("--for", args.target, _TARGETS)
    gateway = _gateway(args)
    if target == "istio":
        return istio(gateway, args.name)
    if target == "gateway":
        if args.gateway_listener.count("/") != 2:
            raise options.UsageError(f"--gateway-listener {args.gateway_listener}: not NAMESPACE/GATEWAY/LISTENER")
        return envoy_gateway(gateway, args.name, args.gateway_listener)
    return bootstrap(gateway)


def _gateway(args: argparse.Namespace) -> Gateway:
    mode = Mode(options.one_of("--mode", args.mode, [mode.value for mode in Mode]))
    limits = options.limits_of(args.time_limit, args.body_limit, is_looking_up=True)
    listen = options.parse_listen(args.listen)
    if not args.corrector:
        raise options.UsageError("--corrector HOST:PORT is required")
    correctors = [
        one if one.startswith(_UNIX) else str(options.parse_listen(one, "--corrector")) for one in args.corrector
    ]
    if args.ext_proc and len(correctors) > 1:
        raise options.UsageError(
            "--ext-proc takes one --corrector: the protocol has no choice by the caller, whose it keeps"
        )
    is_grpc = args.grpc_upstream is not None
    if is_grpc:
        scheme, address = options.parse_grpc_upstream(args.grpc_upstream)
        upstream = f"{'https' if options.TLS_BY_SCHEME.get(scheme, False) else 'http'}://{address}"
    elif args.upstream is None:
        raise options.UsageError("--upstream URL is required")
    else:
        upstream = options.parse_upstream(args.upstream)
    trust = options.read_trust(args, plaintext=None if upstream.startswith("https:") else f"the address {upstream}")
    profiles = load_profiles(args.pack, spec_files(args.spec), base=options.base_path(args.base), rpc=is_grpc)
    return Gateway(
        listen.host,
        listen.port,
        Upstream.parse(upstream),
        correctors,
        is_grpc=is_grpc,
        is_ext_proc=args.ext_proc,
        body_limit=limits.body,
        seconds=limits.seconds_with_lookups + GRACE,
        is_none=mode is Mode.NONE,
        asks_for_target=is_asking_for_target(profiles, query_mode=args.query_mode),
        refusing=refusing_operations(profiles),
        media_types=media_types(profiles),
        rewritten=Rewritten(options.one_of("--rewrite-location", args.rewrite_location, list(Rewritten))),
        trust=trust,
        identity=options.read_identity(args),
        # A gateway of one's own has its own routes: nothing chooses them anew.
        timeouts=Timeouts() if args.target == "envoy" else Timeouts(idle=0),
    )


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as people read them."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
