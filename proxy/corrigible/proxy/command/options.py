"""The options of `corrigible proxy`, `corrigible corrector` and `corrigible envoy config`, and what their values mean.

Knows: argparse, addresses, certificates. Imports nothing that takes time: help and mistakes are shown at once.

Where an option's value comes from: the command line, else the environment, else the configuration file, else its
default.
"""

from __future__ import annotations

import argparse
import ipaddress
import os
import re
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args
from urllib.parse import urlsplit

from corrigible.proxy.core.limits import Limits, Timeouts
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.own_location import Rewritten
from corrigible.proxy.tls_files import Identity, Trust, WrongFile
from corrigible.rules.errors import CorrigibleError, suggest_spelling

if TYPE_CHECKING:
    from .config_file import Config


Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
EngineMode = Literal["reverse", "regular", "transparent"]
ENGINES: Final = ("mitmproxy", "envoy", "auto")
TLS_BY_SCHEME: Final = {"https": True, "grpcs": True, "http": False, "grpc": False}
_DEFAULT_PORTS: Final = {"https": 443, "http": 80}
_GRPC_TARGET: Final = re.compile(
    r"(?:(?P<scheme>[a-z]+)://)?(?P<host>[^\[\]/@:?#\s]+|\[[0-9a-fA-F:.]+\])(?::(?P<port>\d+))?/?"
)
_HOST_PORT: Final = re.compile(r"[\w.-]+(?::\d{1,5})?")
_MAX_TIME_LIMIT: Final = 3600.0
"""Seconds. A larger number was probably meant as milliseconds."""
_MAX_TIMEOUT: Final = 86_400.0
_SHORTEST_KEY: Final = 32


class UsageError(CorrigibleError):
    """An argument is wrong. The message is the one line that the user sees."""


def one_of(option: str, word: str, choices: Sequence[str]) -> str:
    """Return the word. Raises UsageError, with the nearest choice, if it is none of them."""
    if word not in choices:
        raise UsageError(f"{option} {word}: expected {', '.join(choices)}{suggest_spelling(word, choices)}")
    return word


