"""The options of `corrigible proxy`, `corrigible corrector` and `corrigible envoy config`, and what their values mean.

Knows: argparse, addresses, certificates. Imports nothing that takes time: help and mistakes are shown at once.

Where an option's value comes from: the command line, else the environment, else the configuration file, else its
default.
"""

from __future__ import annotations

import argparse
import functools
import ipaddress
import os
import re
import socket
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from corrigible.proxy.core.limits import Limits, Timeouts
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.own_location import Rewritten
from corrigible.proxy.tls_files import Identity, Trust, WrongFile
from corrigible.rules.errors import CorrigibleError, did_you_mean
from corrigible.schema.extra import install_line, needs

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
_MAX_BODY_LIMIT: Final = 64
_MIB: Final = 20
"""Seconds. A larger number was probably meant as milliseconds."""
_MAX_TIMEOUT: Final = 86_400.0
_SHORTEST_KEY: Final = 32


class UsageError(CorrigibleError):
    """An argument is wrong. The message is the one line that the user sees."""


@contextmanager
def needing_grpc() -> Iterator[None]:
    """Raise UsageError where what is imported within needs grpcio, and it is not installed."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("grpc", "google"):
            raise
        raise UsageError(f"grpcio is not installed: {install_line('grpc')}") from None


def need_mitmproxy(program: str) -> None:
    """Raise UsageError where mitmproxy is not installed."""
    if find_spec("mitmproxy") is None:
        raise UsageError(needs(program, "mitmproxy"))


def one_of(option: str, word: str, choices: Sequence[str]) -> str:
    """Return the word. Raises UsageError, with the nearest choice, if it is none of them."""
    if word not in choices:
        raise UsageError(f"{option} {word}: expected {', '.join(choices)}{did_you_mean(word, choices)}")
    return word


class Groups:
    """The groups in which help lists options."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.upstream = parser.add_argument_group("upstream", "the API, and how long each side may take")
        self.knowledge = parser.add_argument_group("knowledge", "what is known of the API")
        self.answers = parser.add_argument_group("answers", "what becomes of answers")
        self.operation = parser.add_argument_group("operation", "where the command runs, and what it tells of itself")
        self.security = parser.add_argument_group("security", "certificates and keys")


INTROSPECTED: Final = "graphql+"
"""What stands before the URL of an API that is asked for its schema."""
_KINDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "switch": {"action": "store_true"},
    "several": {"action": "append", "default": []},
    "file": {"type": Path},
}
"""What an option is that is no text, as argparse says it."""


@functools.cache
def table() -> Mapping[str, Any]:
    """Return `options.toml`."""
    return tomllib.loads(files(__package__).joinpath("options.toml").read_text("utf-8"))


def add(groups: Groups, section: str, **defaults: str | float) -> None:
    """Add the options of a section of `options.toml`."""
    for name, row in table()[section].items():
        more = {key: row[key] for key in ("metavar", "default", "dest") if key in row}
        if (dest := name.replace("-", "_")) in defaults:
            more["default"] = defaults[dest]
        getattr(groups, row["group"]).add_argument(
            f"--{name}", help=row["help"], **more, **_KINDS.get(row.get("kind", ""), {})
        )


def add_api(groups: Groups, *, listen: str) -> None:
    """Add what says which API is corrected, and how. `listen` is the default of `--listen`."""
    usual = Limits()
    add(
        groups,
        "api",
        listen=listen,
        mode=Mode.REFLECTIVE.value,
        time_limit=usual.seconds_with_lookups,
        body_limit=usual.body >> _MIB,
    )
    groups.knowledge.add_argument(
        "--sdl",
        action="append",
        dest="spec",
        default=[],
        type=lambda text: f"{INTROSPECTED}{text}" if "://" in text else text,
        metavar="FILE",
        help="the schema of a GraphQL API: a file of SDL or of an introspection, or the URL of the API, which is asked "
        "once at the start; in corrigible.yaml a member of spec: schema.graphql, graphql+https://...",
    )


def add_callers_side(groups: Groups) -> None:
    """Add what is about the callers' side: its certificate, and the addresses that answers name."""
    add(groups, "callers", rewrite_location=Rewritten.REDIRECTS.value)


def add_proxy(groups: Groups) -> None:
    """Add what a running proxy has besides: what carries its traffic, and what it tells of itself."""
    add(groups, "proxy", **{f"{one.name}_timeout": f"{getattr(Timeouts(), one.name):g}" for one in fields(Timeouts)})


NOT_FOUND: Final = 127
BY_SIGNAL: Final = 128


def add_command(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the words of a command of the user's, which stand behind all options."""
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help=f"the {what} and its arguments")


def words_of(given: argparse.Namespace, program: str) -> list[str]:
    """Return the words of the command. Raises UsageError."""
    words: list[str] = given.command[1:] if given.command[:1] == ["--"] else given.command
    if not words:
        raise UsageError(f"a command is required: {program} -- COMMAND")
    return words


def exit_status(status: int) -> int:
    """Return the status that a shell has of a command: 128 and the signal that ended it, else its own."""
    return status if status >= 0 else BY_SIGNAL - status


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


def limits_of(text: str | float, body: str | int, *, is_looking_up: bool) -> Limits:
    """Return the limits with `--time-limit` and `--body-limit`. Raises UsageError."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= _MAX_TIME_LIMIT:  # false for NaN as well
        raise UsageError(f"--time-limit {text}: not a number of seconds above 0, at most {_MAX_TIME_LIMIT:.0f}")
    if str(body) not in map(str, range(1, _MAX_BODY_LIMIT + 1)):
        raise UsageError(f"--body-limit {body}: not a whole number of MiB from 1 to {_MAX_BODY_LIMIT}")
    limits = replace(Limits.within(seconds), body=int(body) << _MIB)
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
    names = ", ".join(dict.fromkeys(map(variable, actions)))
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
