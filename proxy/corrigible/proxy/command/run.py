"""`corrigible run -- COMMAND`: any program, unchanged, whose calls of known APIs go through a proxy of its own.

The proxy knows an API by the host that is called: the hosts of packs, of `--spec HOST=FILE`, of the configuration, of
the clusters of a kubeconfig. It tunnels connections to all other hosts, and cannot read them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from corrigible.proxy.client_environment import Kubeconfig, environment, trusted
from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.own_location import Rewritten
from corrigible.proxy.tls_files import Trust
from corrigible.rules.errors import CorrigibleError

from . import options
from .plans import ApiPlan, plan_of
from .supervision import reporting

if TYPE_CHECKING:
    from corrigible.proxy.access_log.statistics import Recorder

_PROGRAM: Final = "corrigible run"
_ANYWHERE: Final = options.Address("127.0.0.1", 0)
_BODY_LIMIT: Final = 16
"""MiB: calls of model APIs hold images."""
_NOT_EXECUTABLE: Final = 126
"""As shells say of a command that cannot be run."""
_HANDED_ON: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2)
_OF_TERMINALS: Final = frozenset({signal.SIGQUIT, signal.SIGINT})
"""What a terminal sends to the command as well."""


def add(commands: options.Subparsers) -> None:
    """Add the command's options."""
    parser = commands.add_parser(
        "run",
        usage="corrigible run [OPTION...] -- COMMAND [ARGUMENT...]",
        description="Run a command whose calls of known APIs go through a proxy: a refusal gets recovery_feedback. "
        "Calls of all other hosts are tunnelled untouched. The exit status is that of the command.",
    )
    options.add(options.Groups(parser), "run", mode=Mode.REFLECTIVE.value)
    options.add_command(parser, "command")
    parser.set_defaults(run=run, time_limit=Limits().seconds_with_lookups, body_limit=_BODY_LIMIT, query_mode=False)


def run(given: argparse.Namespace) -> int:
    """Run the command. Exit status: its own; 128 and the signal that ended it; 126, 127 as shells say; 2 our usage."""
    options.need_mitmproxy(_PROGRAM)
    try:
        words = options.words_of(given, _PROGRAM)
        mode = Mode(options.one_of("--mode", given.mode, [one.value for one in Mode]))
        kubeconfig = Kubeconfig(os.environ)
        plans = _plans(given, mode, kubeconfig)
        with TemporaryDirectory(prefix="corrigible-") as folder:
            return _run(given, words, plans, kubeconfig, Path(folder))
    except (CorrigibleError, OSError, ValueError) as problem:
        print(f"{_PROGRAM}: {problem}", file=sys.stderr)
        return 2


def _plans(given: argparse.Namespace, mode: Mode, kubeconfig: Kubeconfig) -> Sequence[ApiPlan]:
    """Return an API for each group of hosts. Raises CorrigibleError."""
    found: dict[str, tuple[list[str], list[str], dict[str, None]]] = {}
    """Packs, descriptions and hosts, by the name of the API."""

    def of(host: str) -> tuple[list[str], list[str], dict[str, None]]:
        named = next((one for one in found.values() if host in one[2]), None)
        return named if named is not None else found.setdefault(host, ([], [], {host: None}))

    for name, hosts in _packs(given.pack):
        if hosts is None:
            found[name] = ([name], [], dict.fromkeys(_hosts_of(name)))
        else:
            of(hosts)[0].append(name)
    for cluster in kubeconfig.clusters:
        packs = of(cluster.host)[0]
        packs += ["kubernetes"] if "kubernetes" not in packs else []
    for text in given.spec:
        host, separator, file = text.partition("=")
        if not separator or "/" in host:
            raise options.UsageError(f"--spec {text}: expected HOST=FILE, such as api.example.com=openapi.yaml")
        of(host.lower())[1].append(file)
    limits = options.limits_of(given.time_limit, given.body_limit, is_looking_up=not given.no_lookups)
    plans = [
        ApiPlan(packs, specs, "", mode, limits, None, name, frozenset(hosts))
        for name, (packs, specs, hosts) in found.items()
    ]
    return [*plans, *(_configured(given, mode) if given.config else ())]


