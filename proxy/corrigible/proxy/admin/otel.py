"""Each exchange as an OpenTelemetry span, and the statistics as its metrics.

Needs the extra `otel`; nothing else imports opentelemetry. Exporters, endpoints, samplers and the resource
are chosen by the `OTEL_...` environment variables, as in every program that uses the SDK.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import entry_points, version
from typing import Any, Final

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from corrigible.proxy.access_log.entry import Entry, Verdict, redact, redact_target
from corrigible.proxy.access_log.statistics import (
    COUNTERS,
    CounterFacts,
    Group,
    Statistics,
    Times,
    labelled,
    status_class,
)
from corrigible.schema.printable import printable

_SCOPE: Final = "corrigible"
_SECONDS: Final = 2.0
"""For what is not exported yet at the end."""
_PROTOCOLS: Final = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}
_PROPAGATOR: Final = TraceContextTextMapPropagator()


class UnknownExporter(Exception):
    """The environment names an exporter that is not installed."""


class OpenTelemetry:
    """Listens to a recorder."""

    def __init__(self, tracer_provider: TracerProvider, meter_provider: MeterProvider, statistics: Statistics) -> None:
        self._providers = (tracer_provider, meter_provider)
        self._tracer = tracer_provider.get_tracer(_SCOPE, version("corrigible"))
        meter = meter_provider.get_meter(_SCOPE, version("corrigible"))
        self._durations = meter.create_histogram(
            "corrigible.correction.duration", "s", "Time between a refusal and the decision about it"
        )
        self._requests = meter.create_histogram(
            "corrigible.request.duration", "s", "Time between a request and the end of its answer"
        )
        requests = CounterFacts("groups", "requests", "Requests by what became of them", Group._fields, Group)
        for one in (requests, *COUNTERS):
            meter.create_observable_counter(
                f"corrigible.{one.metric}", [partial(_observed, statistics, one)], description=one.about
            )

    @classmethod
    def from_environment(cls, statistics: Statistics, say: Callable[[str], None]) -> OpenTelemetry:
        """Return one that exports as the environment says. Starts threads. Raises UnknownExporter."""
        _say_errors(say)
        named = "OTEL_SERVICE_NAME" in os.environ or "service.name" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
        resource = Resource.create({} if named else {"service.name": "corrigible"})
        traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        for exporter in _exporters("traces"):
            traces.add_span_processor(BatchSpanProcessor(exporter))
        readers = [PeriodicExportingMetricReader(exporter) for exporter in _exporters("metrics")]
        return cls(traces, MeterProvider(readers, resource=resource, shutdown_on_exit=False), statistics)

    def write(self, entry: Entry) -> None:
        """Make a span of an exchange, in the caller's trace where there is one."""
        start = int(entry.time * 1e9)
        carrier = {"traceparent": entry.traceparent} if entry.traceparent else {}
        named = (
            f"{entry.method} {entry.operation}" if entry.operation and entry.method != "GRPC" else _plain_name(entry)
        )
        span = self._tracer.start_span(
            printable(named),
            context=_PROPAGATOR.extract(carrier),
            kind=SpanKind.SERVER,
            start_time=start,
            # Protobuf takes no lone surrogate, and a batch with one would be lost.
            attributes={
                name: printable(value) if isinstance(value, str) else value for name, value in _attributes(entry)
            },
        )
        if entry.failure is not None:
            span.set_status(Status(StatusCode.ERROR, printable(redact(entry.failure))))
        span.end(start + int(entry.milliseconds * 1e6))
        group = {"api": entry.api, "status_class": status_class(entry), "verdict": entry.verdict.value}
        self._requests.record(entry.milliseconds / 1000, group)
        if entry.correction is not None:
            self._durations.record(entry.correction, {"api": entry.api, "verdict": entry.verdict.value})

    def close(self) -> None:
        """Export what is left, for a moment at most: a collector that is down holds nothing up."""

        def shut_down() -> None:
            for provider in self._providers:
                provider.shutdown()

        thread = threading.Thread(target=shut_down, name="otel", daemon=True)
        thread.start()
        thread.join(_SECONDS)


def check_environment() -> None:
    """Raise UnknownExporter if the environment names what is not installed."""
    for signal in ("traces", "metrics"):
        for name in _names(signal):
            _entry_point(signal, name)


def _names(signal: str) -> Iterator[str]:
    for name in (os.environ.get(f"OTEL_{signal.upper()}_EXPORTER") or "otlp").split(","):
        name = name.strip()
        if name == "otlp":
            protocol = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL") or os.environ.get(
                "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"
            )
            name = _PROTOCOLS.get(protocol, protocol)
        if name != "none":
            yield name


def _entry_point(signal: str, name: str) -> Any:
    found = entry_points(group=f"opentelemetry_{signal}_exporter", name=name)
    if not found:
        raise UnknownExporter(f"the OpenTelemetry exporter {name} is not installed")
    return next(iter(found))


def _exporters(signal: str) -> Iterator[Any]:
    for name in _names(signal):
        yield _entry_point(signal, name).load()()


def _plain_name(entry: Entry) -> str:
    return entry.path.lstrip("/") if entry.method == "GRPC" else entry.method


def _attributes(entry: Entry) -> Iterator[tuple[str, Any]]:
    if entry.method == "GRPC":
        service, _, method = entry.path.lstrip("/").rpartition("/")
        yield from {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method}.items()
        yield "rpc.response.status_code", entry.code or "OK"
    else:
        yield "http.request.method", entry.method
        yield "url.path", redact_target(entry.path).partition("?")[0]
        if entry.status is not None:
            yield "http.response.status_code", entry.status
    yield "corrigible.verdict", entry.verdict.value
    if entry.api:
        yield "corrigible.api", entry.api
    if entry.operation:
        yield "corrigible.operation", entry.operation
    if entry.rules:
        yield "corrigible.rules", list(entry.rules)
    if entry.verdict is Verdict.UNCHANGED:
        yield "corrigible.reason", redact(entry.error or entry.reason or "")
    if entry.correction is not None:
        yield "corrigible.lookups", entry.lookups


def _observed(statistics: Statistics, one: CounterFacts, options: CallbackOptions) -> Iterator[Observation]:
    for values, number in labelled(getattr(statistics, one.name)):
        count = number.count if isinstance(number, Times) else number
        yield Observation(count, dict(zip(one.labels, map(str, values), strict=True)))


class _Said(logging.Handler):
    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say
        self._known: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        if str(record.msg) not in self._known and len(self._known) < 100:
            self._known.add(str(record.msg))
            self._say(f"OpenTelemetry: {redact(record.getMessage())[:300]}")


def _say_errors(say: Callable[[str], None]) -> None:
    """Tell each kind of error of the SDK once: it logs them again with every batch."""
    logger = logging.getLogger("opentelemetry")
    logger.propagate = False
    logger.addHandler(_Said(say))
