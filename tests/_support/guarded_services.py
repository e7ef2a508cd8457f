"""A service that protovalidate guards and one that judges for itself, on real sockets, and a proxy before them."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    duration_pb2,
    field_mask_pb2,
    json_format,
    message_factory,
    timestamp_pb2,
    wrappers_pb2,
)
from google.rpc import code_pb2, error_details_pb2, status_pb2

from corrigible.adapters.protobuf.descriptors import Descriptors, load
from tests._support.command import start as command_start

HERE = Path(__file__).parent
STORE = "/guarded.v1.Things/Store"
STORE_MANY = "/guarded.v1.Things/StoreMany"
BOOK = "/guarded.v1.Rooms/Book"


def validate_proto() -> bytes:
    """Return the descriptor of buf/validate/validate.proto, which protovalidate carries inside its generated code."""
    module: Any = importlib.import_module("protovalidate._gen.buf.validate.validate_pb")
    blobs = [
        node.value
        for node in ast.walk(ast.parse(Path(module.__file__).read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, bytes)
    ]
    return next(blob for blob in blobs if blob.startswith(b"\n\x1bbuf/validate/validate.proto"))


@pytest.fixture(scope="session")
def descriptor_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the services as their author would."""
    folder = tmp_path_factory.mktemp("descriptors")
    descriptors = descriptor_pb2.FileDescriptorSet()
    for module in (descriptor_pb2, any_pb2, duration_pb2, field_mask_pb2, timestamp_pb2, wrappers_pb2):
        module.DESCRIPTOR.CopyToProto(descriptors.file.add())
    descriptors.file.add().ParseFromString(validate_proto())
    (folder / "validate.binpb").write_bytes(descriptors.SerializeToString())
    options = [f"--descriptor_set_in={folder / 'validate.binpb'}", f"-I{HERE}", "--include_imports"]
    out = folder / "guarded.binpb"
    command = [sys.executable, "-m", "grpc_tools.protoc", *options, f"--descriptor_set_out={out}", "guarded.proto"]
    subprocess.run(command, check=True)
    return out


@dataclass(frozen=True)
class Messages:
    """The messages of a descriptor set, made from proto-JSON."""

    descriptors: Descriptors

    def of(self, method: str, document: Any) -> Any:
        kind = message_factory.GetMessageClass(self.descriptors.methods[method].request_type)
        return json_format.ParseDict(document, kind(), descriptor_pool=self.descriptors.pool)

    def parse(self, method: str) -> Callable[[bytes], Any]:
        return message_factory.GetMessageClass(self.descriptors.methods[method].request_type).FromString

    def answer(self, method: str) -> Any:
        return message_factory.GetMessageClass(self.descriptors.methods[method].response_type)

    def document(self, message: Any) -> Any:
        return json_format.MessageToDict(message, descriptor_pool=self.descriptors.pool)


@pytest.fixture(scope="session")
def messages(descriptor_set: Path) -> Messages:
    return Messages(load(descriptor_set))


def violations(message: Any) -> status_pb2.Status | None:
    """Return what protovalidate has against a message, as its interceptors pack it; None where nothing."""
    import protovalidate

    try:
        protovalidate.validate(message)
    except protovalidate.ValidationError as error:
        status = status_pb2.Status(code=code_pb2.INVALID_ARGUMENT, message=str(error))
        status.details.add(type_url="type.googleapis.com/buf.validate.Violations", value=error.to_proto().to_binary())
        return status
    return None


def misbooked(booking: Any) -> status_pb2.Status | None:
    """Return what the rooms' own code has against a booking."""
    bad_request = error_details_pb2.BadRequest()
    if booking.nights > 14:
        bad_request.field_violations.add(field="nights", description="nobody stays longer than 14 nights")
    for index, guest in enumerate(booking.guests):
        if not guest.istitle():
            bad_request.field_violations.add(field=f"guests[{index}]", description="a name begins with a capital")
    if not bad_request.field_violations:
        return None
    status = status_pb2.Status(code=code_pb2.INVALID_ARGUMENT, message="the booking is not possible")
    status.details.add().Pack(bad_request)
    return status


@pytest.fixture(scope="session")
def service(messages: Messages) -> Iterator[int]:
    """Serve all of it on a port of 127.0.0.1."""
    rpc_status = importlib.import_module("grpc_status.rpc_status")

    def checked(judge: Callable[[Any], status_pb2.Status | None], method: str) -> Callable[[Any, Any], Any]:
        def answer(request: Any, context: Any) -> Any:
            if (refusal := judge(request)) is not None:
                context.abort_with_status(rpc_status.to_status(refusal))
            return messages.answer(method)(name=getattr(request, "name", ""))

        return answer

    def many(requests: Iterator[Any], context: Any) -> Iterator[Any]:
        for request in requests:
            yield checked(violations, STORE_MANY)(request, context)

    def unary(judge: Callable[[Any], status_pb2.Status | None], method: str) -> Any:
        return grpc.unary_unary_rpc_method_handler(
            checked(judge, method), messages.parse(method), lambda message: message.SerializeToString()
        )

    store_many: Any = grpc.stream_stream_rpc_method_handler(
        many, messages.parse(STORE_MANY), lambda message: message.SerializeToString()
    )
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler(
                "guarded.v1.Things", {"Store": unary(violations, STORE), "StoreMany": store_many}
            ),
            grpc.method_handlers_generic_handler("guarded.v1.Rooms", {"Book": unary(misbooked, BOOK)}),
        )
    )
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield port
    server.stop(0).wait()


@pytest.fixture(scope="session")
def start_proxy() -> Iterator[Callable[..., int]]:
    """Start `corrigible proxy` before a gRPC server and return its port."""
    started: list[subprocess.Popen[str]] = []

    def start(upstream: int, *options: str) -> int:
        command = ["corrigible", "proxy", "--grpc-upstream", f"127.0.0.1:{upstream}"]
        process = command_start([*command, "--listen", "127.0.0.1:0", *options], stderr=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stderr is not None
        assert process.stderr.readline() == "corrigible proxy: starting\n"
        line = process.stderr.readline()
        assert line.startswith("corrigible: 127.0.0.1:"), line + process.stderr.read()
        return int(line.split()[1].rpartition(":")[2])

    yield start
    for process in started:
        process.terminate()
    for process in started:
        process.communicate()


@pytest.fixture(scope="session")
def proxy(service: int, descriptor_set: Path, start_proxy: Callable[..., int]) -> int:
    return start_proxy(service, "--descriptors", str(descriptor_set))