class Groups:
    """The groups in which help lists options."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.upstream = parser.add_argument_group("upstream", "the API, and how long each side may take")
        self.knowledge = parser.add_argument_group("knowledge", "what is known of the API")
        self.answers = parser.add_argument_group("answers", "what becomes of answers")
        self.operation = parser.add_argument_group("operation", "where the command runs, and what it tells of itself")
        self.security = parser.add_argument_group("security", "certificates and keys")


def add_api(groups: Groups, *, listen: str) -> None:
    """Add what says which API is corrected, and how. `listen` is the default of `--listen`."""
    groups.upstream.add_argument("--upstream", metavar="URL", help="address of the API: http[s]://host[:port]")
    groups.upstream.add_argument(
        "--grpc-upstream",
        metavar="HOST:PORT",
        help="address of a gRPC API, instead of --upstream; https://HOST:PORT or any --upstream-... option selects TLS",
    )
    groups.knowledge.add_argument(
        "--pack",
        metavar="NAME_OR_PATH",
        action="append",
        default=[],
        help="rule pack: the name of a built-in one, or a folder; repeatable, tried in this order",
    )
    groups.knowledge.add_argument(
        "--spec",
        metavar="FILE",
        action="append",
        default=[],
        help="the API's description (OpenAPI 3, Swagger 2.0, protobuf), used for errors that no rule matches: a file, "
        "or a URL that is fetched once; repeatable, for several APIs behind one address",
    )
    groups.knowledge.add_argument(
        "--base",
        metavar="PATH",
        default="",
        help="base path of the API's requests, if the description does not state it: /api",
    )
    groups.knowledge.add_argument(
        "--descriptors",
        metavar="PATH",
        type=Path,
        help="the gRPC API's descriptors: a FileDescriptorSet, a .proto file, or a folder of them; "
        "default: those of the pack, else server reflection",
    )
    groups.knowledge.add_argument(
        "--map",
        metavar="FILE",
        action="append",
        default=[],
        help="a map of operations that do the same (corrigible map build): where the API does not have one, forbids it "
        "or takes no more calls of it, another one is suggested; repeatable, beside the maps of the packs",
    )
    groups.knowledge.add_argument(
        "--map-origin",
        metavar="URL",
        action="append",
        default=[],
        help="another server that --map may name: callers are told of it, and never sent there with their credentials; "
        "repeatable",
    )
    groups.operation.add_argument(
        "--listen", metavar="HOST:PORT", default=listen, help="address to listen on; default: %(default)s"
    )
    groups.answers.add_argument(
        "--mode",
        metavar="|".join(Mode),
        default=Mode.REFLECTIVE.value,
        help="what to add to errors unless the caller chooses (Prefer: recovery-feedback=MODE); default: %(default)s",
    )
    groups.answers.add_argument(
        "--query-mode",
        action="store_true",
        help="take ?mode=none|traditional|verbose|reflective of every request for the proxy, unless the API's "
        "description has a parameter of that name there; by default only where the description has the operation",
    )
    groups.answers.add_argument(
        "--time-limit",
        metavar="SECONDS",
        default=Limits().seconds_with_lookups,
        help="maximum time for a correction, look-ups included; if it is exceeded, the original error is returned; "
        "default: %(default)s",
    )
    groups.answers.add_argument(
        "--no-lookups",
        action="store_true",
        help="send no requests of the proxy's own; by default a correction may send a few reads and dry runs with the "
        "caller's credentials",
    )
    groups.security.add_argument(
        "--upstream-ca", metavar="FILE", type=Path, help="trust only these CA certificates (PEM)"
    )
    groups.security.add_argument(
        "--upstream-insecure", action="store_true", help="do not verify the API's certificate (for tests)"
    )
    groups.security.add_argument(
        "--upstream-cert",
        metavar="FILE",
        type=Path,
        help="client certificate and key (PEM) that the proxy presents to the API, for all callers",
    )
    groups.security.add_argument(
        "--relay-key",
        metavar="FILE",
        type=Path,
        help="shared secret of two proxies, one in front of a Kubernetes API server and one in front of its admission "
        "webhook: feedback sealed with it is trusted",
    )


def add_callers_side(groups: Groups) -> None:
    """Add what is about the callers' side: its certificate, and the addresses that answers name."""
    groups.security.add_argument("--tls-cert", metavar="FILE", type=Path, help="certificate that callers see (PEM)")
    groups.security.add_argument(
        "--tls-key", metavar="FILE", type=Path, help="key of --tls-cert, if it is in a separate file (PEM)"
    )
    groups.answers.add_argument(
        "--rewrite-location",
        metavar="|".join(Rewritten),
        default=Rewritten.REDIRECTS.value,
        help="where the API's own address becomes a relative reference, so that callers who follow it stay with the "
        "proxy: in Location of redirects, in Location, Content-Location and Link of all answers, or nowhere; "
        "default: %(default)s",
    )


