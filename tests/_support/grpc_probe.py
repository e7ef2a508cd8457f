"""A real gRPC server that does what it is told, the proxy as users start it, and clients that see everything."""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests._support.command import run, start

grpc: Any = importlib.import_module("grpc")

PATIENCE = 20.0
SERVICE = "probe.v1.Probe"
DETAILS = "grpc-status-details-bin"
METADATA = (("x-probe", "one"), ("x-probe", "two"), ("x-raw-bin", b"\x00\xff\x80"), ("x-text", 'a,b; c="d"'))
BIG = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_metadata_size", 1 << 20),
    ("grpc.absolute_max_metadata_size", 1 << 20),
)


def status_bytes(code: int, message: str, size: int) -> bytes:
    """Return a google.rpc.Status of about this size."""
    from google.rpc import error_details_pb2, status_pb2

    status = status_pb2.Status(code=code, message=message)
    bad = error_details_pb2.BadRequest()
    bad.field_violations.add(field="parent.name", description="must be lower case")
    status.details.add().Pack(bad)
    missing = size - status.ByteSize() - 60
    if missing > 0:
        status.details.add().Pack(error_details_pb2.DebugInfo(detail="d" * missing))
    encoded: bytes = status.SerializeToString()
    return encoded


@dataclass
class Probe:
    """A server of bytes. A request that is a JSON object says how the call is to end."""

    port: int = 0
    cancelled: threading.Event = field(default_factory=threading.Event)
    """Set when a call to Sleep was."""
    begun: threading.Event = field(default_factory=threading.Event)
    remaining: float | None = None
    """The deadline that Sleep saw."""
    seen: list[tuple[str, list[tuple[str, str | bytes]]]] = field(default_factory=list)
    """Methods and metadata of the calls that came."""

    def end(self, request: bytes, context: Any) -> None:
        document = json.loads(request)
        trailing: list[tuple[str, str | bytes]] = list(METADATA) if document.get("metadata") else []
        if "size" in document:
            trailing.append((DETAILS, status_bytes(document["code"], document["message"], document["size"])))
        if "details" in document:
            trailing.append((DETAILS, bytes.fromhex(document["details"])))
        context.set_trailing_metadata(tuple(trailing))
        if document.get("code"):
            context.abort(CODES[document["code"]], document["message"])

    def echo(self, request: bytes, context: Any) -> bytes:
        context.send_initial_metadata(METADATA)
        context.set_trailing_metadata(METADATA)
        return request

    def mirror(self, request: bytes, context: Any) -> bytes:
        pairs = [(m.key, m.value if isinstance(m.value, str) else m.value.hex()) for m in context.invocation_metadata()]
        return json.dumps(pairs).encode()

    def fail(self, request: bytes, context: Any) -> bytes:
        if json.loads(request).get("headers"):
            context.send_initial_metadata(METADATA)
        self.end(request, context)
        return b""

    def down(self, request: bytes, context: Any) -> Iterator[bytes]:
        context.send_initial_metadata(METADATA)
        for number in range(json.loads(request)["count"]):
            yield b"m%d" % number * (number * 997 + 1)
        self.end(request, context)

    def up(self, requests: Iterator[bytes], context: Any) -> bytes:
        return hashlib.sha256(b"|".join(requests)).hexdigest().encode()

    def chat(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        for request in requests:
            if request[:1] == b"{":
                self.end(request, context)
                return
            yield request[::-1]
        context.set_trailing_metadata(METADATA)

    def early(self, requests: Iterator[bytes], context: Any) -> bytes:
        next(requests)
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "enough")
        return b""

    def sleep(self, request: bytes, context: Any) -> bytes:
        self.remaining = context.time_remaining()
        context.add_callback(self.cancelled.set)
        self.begun.set()
        end = time.monotonic() + float(request or b"10")
        while time.monotonic() < end and context.is_active():
            time.sleep(0.01)
        return b"slept"

    def handlers(self) -> Any:
        unary, down = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        up, chat = grpc.stream_unary_rpc_method_handler, grpc.stream_stream_rpc_method_handler
        methods = {
            **{"Echo": unary(self.echo), "Mirror": unary(self.mirror), "Fail": unary(self.fail)},
            **{"Down": down(self.down), "Up": up(self.up), "Chat": chat(self.chat)},
            **{"Early": up(self.early), "Sleep": unary(self.sleep)},
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)


