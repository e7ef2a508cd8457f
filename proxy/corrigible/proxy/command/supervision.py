"""The options of `corrigible proxy` that show its work: the terminal, the log, the admin address. HTTP and gRPC
share them.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from corrigible.proxy.access_log.entry import AccessLog
from corrigible.proxy.access_log.statistics import Listener, Recorder, on_hangup
from corrigible.proxy.access_log.terminal import standard_error
from corrigible.proxy.admin.reload import Reloader
from corrigible.schema.extra import needs

from .options import UsageError, parse_listen
from .plans import ApiPlan
from .spec_option import spec_files

if TYPE_CHECKING:
    from corrigible.adapters.drift import Judged
    from corrigible.proxy.admin.server import AdminServer


@contextmanager
def reporting(args: argparse.Namespace, recorder: Recorder, plans: Iterable[ApiPlan] = ()) -> Iterator[None]:
    """Have some of what passes judged meanwhile (`--drift`), and the report written at the end. Raises UsageError.

    It forks a worker: call it while the process has one thread. Without plans it is about gRPC.
    """
    if args.drift:
        from corrigible.proxy.access_log.drift import DriftWatch

        judges = dict(_judges(args, plans))
        if not judges:
            raise UsageError("--drift judges by the API's description: give --spec, or --descriptors for gRPC")
        if not str(args.drift_sample).isdecimal() or int(args.drift_sample) < 1:
            raise UsageError(f"--drift-sample {args.drift_sample}: not a number from 1 on")
        recorder.drift = DriftWatch(judges, int(args.drift_sample), recorder)
    if args.report is not None:
        from corrigible.proxy.access_log.refusal_report import RefusalReport

        recorder.listen(RefusalReport(args.report, recorder.drift))
    try:
        yield
    finally:
        if recorder.drift is not None:
            recorder.drift.close()


def _judges(args: argparse.Namespace, plans: Iterable[ApiPlan]) -> Iterator[tuple[str, Callable[[Any], Judged]]]:
    from corrigible.proxy.access_log.drift import CALL, HttpJudging

    for plan in plans:
        if plan.specs and find_spec("openapi_core") is None:
            raise UsageError(needs("--drift", "drift"))
        if plan.specs:
            yield plan.task, HttpJudging(spec_files(plan.specs), plan.base)
    if not plans and args.descriptors is not None:
        from corrigible.adapters.drift import ProtobufJudge

        yield CALL, ProtobufJudge(args.descriptors).judged


class Supervision:
    """What watches one proxy."""

    def __init__(
        self, args: argparse.Namespace, serves: str, upstreams: Mapping[str, tuple[str, int]] | None = None
    ) -> None:
        """Open the log and the addresses; `serves` says what is proxied. Raises UsageError if that is impossible.

        `upstreams` has host and port of each API by its name.
        """
        self._open_telemetry = _telemetry(args)
        admin = _admin(args, serves, upstreams or {})
        try:
            access_log = AccessLog(args.log) if args.log is not None else None
        except OSError as problem:
            raise UsageError(f"cannot write the log {args.log}: {(problem.strerror or str(problem)).lower()}") from None
        self.recorder = Recorder(access_log, standard_error(quiet=args.quiet))
        self._is_reloading = args.reload
        self._admin: AdminServer | None = admin(self.recorder) if admin is not None else None

    def started(
        self, loop: asyncio.AbstractEventLoop, reloader: Reloader, unready: Callable[[], Iterable[str]]
    ) -> None:
        """Watch a proxy that runs on this loop from now on. `unready` yields why what corrects is not ready."""

        def reasons() -> Iterator[str]:
            if self.recorder.is_draining:
                yield "the proxy is stopping"
            yield from unready()

        def hung_up() -> None:
            self.recorder.reopen()
            reloader.ask()

        on_hangup(loop, hung_up)
        if self._open_telemetry is not None:
            self.recorder.listen(self._open_telemetry(self.recorder))
        if self._is_reloading:
            reloader.watch()
        if self._admin is not None:
            self._admin.start(loop, reasons)
            self.recorder.say(f"{self._admin.url} has /healthz, /readyz and /metrics")

    def close(self) -> None:
        """Close the admin address. The recorder is closed by the front end."""
        if self._admin is not None:
            self._admin.close()


def _telemetry(args: argparse.Namespace) -> Callable[[Recorder], Listener] | None:
    if not args.otel:
        return None
    try:
        from corrigible.proxy.admin.otel import OpenTelemetry, UnknownExporter, check_environment
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "opentelemetry":
            raise
        raise UsageError(needs("--otel", "otel")) from None
    try:
        check_environment()
    except UnknownExporter as problem:
        raise UsageError(f"--otel: {problem}") from None
    # It starts threads: only when workers are forked.
    return lambda recorder: OpenTelemetry.from_environment(recorder.statistics, recorder.say)


def _admin(
    args: argparse.Namespace, serves: str, upstreams: Mapping[str, tuple[str, int]]
) -> Callable[[Recorder], AdminServer] | None:
    if args.admin is None:
        return None
    address = parse_listen(args.admin, "--admin")
    try:
        from corrigible.proxy.admin.prometheus import Metrics
    except ModuleNotFoundError as missing:
        if missing.name != "prometheus_client":
            raise
        raise UsageError(needs("--admin", "prometheus")) from None
    from corrigible.proxy.admin.server import AdminServer

    metrics = Metrics(version=version("corrigible"), serves=serves)

    def opened(recorder: Recorder) -> AdminServer:
        try:
            return AdminServer(address.host, address.port, recorder.snapshot, metrics.render, upstreams)
        except OSError as problem:
            reason = (problem.strerror or str(problem)).lower()
            raise UsageError(f"--admin {args.admin}: cannot listen: {reason}") from None

    return opened