def add_proxy(groups: Groups) -> None:
    """Add what a running proxy has besides: what carries its traffic, and what it tells of itself."""
    waiting = {
        "head": "for the head of a request",
        "idle": "without a byte of a request's body, and between two requests of a connection",
        "answer": "for the head of an answer (HTTP); an answer that has begun may be silent for as long as it likes",
    }
    for name, meaning in waiting.items():
        groups.upstream.add_argument(
            f"--{name}-timeout",
            metavar="SECONDS",
            default=f"{getattr(Timeouts(), name):g}",
            help=f"seconds {meaning}; 0 is for ever; default: %(default)s",
        )
    add = groups.operation.add_argument
    add(
        "--config",
        metavar="FILE",
        type=Path,
        help="a file with these options, and with several APIs behind one proxy; corrigible pack schema config prints "
        "its JSON Schema",
    )
    add(
        "--engine",
        metavar="|".join(ENGINES),
        default="mitmproxy",
        help="what carries the traffic; auto takes Envoy where it is installed and can, and says what it took; "
        "default: %(default)s",
    )
    add(
        "--engine-mode",
        metavar="|".join(get_args(EngineMode)),
        default="reverse",
        help="mitmproxy's mode; regular and transparent take no --upstream; default: %(default)s",
    )
    add(
        "--correctors",
        metavar="N",
        help="how many processes correct errors behind Envoy; default: the number of cores less one, at least 1",
    )
    add("--log", metavar="FILE.jsonl", type=Path, help="append one JSON line per exchange, without secrets")
    add(
        "--quiet",
        action="store_true",
        help="print no line about the start, for each refusal and each failure of the API, and no summary at the end",
    )
    add(
        "--reload",
        action="store_true",
        help="load the configuration, packs and descriptions anew when their files change; SIGHUP does so, too, and "
        "reopens the log",
    )
    add(
        "--otel",
        action="store_true",
        help="export traces and metrics by OpenTelemetry; the OTEL_... environment variables say where",
    )
    add(
        "--admin",
        metavar="HOST:PORT",
        help="serve /healthz, /readyz and /metrics (Prometheus) on this address; corrigible status reads them; "
        "default: off",
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


def limits_of(text: str | float, *, is_looking_up: bool) -> Limits:
    """Return the limits with `--time-limit`. Raises UsageError."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= _MAX_TIME_LIMIT:  # false for NaN as well
        raise UsageError(f"--time-limit {text}: not a number of seconds above 0, at most {_MAX_TIME_LIMIT:.0f}")
    limits = Limits.within(seconds)
    return limits if is_looking_up else replace(limits, lookups=0)


def timeouts_of(args: argparse.Namespace) -> Timeouts:
    """Return how long a side may keep the other one waiting. Raises UsageError."""
    return Timeouts(*(_timeout(one.name, getattr(args, f"{one.name}_timeout")) for one in fields(Timeouts)))


def _timeout(name: str, text: str | float) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not (seconds == 0 or 0.01 <= seconds <= _MAX_TIMEOUT):  # false for NaN as well
        raise UsageError(f"--{name}-timeout {text}: not a number of seconds up to {_MAX_TIMEOUT:.0f}, or 0")
    return seconds


def base_path(text: str) -> str:
    """Return the path without a slash at its end. Raises UsageError for what is no path."""
    if text and (not text.startswith("/") or any(mark in text for mark in "?#{} ")):
        raise UsageError(f"--base {text}: not a path such as /api")
    return text.rstrip("/")


def read_key(file: Path) -> bytes:
    """Return the key without surrounding white space. Raises WrongFile if it cannot be read or is too short."""
    try:
        key = file.read_bytes().strip()
    except OSError as problem:
        raise WrongFile(f"--relay-key {file}: {(problem.strerror or str(problem)).lower()}") from None
    if len(key) < _SHORTEST_KEY:
        raise WrongFile(f"--relay-key {file}: the key has {len(key)} bytes; it needs at least {_SHORTEST_KEY}")
    return key


def read_trust(args: argparse.Namespace, *, plaintext: str | None) -> Trust:
    """Return how to verify the API. `plaintext` is the option that rules TLS out, None if TLS is possible."""
    trust = Trust(args.upstream_ca, args.upstream_insecure, args.upstream_cert)
    if trust.ca is not None and trust.insecure:
        raise UsageError("--upstream-ca and --upstream-insecure: use only one of them")
    options = {"--upstream-ca": trust.ca, "--upstream-insecure": trust.insecure, "--upstream-cert": trust.certificate}
    for option, value in options.items():
        if value and plaintext is not None:
            raise UsageError(f"{option} cannot be used with {plaintext}: it needs TLS")
    trust.check()
    return trust


def read_identity(args: argparse.Namespace) -> Identity | None:
    """Return the certificate that callers see, None if they come without TLS."""
    if args.tls_cert is None:
        if args.tls_key is not None:
            raise UsageError("--tls-key needs --tls-cert")
        return None
    identity = Identity(args.tls_cert, args.tls_key)
    identity.check()
    return identity


def warn_of_plaintext(listen: Address, args: argparse.Namespace) -> None:
    """Say so where callers from other machines come in the clear."""
    if args.tls_cert is None and is_beyond_loopback(listen.host):
        print(
            f"corrigible proxy: --listen {listen} is reached from other machines, without TLS: whoever is on the way "
            "reads credentials and data, and can change both. Give --tls-cert FILE, or let a proxy with TLS stand "
            "before this one and listen on 127.0.0.1",
            file=sys.stderr,
        )


_PREFIX: Final = "CORRIGIBLE_"
_OTHERS: Final = ("ADMISSION_PLUGINS", "CACHE")
"""What other commands and the cache of descriptions read."""
_YES: Final = ("1", "true", "yes", "on")
_NO: Final = ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of one command that may be given in other ways, too."""

    actions: tuple[argparse.Action, ...]
    defaults: Mapping[str, Any]

    def resolved(self, args: argparse.Namespace, *, is_first: bool = True) -> tuple[argparse.Namespace, Config | None]:
        """Return the arguments with a value for each option, and the file. Raises UsageError and AuthoringError.

        Only the first time it is told which variables are probably misspelt.
        """
        for line in _misspelt(self.actions) if is_first else ():
            print(f"corrigible proxy: {line}", file=sys.stderr)
        told = [action for action in self.actions if os.environ.get(variable(action))]
        environment = {action.dest: _of_environment(action) for action in told}
        given = {**environment, **vars(args)}
        config = None
        if given.get("config"):
            from .config_file import read_config  # slow to import

            config = read_config(Path(given["config"]))
        file = config.options() if config is not None else {}
        return argparse.Namespace(**{**self.defaults, **file, **given}), config


def variable(action: argparse.Action) -> str:
    """Return the environment variable of an option: CORRIGIBLE_TIME_LIMIT of --time-limit."""
    return f"{_PREFIX}{action.dest.upper()}"


def settings_of(parser: argparse.ArgumentParser) -> Settings:
    """Make each option of a command one that is absent unless it is given. Its help tells its environment variable."""
    actions = tuple(action for action in parser._actions if action.option_strings and action.dest != "help")
    defaults = {action.dest: action.default for action in actions}
    for action in actions:
        if action.help:
            action.help = action.help.replace("%(default)s", str(action.default))
        action.default = argparse.SUPPRESS
    names = ", ".join(variable(action) for action in actions)
    parser.epilog = (
        "Options go before environment variables, and these before the file of --config. Environment variables: "
        f"{names}. Lists are separated by commas; a switch is 1 or 0."
    )
    return Settings(actions, defaults)


def _misspelt(actions: Iterable[argparse.Action]) -> Iterator[str]:
    """Yield a line for each variable that is nearly an option's. Kubernetes sets others, named after a service."""
    names = [variable(action).removeprefix(_PREFIX) for action in actions]
    for name in sorted(os.environ):
        word = name.removeprefix(_PREFIX)
        if word != name and word not in names and word not in _OTHERS and (near := get_close_matches(word, names, n=1)):
            yield f'{name} is the environment variable of no option; did you mean "{_PREFIX}{near[0]}"?'


def _of_environment(action: argparse.Action) -> Any:
    text = os.environ[variable(action)]
    if isinstance(action, argparse._StoreTrueAction):
        if text.lower() not in _YES + _NO:
            raise UsageError(f"{variable(action)}={text}: expected 1 or 0")
        return text.lower() in _YES
    if isinstance(action, argparse._AppendAction):
        return [part.strip() for part in text.split(",") if part.strip()]
    return action.type(text) if callable(action.type) else text