CODES = {code.value[0]: code for code in grpc.StatusCode}


@dataclass
class Seen:
    """Every byte that a client sees of one call."""

    messages: list[bytes]
    initial: tuple[tuple[str, str | bytes], ...]
    code: str
    message: str
    trailing: tuple[tuple[str, str | bytes], ...]

    @property
    def details(self) -> bytes | None:
        details = [value for key, value in self.trailing if key == DETAILS]
        assert len(details) < 2
        return details[0] if details and isinstance(details[0], bytes) else None


def observe(channel: Any, method: str, *requests: bytes, metadata: Any = (), timeout: float = PATIENCE) -> Seen:
    """Make one call; the method's name says of which kind."""
    kind = {"Down": "unary_stream", "Up": "stream_unary", "Early": "stream_unary", "Chat": "stream_stream"}.get(
        method.rpartition("/")[2], "unary_unary"
    )
    path = method if method.startswith("/") else f"/{SERVICE}/{method}"
    make = getattr(channel, kind)(path, None, None)
    argument = iter(requests) if kind.startswith("stream") else requests[0]
    messages = []
    call = (make.future if kind.endswith("unary") else make)(argument, metadata=metadata, timeout=timeout)
    try:
        if kind.endswith("unary"):
            messages.append(call.result())
        else:
            messages.extend(call)
    except grpc.RpcError:
        pass
    added = getattr(channel, "added", ())
    return Seen(
        messages,
        tuple((key, value) for key, value in call.initial_metadata() or () if key not in added),
        call.code().name,
        call.details() or "",
        tuple((key, value) for key, value in call.trailing_metadata() or () if key not in added),
    )


@contextmanager
def served(
    *handlers: Any,
    credentials: Any = None,
    add: Callable[[Any], None] = lambda server: None,
    options: Sequence[tuple[str, Any]] = (),
    workers: int = 16,
    port: int = 0,
) -> Iterator[int]:
    """Run a gRPC server in here; yield its port."""
    with futures.ThreadPoolExecutor(workers) as pool:
        server = grpc.server(pool, options=[*BIG, *options])
        address = f"127.0.0.1:{port}"
        port = server.add_secure_port(address, credentials) if credentials else server.add_insecure_port(address)
        server.add_generic_rpc_handlers(handlers)
        add(server)
        server.start()
        try:
            yield port
        finally:
            server.stop(0).wait(PATIENCE)


@dataclass
class Started:
    """A proxy as a process of its own."""

    process: subprocess.Popen[str]
    line: str
    """What it said when it was ready."""
    port: int
    is_envoy: bool = False

    def stop(self, *signals: signal.Signals) -> tuple[int, str]:
        """Return its exit status, and what else it said."""
        for number in signals or (signal.SIGTERM,):
            self.process.send_signal(number)
        _, output = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, output


