"""`corrigible proxy`: stand between callers and an API, and make its refusals correctable."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, cast, get_args
from urllib.parse import urlsplit

from corrigible.rules.failure import CorrigibleError, meant

from ..build import build_corrector
from ..journal import Journal
from ..mode import Mode

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

EngineMode = Literal["reverse", "regular", "transparent"]


class Misused(Exception):
    """An argument makes no sense. The message is the one line the user sees."""


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int


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
    parser.add_argument("--spec", metavar="FILE", type=Path, help="the API's own OpenAPI description")
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
        upstream = _upstream(args.upstream, engine_mode, listen)
        if not args.pack:
            raise Misused("give at least one --pack")
    except Misused as problem:
        return _complain(problem, 2)
    try:
        # Slow to import, and an extra: not before the arguments are known to be good.
        from ..mitm import Settings
        from ..mitm import run as serve
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("mitmproxy", "mitmproxy_rs"):
            raise
        return _complain("mitmproxy is not installed: pip install 'corrigible[mitmproxy]'", 1)
    try:
        corrector = build_corrector(args.pack, mode=mode, spec=args.spec)
    except (CorrigibleError, OSError, ValueError) as problem:
        return _complain(problem, 2)
    try:
        journal = Journal(args.log) if args.log is not None else None
    except OSError as problem:
        return _complain(f"cannot write the log {args.log}: {(problem.strerror or str(problem)).lower()}", 2)
    label = f"{', '.join(known.pack.name for known in corrector.translator.known)}; {mode.value}"
    target = f"-> {upstream}" if upstream is not None else f"as a {engine_mode} proxy"
    settings = Settings(
        host=listen.host,
        port=listen.port,
        upstream=upstream,
        engine_mode=engine_mode,
        all_addons=addons == "full",
        body_limit=corrector.limits.body,
    )
    return serve(settings, corrector, journal=journal, line=lambda at: f"corrigible: {at} {target} ({label})")


def parse_listen(text: str) -> Address:
    """Read `HOST:PORT`; `:PORT` and `PORT` are local ones."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535) or (":" in host and not host.startswith("[")):
        raise Misused(f"--listen {text}: not HOST:PORT")
    return Address(host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port))


def parse_upstream(text: str) -> str:
    """Return a URL's origin in full, with the port spelled out where it is not the scheme's own."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise Misused(f"--upstream {text}: not http[s]://host[:port]")
    if parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise Misused(f"--upstream {text}: an origin only, without path, query or credentials")
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{f':{port}' if port else ''}"


def _upstream(text: str | None, engine_mode: EngineMode, listen: Address) -> str | None:
    if engine_mode != "reverse":
        if text is not None:
            raise Misused(f"--upstream has no meaning with --engine-mode {engine_mode}")
        return None
    if text is None:
        raise Misused("give --upstream URL (only --engine-mode regular and transparent go without)")
    upstream = parse_upstream(text)
    parts = urlsplit(upstream)
    if listen.port and (parts.hostname, parts.port) == listen:
        raise Misused(f"--upstream {upstream}: that is where this proxy listens")
    return upstream


def _one_of(word: str, known: Sequence[str], option: str) -> str:
    if word not in known:
        raise Misused(f"{option} {word}: there is {', '.join(known)}{meant(word, known)}")
    return word


def _complain(problem: object, status: int) -> int:
    print(f"corrigible proxy: {problem}", file=sys.stderr)
    return status
