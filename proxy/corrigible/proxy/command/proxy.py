"""`corrigible proxy`: stand between callers and an API, and make its refusals correctable."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args
from urllib.parse import urlsplit

from corrigible.proxy.access_log.entry import AccessLog
from corrigible.proxy.build import SpecWarning, build_corrector, build_dispatcher, build_loops
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.core.relay_seal import Relay
from corrigible.proxy.runtime.fork_server import Served
from corrigible.proxy.tls_files import Identity, Trust, WrongFile
from corrigible.rules.errors import CorrigibleError, suggest_spelling

from . import grpc
from .relay_key import KEY_VARIABLE, read_key
from .usage_error import Address, UsageError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_MOST_DOUBTS = 5
"""Complaints about a description that are shown."""
_LONGEST = 3600.0
"""Seconds that a caller can be made to wait: beyond that somebody meant milliseconds."""
EngineMode = Literal["reverse", "regular", "transparent"]


def add(subparsers: Subparsers) -> None:
    """Add the command's options. What they may be is checked by `run`, which answers in one line."""
    parser = subparsers.add_parser(
        "proxy",
        help="stand between callers and an API, and make its refusals correctable",
        description="Carry requests to an API and its answers back. Where it refuses, and a rule of a pack "
        "knows what would help, that is added to the answer. Everything else passes unchanged.",
    )
    parser.add_argument("--upstream", metavar="URL", help="the API: http[s]://host[:port]")
    parser.add_argument(
        "--pack",
        metavar="NAME_OR_PATH",
        action="append",
        default=[],
        help="a rule pack; may be given several times",
    )
    parser.add_argument("--listen", metavar="HOST:PORT", default="127.0.0.1:8080", help="default: %(default)s")
    parser.add_argument(
        "--mode",
        metavar="|".join(Mode),
        default=Mode.REFLECTIVE.value,
        help="how much is said where the caller does not ask; default: %(default)s",
    )
    parser.add_argument("--upstream-ca", metavar="FILE", type=Path, help="the only CAs to trust upstream (PEM)")
    parser.add_argument("--upstream-insecure", action="store_true", help="do not check the upstream's certificate")
    parser.add_argument(
        "--upstream-cert",
        metavar="FILE",
        type=Path,
        help="a client certificate and its key (PEM) to show upstream, whoever is calling",
    )
    parser.add_argument("--tls-cert", metavar="FILE", type=Path, help="a certificate for callers with TLS (PEM)")
    parser.add_argument("--tls-key", metavar="FILE", type=Path, help="its key, where that is in a file of its own")
    grpc.add(parser)
    parser.add_argument(
        "--spec", metavar="FILE", type=Path, help="the API's own OpenAPI description: speaks where no rule does"
    )
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        default=Limits().seconds_with_lookups,
        help="a correction that took longer, look-ups included, is left out; default: %(default)s",
    )
    parser.add_argument(
        "--relay-key",
        metavar="FILE",
        type=Path,
        default=os.environ.get(KEY_VARIABLE) or None,
        help="a secret that proxies before and behind a Kubernetes API server share: feedback that comes through it "
        f"is believed where it is sealed with it; default: the file that {KEY_VARIABLE} names",
    )
    parser.add_argument("--log", metavar="FILE.jsonl", type=Path, help="append one line per exchange, no secrets")
    parser.add_argument(
        "--engine-mode",
        metavar="|".join(get_args(EngineMode)),
        default="reverse",
        help="mitmproxy's mode; regular and transparent need no --upstream; default: %(default)s",
    )
    parser.add_argument(
        "--addons",
        metavar="lean|full",
        default="lean",
        help="full keeps mitmproxy's whole default addon set, which is slower; default: %(default)s",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT: 0. A wrong argument is 2, an address that is taken 1."""
    try:
        engine_mode = cast(EngineMode, _one_of(args.engine_mode, get_args(EngineMode), "--engine-mode"))
        addons = _one_of(args.addons, ("lean", "full"), "--addons")
        mode = Mode(_one_of(args.mode, [known.value for known in Mode], "--mode"))
        listen = parse_listen(args.listen)
        limits = _limits(args.time_limit)
        relay = Relay(read_key(Path(args.relay_key))) if args.relay_key is not None else None
        if args.grpc_upstream is not None:
            return grpc.run(args, mode, listen, limits)
        if args.descriptors is not None:
            raise UsageError("--descriptors needs --grpc-upstream")
        upstream = _upstream(args.upstream, engine_mode, listen)
        trust, identity = _trust(args, upstream), _identity(args, engine_mode)
        if not args.pack and args.spec is None:
            raise UsageError("give at least one --pack, or a --spec")
    except (UsageError, WrongFile, CorrigibleError, OSError) as problem:
        return _complain(problem, 2)
    try:
        # Slow to import, and an extra: not before the arguments are known to be good.
        from corrigible.proxy.mitm.server import Settings
        from corrigible.proxy.mitm.server import run as serve
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("mitmproxy", "mitmproxy_rs"):
            raise
        return _complain("mitmproxy is not installed: pip install 'corrigible[mitmproxy]'", 1)
    try:
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("always", SpecWarning)
            loops = build_loops()
            corrector = build_corrector(args.pack, mode=mode, spec=args.spec, limits=limits, loops=loops, relay=relay)
    except (CorrigibleError, OSError, ValueError) as problem:
        return _complain(problem, 2)
    corrector.engine.warm_up()
    for doubt in doubts[:_MOST_DOUBTS]:
        print(f"corrigible proxy: {doubt.message}", file=sys.stderr)
    try:
        access_log = AccessLog(args.log) if args.log is not None else None
    except OSError as problem:
        return _complain(f"cannot write the log {args.log}: {(problem.strerror or str(problem)).lower()}", 2)
    label = f"{', '.join(known.pack.name for known in corrector.engine.profiles)}; {mode.value}"
    target = f"-> {upstream}" if upstream is not None else f"as a {engine_mode} proxy"
    settings = Settings(
        host=listen.host,
        port=listen.port,
        upstream=upstream,
        engine_mode=engine_mode,
        all_addons=addons == "full",
        body_limit=corrector.limits.body,
        trust=trust,
        identity=identity,
    )
    if trust.insecure:
        print("corrigible proxy: --upstream-insecure: the upstream's certificate is not checked", file=sys.stderr)
    work: Served = {"correct": corrector.correct, "succeeded": loops.succeeded}
    with closing(build_dispatcher(work, loops)) as dispatcher:
        return serve(
            settings,
            corrector,
            access_log=access_log,
            line=lambda at: f"corrigible: {at} {target} ({label})",
            dispatcher=dispatcher,
        )


def parse_listen(text: str) -> Address:
    """Read `HOST:PORT`; `:PORT` and `PORT` are local ones."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535) or (":" in host and not host.startswith("[")):
        raise UsageError(f"--listen {text}: not HOST:PORT")
    return Address(host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port))


def parse_upstream(text: str) -> str:
    """Return a URL's origin in full, with the port spelled out where it is not the scheme's own."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise UsageError(f"--upstream {text}: not http[s]://host[:port]")
    if parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise UsageError(f"--upstream {text}: an origin only, without path, query or credentials")
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{f':{port}' if port else ''}"


def _upstream(text: str | None, engine_mode: EngineMode, listen: Address) -> str | None:
    if engine_mode != "reverse":
        if text is not None:
            raise UsageError(f"--upstream has no meaning with --engine-mode {engine_mode}")
        return None
    if text is None:
        raise UsageError("give --upstream URL (only --engine-mode regular and transparent go without)")
    upstream = parse_upstream(text)
    parts = urlsplit(upstream)
    if listen.port and (parts.hostname, parts.port) == listen:
        raise UsageError(f"--upstream {upstream}: that is where this proxy listens")
    return upstream


def _trust(args: argparse.Namespace, upstream: str | None) -> Trust:
    trust = Trust(args.upstream_ca, args.upstream_insecure, args.upstream_cert)
    if trust.ca is not None and trust.insecure:
        raise UsageError("--upstream-ca and --upstream-insecure: give one of the two")
    given = {"--upstream-ca": trust.ca, "--upstream-insecure": trust.insecure, "--upstream-cert": trust.certificate}
    if upstream is not None and not upstream.startswith("https:"):
        for option, value in given.items():
            if value:
                raise UsageError(f"{option} has no meaning with --upstream {upstream}")
    trust.check()
    return trust


def _identity(args: argparse.Namespace, engine_mode: EngineMode) -> Identity | None:
    if args.tls_cert is None:
        if args.tls_key is not None:
            raise UsageError("--tls-key needs --tls-cert")
        return None
    if engine_mode != "reverse":
        raise UsageError(f"--tls-cert has no meaning with --engine-mode {engine_mode}")
    identity = Identity(args.tls_cert, args.tls_key)
    identity.check()
    return identity


def _limits(text: str | float) -> Limits:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= _LONGEST:  # not a number is refused here as well
        raise UsageError(f"--time-limit {text}: not a number of seconds over 0, up to {_LONGEST:.0f}")
    return Limits.within(seconds)


def _one_of(word: str, known: Sequence[str], option: str) -> str:
    if word not in known:
        raise UsageError(f"{option} {word}: there is {', '.join(known)}{suggest_spelling(word, known)}")
    return word


def _complain(problem: object, status: int) -> int:
    print(f"corrigible proxy: {problem}", file=sys.stderr)
    return status