@contextmanager
def started(upstream: str | int, *words: str, quiet: bool = True) -> Iterator[Started]:
    """Run `corrigible proxy --grpc-upstream` until the block ends."""
    words = (*words, "--quiet") if quiet else words
    if "--engine" not in words:
        words = ("--engine", "mitmproxy", *words)
    target = f"127.0.0.1:{upstream}" if isinstance(upstream, int) else upstream
    command = ["corrigible", "proxy", "--grpc-upstream", target, "--listen", "127.0.0.1:0", *words]
    with start(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            lines: list[str] = []
            while not lines or not lines[-1].startswith("corrigible: "):
                line = process.stderr.readline()
                assert line, "".join(lines)
                lines.append(line)
            port = int(lines[-1].split()[1].rpartition(":")[2])
            yield Started(process, "".join(lines), port, is_envoy="envoy" in words)
        finally:
            process.kill()


def ended(*words: str) -> int:
    """Run a command that ends by itself, in here; return its exit status."""
    command: Any = importlib.import_module("corrigible.proxy.command.proxy")
    parser = argparse.ArgumentParser()
    command.add(parser.add_subparsers())
    status: int = command.run(parser.parse_args(["proxy", *words]))
    return status


def ended_apart(*words: str) -> tuple[int, str]:
    """Run one that gets as far as to fork, which must not happen in here; return its exit status, and what it said."""
    command = ["corrigible", "proxy", *words]
    completed = run(command)
    return completed.returncode, completed.stderr


@contextmanager
def channel_to(port: int, credentials: Any = None, options: Sequence[tuple[str, Any]] = BIG) -> Iterator[Any]:
    """A client's connection of its own."""
    options = [*options, ("grpc.use_local_subchannel_pool", 1)]
    address = f"127.0.0.1:{port}"
    opened = (
        grpc.secure_channel(address, credentials, options) if credentials else grpc.insecure_channel(address, options)
    )
    with opened as channel:
        yield channel


class Rpc:
    """What these tests get: the pieces above."""

    Probe = Probe
    METADATA, BIG, DETAILS, PATIENCE = METADATA, BIG, DETAILS, PATIENCE
    served, started, channel = staticmethod(served), staticmethod(started), staticmethod(channel_to)
    observe, status_bytes = staticmethod(observe), staticmethod(status_bytes)
    ended, ended_apart = staticmethod(ended), staticmethod(ended_apart)


@pytest.fixture(scope="session")
def rpc() -> type[Rpc]:
    """Servers, proxies and clients of gRPC."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what it says about calls that are refused is no news here
    return Rpc


@pytest.fixture(scope="session")
def probe(rpc: type[Rpc]) -> Iterator[Probe]:
    """The server that does what it is told."""
    told = Probe()
    with served(told.handlers()) as told.port:
        yield told


def descriptors() -> bytes:
    """Return what the server would say of itself: which of its methods are streams."""
    from google.protobuf import descriptor_pb2

    streams = {"Down": (False, True), "Up": (True, False), "Early": (True, False), "Chat": (True, True)}
    file = descriptor_pb2.FileDescriptorProto(name="probe.proto", package="probe.v1", syntax="proto3")
    file.message_type.add(name="Bytes")
    service = file.service.add(name="Probe")
    for name in ("Echo", "Mirror", "Fail", "Sleep", *streams):
        sent, is_client_stream = streams.get(name, (False, False))
        method = service.method.add(name=name, input_type=".probe.v1.Bytes", output_type=".probe.v1.Bytes")
        method.client_streaming, method.server_streaming = sent, is_client_stream
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


@pytest.fixture(scope="session", params=["without descriptors", "with descriptors", "on Envoy"])
def proxied(
    request: pytest.FixtureRequest, probe: Probe, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Started]:
    """A proxy in front of it, without a pack. Where it knows that a call is unary, it carries it in another way."""
    words = ["--engine", "envoy"] if request.param == "on Envoy" else []
    if request.param == "with descriptors":
        path = tmp_path_factory.mktemp("descriptors") / "probe.binpb"
        path.write_bytes(descriptors())
        words = ["--descriptors", str(path)]
    with started(probe.port, *words) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def direct_channel(probe: Probe) -> Iterator[Any]:
    with channel_to(probe.port) as channel:
        yield channel


@pytest.fixture(scope="session")
def proxied_channel(proxied: Started) -> Iterator[Any]:
    with channel_to(proxied.port) as channel:
        if proxied.is_envoy:
            channel.added = ("date",)  # RFC 9110 section 6.6.1 has every recipient with a clock add it
        yield channel


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A CA, and a certificate of it for 127.0.0.1."""
    certificate_module = importlib.import_module("corrigible.adapters.sandbox.certificate")
    folder: Path = tmp_path_factory.mktemp("certificates")
    return certificate_module.make_certificate(folder)
