"""OpenTelemetry: what a collector gets of a running proxy."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from os import environ
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from corrigible.proxy.access_log.entry import Entry
from corrigible.proxy.access_log.statistics import Statistics
from corrigible.proxy.admin.otel import OpenTelemetry

JSON = b"Content-Type: application/json\r\n"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


@contextmanager
def collector() -> Iterator[tuple[str, list[Any], list[Any]]]:
    """Run a receiver of OTLP over HTTP; yield its address, the spans and the metrics that it got."""
    spans: list[Any] = []
    metrics: list[Any] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                    spans.extend(span for scope in resource.scope_spans for span in scope.spans)
            elif self.path == "/v1/metrics":
                for measured in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    metrics.extend(metric for scope in measured.scope_metrics for metric in scope.metrics)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", spans, metrics
        finally:
            server.shutdown()
            thread.join()


def proxied(bench: Any, endpoint: str, pack: str, upstream: str) -> subprocess.Popen[str]:
    words = ("--upstream", upstream, "--pack", pack, "--listen", "127.0.0.1:0", "--otel", "--time-limit", "60")
    told = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_METRICS_EXPORTER": "otlp"}
    process: subprocess.Popen[str] = bench.start(*words, env={**environ, **told})
    return process


def attributes(span: Any) -> dict[str, Any]:
    values = {one.key: one.value for one in span.attributes}
    return {key: getattr(value, value.WhichOneof("value")) for key, value in values.items()}


def test_a_collector_gets_a_span_for_each_exchange_in_its_trace(bench: Any, write_pack: Any) -> None:
    pack = write_pack(x="match: {code: bad}\nsuggest: [{action: MODIFY_PARAMS, message: m, parameters: {a: 1}}]\n")
    answers = {
        "/ok": bench.message(b"200 OK", b"", b"ok"),
        "/bad": bench.message(b"400 No", JSON, b'{"error":{"code":"bad","message":"m"}}'),
        "/gone": lambda connection: connection.close(),
    }
    with (
        collector() as (endpoint, spans, metrics),
        bench.upstream(answers) as upstream,
        proxied(bench, endpoint, str(pack), f"http://127.0.0.1:{upstream.port}") as process,
    ):
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().split()[1].rpartition(":")[2])
            trace = f"traceparent: 00-{TRACE}-{PARENT}-01\r\n".encode()
            bench.ask(port, "/ok?token=secret", headers=trace)
            bench.ask(port, "/bad", "POST", b'{"a":2}', JSON)
            bench.ask(port, "/gone")
            process.terminate()
            assert process.wait(60) == 0
        finally:
            process.kill()
    ok, bad, gone = sorted(spans, key=lambda span: span.start_time_unix_nano)
    assert (ok.trace_id.hex(), ok.parent_span_id.hex()) == (TRACE, PARENT)
    assert attributes(ok) == {
        "http.request.method": "GET",
        "url.path": "/ok",
        "http.response.status_code": 200,
        "corrigible.verdict": "success",
        "corrigible.api": "apex",
    }
    assert (attributes(bad)["corrigible.verdict"], attributes(bad)["http.response.status_code"]) == ("corrected", 400)
    [rules] = [one.value for one in bad.attributes if one.key == "corrigible.rules"]
    assert [one.string_value for one in rules.array_value.values] == ["apex.x"]
    assert gone.status.message == "the upstream closed the connection without an answer"
    assert all(span.end_time_unix_nano > span.start_time_unix_nano for span in spans)
    numbers = {metric.name: metric for metric in metrics}
    requests = {
        tuple(attribute.value.string_value for attribute in one.attributes): one.as_int
        for one in numbers["corrigible.requests"].sum.data_points
    }
    classes = {"success": "2xx", "corrected": "4xx", "failed": "5xx"}
    assert requests == {("apex", "", classes[verdict], verdict): 1 for verdict in classes}
    assert numbers["corrigible.correction.duration"].histogram.data_points[0].count == 1
    assert sum(one.count for one in numbers["corrigible.request.duration"].histogram.data_points) == 3


def test_a_collector_that_is_down_holds_nothing_up(bench: Any) -> None:
    with (
        bench.upstream({"/ok": bench.message(b"200 OK", b"", b"ok")}) as upstream,
        proxied(bench, "http://127.0.0.1:9", "http", f"http://127.0.0.1:{upstream.port}") as process,
    ):
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().split()[1].rpartition(":")[2])
            assert bench.ask(port, "/ok").endswith(b"ok")
            process.terminate()
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_no_text_of_a_caller_costs_a_batch() -> None:
    spans, numbers = InMemorySpanExporter(), InMemoryMetricReader()
    tracing = TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(spans))
    statistics = Statistics()
    telemetry = OpenTelemetry(tracing, MeterProvider([numbers]), statistics)
    odd = "\udcff"
    for entry in (
        Entry(1.0, "x", odd, f"/{odd}", 404, "untouched", 1.0, odd, (), odd),
        Entry(1.0, "x", "GRPC", f"/{odd}.A/{odd}", 500, "untouched", 1.0, odd, error=odd, code="INTERNAL"),
        Entry(1.0, "x", "GET", "/", None, "failed", 1.0, failure=odd),
    ):
        statistics.write(entry)
        telemetry.write(entry)
    assert encode_spans(spans.get_finished_spans()).SerializeToString()
    measured = numbers.get_metrics_data()
    assert measured is not None and encode_metrics(measured).SerializeToString()