def _packs(given: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield packs with the host that was given, None where the pack names its hosts."""
    from corrigible.rules.pack.load import built_in

    for text in given:
        host, separator, name = text.partition("=")
        yield (name, host.lower()) if separator else (text, None)
    if not given:
        yield from ((name, None) for name in built_in() if _hosts_of(name, is_needed=False))


def _hosts_of(name: str, *, is_needed: bool = True) -> Sequence[str]:
    from corrigible.rules.language.yaml_source import read_source
    from corrigible.rules.pack.load import MANIFEST, find_pack

    hosts: Sequence[str] = (read_source(find_pack(name) / MANIFEST).data.get("api") or {}).get("hosts") or ()
    if is_needed and not hosts:
        raise options.UsageError(f"--pack {name}: it names no hosts; give --pack HOST={name}")
    return hosts


def _configured(given: argparse.Namespace, mode: Mode) -> Iterator[ApiPlan]:
    from urllib.parse import urlsplit

    from .config_file import read_config

    config = read_config(Path(given.config))
    if not config.text.apis:
        raise options.UsageError(f"--config {given.config}: it has no apis, and other options in it are not read")
    for api in config.text.apis or []:
        plan = plan_of(api, config, given, mode, _ANYWHERE)
        hosts = api.hosts or frozenset([urlsplit(api.upstream).netloc.lower()])
        yield replace(plan, upstream=None, hosts=hosts, prefix="")


def _run(
    given: argparse.Namespace, words: Sequence[str], plans: Sequence[ApiPlan], kubeconfig: Kubeconfig, folder: Path
) -> int:
    from corrigible.proxy.access_log.entry import AccessLog
    from corrigible.proxy.access_log.statistics import Recorder
    from corrigible.proxy.access_log.terminal import standard_error
    from corrigible.proxy.build import build_dispatcher, build_loops
    from corrigible.proxy.http.api_routes import ApiRoutes
    from corrigible.proxy.runtime.fork_server import keep_what_exists

    terminal = standard_error(quiet=given.quiet, program=_PROGRAM)
    recorder = Recorder(AccessLog(given.log) if given.log is not None else None, terminal)
    loops = build_loops()
    routes = []
    for plan in plans:
        engine, lines = plan.load(None)
        routes.append(plan.route(engine, loops, Rewritten.NONE))
        for line in lines if not given.quiet else ():
            recorder.say(line)
    apis = ApiRoutes(routes, are_passed_by=True)
    known = sorted(host for plan in plans for host in plan.hosts)
    keep_what_exists()
    with (
        reporting(given, recorder, plans),
        closing(build_dispatcher({route.task: route.corrector.correct for route in routes}, loops)) as dispatcher,
    ):
        # Only now: what forks workers has no use for mitmproxy.
        from corrigible.proxy.mitm.server import Settings, authority, serve

        own = authority(_folder())
        settings = Settings(
            host="127.0.0.1",
            port=0,
            engine_mode="regular",
            body_limit=int(given.body_limit) << 20,
            trust=_trust(given, kubeconfig, folder),
            credentials=_credentials(kubeconfig, folder),
            only_hosts=known,
            authority=own.parent,
        )

        async def both() -> int:
            stop, address = asyncio.Event(), asyncio.get_running_loop().create_future()
            serving = asyncio.create_task(
                serve(settings, apis, recorder=recorder, ready=address.set_result, stop=stop, dispatcher=dispatcher)
            )
            await asyncio.wait([serving, address], return_when=asyncio.FIRST_COMPLETED)
            try:
                if not address.done():
                    return options.BY_SIGNAL
                variables = _variables(address.result(), known, own, kubeconfig, folder)
                return await _command(words, variables, recorder)
            finally:
                stop.set()
                await serving

        status = asyncio.run(both())
        named = [text.partition("=")[0] for text in (*given.pack, *given.spec) if "=" in text]
        missed = f"no call of {' or '.join(named)} came: is it the host that the command calls?"
        recorder.close([missed] if named and not given.quiet and not recorder.statistics.requests else [])
    return status


def _folder() -> Path:
    """Return where the certificate authority is kept."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "corrigible"


def _trust(given: argparse.Namespace, kubeconfig: Kubeconfig, folder: Path) -> Trust:
    """Return how APIs are verified: by all that the command trusts without us, and by what clusters are verified by."""
    texts = [trusted(os.environ), *(one.authority for one in kubeconfig.clusters)]
    if given.upstream_ca is not None:
        texts.append(given.upstream_ca.read_text("utf-8"))
    (folder / "upstream.pem").write_text("\n".join(texts), "utf-8")
    return Trust(folder / "upstream.pem")


def _credentials(kubeconfig: Kubeconfig, folder: Path) -> Path:
    """Write the client certificate of each cluster, and return the folder."""
    written = folder / "credentials"
    written.mkdir()
    for one in kubeconfig.clusters:
        if one.credentials:
            file = written / f"{one.host.rpartition(':')[0]}.pem"
            file.touch(0o600)
            file.write_text(one.credentials, "utf-8")
    return written


async def _command(words: Sequence[str], variables: Mapping[str, str], recorder: Recorder) -> int:
    """Run the command in an environment; return the exit status."""
    with _signals_handed_on() as processes:
        try:
            process = await asyncio.create_subprocess_exec(*words, env=variables)
        except FileNotFoundError:
            recorder.say(f"{words[0]}: no such command")
            return options.NOT_FOUND
        except OSError as problem:
            recorder.say(f"{words[0]}: {(problem.strerror or str(problem)).lower()}")
            return _NOT_EXECUTABLE
        processes.append(process)
        status = await process.wait()
    return options.exit_status(status)


def _variables(
    address: str, known: Sequence[str], authority: Path, kubeconfig: Kubeconfig, folder: Path
) -> Mapping[str, str]:
    """Return the environment of the command, with the proxy at this address."""
    bundle = folder / "trusted.pem"
    bundle.write_text(f"{trusted(os.environ)}\n{authority.read_text('utf-8')}", "utf-8")
    found = environment(os.environ, address, known, bundle)
    if kubeconfig.clusters:
        copy = folder / "kubeconfig"
        copy.touch(0o600)
        copy.write_text(kubeconfig.copy(authority, address), "utf-8")
        found["KUBECONFIG"] = str(copy)
    return found


@contextmanager
def _signals_handed_on() -> Iterator[list[asyncio.subprocess.Process]]:
    """Hand signals on to the processes of a list."""
    processes: list[asyncio.subprocess.Process] = []
    loop = asyncio.get_running_loop()

    def hand_on(number: signal.Signals) -> None:
        for process in processes if number not in _OF_TERMINALS or not _is_in_front() else ():
            process.send_signal(number)

    for number in _HANDED_ON:
        loop.add_signal_handler(number, hand_on, number)
    try:
        yield processes
    finally:
        for number in _HANDED_ON:
            loop.remove_signal_handler(number)


def _is_in_front() -> bool:
    """Whether a terminal sends its signals to this process, and so to the command."""
    try:
        with open(os.ctermid(), "rb", buffering=0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False
