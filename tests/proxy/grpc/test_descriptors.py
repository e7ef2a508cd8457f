"""Where descriptors come from: a set, `.proto` files, or the upstream, which is asked beside the calls."""

from __future__ import annotations

import importlib
import json
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

grpc: Any = importlib.import_module("grpc")
reflection: Any = importlib.import_module("grpc_reflection.v1alpha.reflection")
reflection_pb2: Any = importlib.import_module("grpc_reflection.v1alpha.reflection_pb2")
health: Any = importlib.import_module("grpc_health.v1.health")
health_pb2: Any = importlib.import_module("grpc_health.v1.health_pb2")
health_pb2_grpc: Any = importlib.import_module("grpc_health.v1.health_pb2_grpc")

from google.protobuf import descriptor_pool  # noqa: E402  behind what may be missing
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet  # noqa: E402

from corrigible.adapters.protobuf.descriptors import load  # noqa: E402
from corrigible.rules.errors import AuthoringError  # noqa: E402
from tests._support.rows import rows  # noqa: E402

KIND = """\
syntax = "proto3";
package acme.v1;
enum Kind { KIND_UNSPECIFIED = 0; KIND_BIG = 1; }
"""
ORDERS = """\
syntax = "proto3";
package acme.v1;
import "acme/v1/kind.proto";
import "google/protobuf/duration.proto";
message Order { string name = 1; int64 amount = 2; Kind kind = 3; google.protobuf.Duration wait = 4; }
message Answer {}
service Orders { rpc Create(Order) returns (Answer); }
"""
METHOD = "/acme.v1.Orders/Create"
REQUEST = b"\x0a\x03Bad\x10\x05"
READ = {"name": "Bad", "amount": "5"}
RULE = """
    match: {operation: acme.v1.Orders/Create}
    when: request.body.name == 'Bad'
    suggest:
      - {action: MODIFY_PARAMS, message: Write it small., parameters: {name: request.body.name.lowerAscii()}}
    """


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The service's `.proto` files, in a folder of their package."""
    folder: Path = tmp_path_factory.mktemp("protos")
    package = folder / "acme" / "v1"
    package.mkdir(parents=True)
    (package / "kind.proto").write_text(KIND, "utf-8")
    (package / "orders.proto").write_text(ORDERS, "utf-8")
    return folder


@pytest.fixture(scope="module")
def files(folder: Path) -> list[FileDescriptorProto]:
    pool = load(folder).pool
    names = ("acme/v1/kind.proto", "google/protobuf/duration.proto", "acme/v1/orders.proto")
    return [FileDescriptorProto.FromString(pool.FindFileByName(name).serialized_pb) for name in names]


class TestFiles:
    @pytest.mark.parametrize("name", ["", "acme", "acme/v1", "acme/v1/orders.proto"])
    def test_protos_are_compiled_wherever_one_points(self, name: str, folder: Path) -> None:
        assert load(folder / name).request_json(METHOD, REQUEST) == READ

    @pytest.mark.parametrize("imports", [True, False])
    def test_a_set_is_read_with_or_without_googles_own(
        self, imports: bool, files: list[FileDescriptorProto], tmp_path: Path
    ) -> None:
        path = tmp_path / "set.binpb"
        chosen = [file for file in files if imports or not file.name.startswith("google/")]
        path.write_bytes(FileDescriptorSet(file=chosen).SerializeToString())
        assert load(path).request_json(METHOD, REQUEST) == READ

    def test_messages_go_both_ways(self, folder: Path) -> None:
        descriptors = load(folder)
        assert descriptors.request_bytes(METHOD, READ) == REQUEST
        assert descriptors.request_bytes(METHOD, {"nam": "x"}) is None
        assert descriptors.request_json(METHOD, b"\xff") is None
        assert descriptors.request_json("/acme.v1.Orders/Nope", REQUEST) is None

    @rows(
        ("content", "said"),
        [
            (b"", "this is empty; a FileDescriptorSet is needed "),
            (b"\xff\xff\xff", "this is none; a FileDescriptorSet is needed "),
            (b"// hello\n\nsyntax = 'proto3';", "this is the source of a .proto file: rename it to end with .proto"),
            (b'{"file": []}', "this is JSON; a FileDescriptorSet is needed "),
            (b"openapi: 3.1.0\n", "this is OpenAPI; a FileDescriptorSet is needed "),
            (b"\x1f\x8b\x08", "this is compressed: decompress it first"),
            (b"# -*- coding: utf-8 -*-\n# Generated", "this is generated Python: use its .proto file"),
        ],
        ids=["empty", "noise", "proto", "json", "openapi", "gzip", "python"],
    )
    def test_another_file_is_told_apart(self, content: bytes, said: str, tmp_path: Path) -> None:
        path = tmp_path / "set.binpb"
        path.write_bytes(content)
        with pytest.raises(AuthoringError) as caught:
            load(path)
        assert str(caught.value).startswith(f"{path}: {said}")

    def test_one_file_is_no_set(self, files: list[FileDescriptorProto], tmp_path: Path) -> None:
        path = tmp_path / "set.binpb"
        path.write_bytes(files[-1].SerializeToString())
        with pytest.raises(AuthoringError, match=r"set.binpb: this is a single FileDescriptorProto; a FileDescr"):
            load(path)

    def test_a_set_must_be_whole(self, files: list[FileDescriptorProto], tmp_path: Path) -> None:
        path = tmp_path / "set.binpb"
        path.write_bytes(FileDescriptorSet(file=files[-1:]).SerializeToString())
        with pytest.raises(AuthoringError) as caught:
            load(path)
        hint = "include the imports with protoc --include_imports"
        assert str(caught.value) == f"{path}: acme/v1/kind.proto is imported but missing; {hint}"

    def test_a_set_without_a_service_is_of_no_use(self, files: list[FileDescriptorProto], tmp_path: Path) -> None:
        path = tmp_path / "set.binpb"
        path.write_bytes(FileDescriptorSet(file=files[:1]).SerializeToString())
        with pytest.raises(AuthoringError, match=r"set.binpb: it defines no service$"):
            load(path)

    def test_a_mistake_in_a_proto_has_file_and_line(self, tmp_path: Path) -> None:
        path = tmp_path / "orders.proto"
        path.write_text('syntax = "proto3";\nmessage A {\n  strin a = 1;\n}\n', "utf-8")
        with pytest.raises(AuthoringError) as caught:
            load(path)
        assert str(caught.value) == f'{path}:3: "strin" is not defined.'

    def test_an_import_that_is_nowhere_is_named(self, folder: Path, tmp_path: Path) -> None:
        path = tmp_path / "orders.proto"
        path.write_text(ORDERS, "utf-8")
        with pytest.raises(AuthoringError) as caught:
            load(path)
        assert str(caught.value) == (
            f"{path}:3: acme/v1/kind.proto is imported but cannot be found; "
            "`buf build -o FILE` makes a set of all that is needed"
        )

    def test_a_folder_without_protos_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(AuthoringError, match=r"[^:]*: no .proto file in this folder$"):
            load(tmp_path)


def orders(seen: list[Any] | None = None) -> Any:
    def create(request: bytes, context: Any) -> bytes:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no")
        return b""

    return grpc.method_handlers_generic_handler(
        "acme.v1.Orders", {"Create": grpc.unary_unary_rpc_method_handler(create)}
    )


class Reflecting:
    """Server reflection of one version, which remembers who asked, and asks for credentials if it is told to."""

    def __init__(self, files: list[FileDescriptorProto], version: str, *, token: str | None = None) -> None:
        pool = descriptor_pool.DescriptorPool()
        for file in files:
            pool.Add(file)
        self.inner = reflection.ReflectionServicer(["acme.v1.Orders"], pool=pool)
        self.version, self.token = version, token
        self.seen: list[dict[str, Any]] = []
        self.release = threading.Event()
        self.release.set()

    def ask(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
        metadata = {m.key: m.value for m in context.invocation_metadata() if m.key != "user-agent"}
        self.seen.append(metadata)
        if self.token is not None and metadata.get("authorization") != self.token:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")
        self.release.wait(20)
        yield from self.inner.ServerReflectionInfo(requests, context)

    def handler(self) -> Any:
        method = grpc.stream_stream_rpc_method_handler(
            self.ask,
            reflection_pb2.ServerReflectionRequest.FromString,
            reflection_pb2.ServerReflectionResponse.SerializeToString,
        )
        name = f"grpc.reflection.{self.version}.ServerReflection"
        return grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": method})


def refused(channel: Any, rpc: Any, **metadata: str) -> Any:
    return rpc.observe(channel, METHOD, REQUEST, metadata=tuple(metadata.items()))


def spoken(log: Path) -> list[str]:
    return [rule for line in log.read_text().splitlines() for rule in json.loads(line)["rules"]]


class TestReflection:
    @pytest.mark.parametrize("version", ["v1", "v1alpha"])
    def test_the_upstream_is_asked_once_and_by_nobody(
        self, version: str, rpc: Any, files: list[FileDescriptorProto], write_pack: Any, tmp_path: Path
    ) -> None:
        asked, log = Reflecting(files, version), tmp_path / "log.jsonl"
        with (
            rpc.served(orders(), asked.handler()) as port,
            rpc.started(port, "--pack", str(write_pack(mine=RULE)), "--log", str(log)) as proxy,
            rpc.channel(proxy.port) as channel,
        ):
            deadline = time.monotonic() + rpc.PATIENCE
            while refused(channel, rpc, authorization="Bearer t").details is None:
                assert time.monotonic() < deadline
            assert asked.seen == [{}]
            assert proxy.stop() == (0, "")
            assert set(spoken(log)) == {"apex.mine"}

    def test_where_it_takes_credentials_the_first_callers_are_used(
        self, rpc: Any, files: list[FileDescriptorProto], write_pack: Any, tmp_path: Path
    ) -> None:
        asked = Reflecting(files, "v1", token="Bearer t")
        with (
            rpc.served(orders(), asked.handler()) as port,
            rpc.started(port, "--pack", str(write_pack(mine=RULE))) as proxy,
            rpc.channel(proxy.port) as channel,
        ):
            deadline = time.monotonic() + rpc.PATIENCE
            while refused(channel, rpc, authorization="Bearer t").details is None:
                assert time.monotonic() < deadline
            assert asked.seen == [{}, {"authorization": "Bearer t"}]
            assert proxy.stop() == (0, "")

    def test_no_call_waits_for_it(self, rpc: Any, files: list[FileDescriptorProto], write_pack: Any) -> None:
        asked = Reflecting(files, "v1")
        asked.release.clear()
        with (
            rpc.served(orders(), asked.handler()) as port,
            rpc.started(port, "--pack", str(write_pack(mine=RULE)), "--time-limit", "1") as proxy,
            rpc.channel(proxy.port) as channel,
        ):
            seen = refused(channel, rpc)
            assert (seen.code, seen.message, seen.details) == ("INVALID_ARGUMENT", "no", None)
            asked.release.set()
            assert proxy.stop()[0] == 0

    def test_without_any_it_says_so_once(self, rpc: Any, probe: Any) -> None:
        with rpc.started(probe.port) as proxy, rpc.channel(proxy.port) as channel:
            assert proxy.process.stderr is not None
            assert proxy.process.stderr.readline() == (
                "corrigible proxy: no descriptors from the upstream: it has no reflection; "
                "only codes and messages are understood (--descriptors helps)\n"
            )
            for _ in range(3):
                assert rpc.observe(channel, "Echo", b"x").code == "OK"
            assert proxy.stop() == (0, "")

    def test_descriptors_that_are_wrong_are_no_reason_to_fail(
        self, rpc: Any, files: list[FileDescriptorProto], probe: Any
    ) -> None:
        class Odd(Reflecting):
            def ask(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:
                for request in requests:
                    answer = reflection_pb2.ServerReflectionResponse()
                    if request.list_services or request.WhichOneof("message_request") == "list_services":
                        answer.list_services_response.service.add(name="acme.v1.Orders")
                    else:
                        answer.file_descriptor_response.file_descriptor_proto.append(b"\xff\xff")
                    yield answer

        with (
            rpc.served(probe.handlers(), Odd(files, "v1").handler()) as port,
            rpc.started(port) as proxy,
            rpc.channel(proxy.port) as channel,
        ):
            assert proxy.process.stderr is not None
            line = proxy.process.stderr.readline()
            assert line.startswith("corrigible proxy: no descriptors from the upstream: what its reflection says is no")
            assert rpc.observe(channel, "Echo", b"x").messages == [b"x"]

    def test_with_descriptors_it_is_not_asked(
        self, rpc: Any, files: list[FileDescriptorProto], folder: Path, write_pack: Any, tmp_path: Path
    ) -> None:
        asked, log = Reflecting(files, "v1"), tmp_path / "log.jsonl"
        words = ["--pack", str(write_pack(mine=RULE)), "--log", str(log), "--descriptors", str(folder)]
        with (
            rpc.served(orders(), asked.handler()) as port,
            rpc.started(port, *words) as proxy,
            rpc.channel(proxy.port) as channel,
        ):
            assert refused(channel, rpc).details is not None
            assert proxy.stop() == (0, "")
        assert spoken(log) == ["apex.mine"]
        assert asked.seen == []


def test_calls_are_lines_and_a_hangup_loads_the_pack_anew(rpc: Any, folder: Path, write_pack: Any) -> None:
    words = ["--pack", str(write_pack(mine=RULE)), "--descriptors", str(folder)]
    with (
        rpc.served(orders()) as port,
        rpc.started(port, *words, quiet=False) as proxy,
        rpc.channel(proxy.port) as channel,
    ):
        assert refused(channel, rpc).details is not None
        proxy.process.send_signal(signal.SIGHUP)
        stderr = proxy.process.stderr
        assert stderr is not None
        lines = [stderr.readline(), stderr.readline()]
        assert refused(channel, rpc).details is not None
        status, output = proxy.stop()
    line = r"..:..:.. INVALID_ARGUMENT /acme.v1.Orders/Create corrected: .* \(apex.mine\) \[.*\]\n"
    assert re.fullmatch(line, lines[0])
    assert lines[1] == "corrigible proxy: packs and descriptions reloaded\n"
    assert (status, output.splitlines()[-2:]) == (
        0,
        ["corrigible proxy: 2 requests, 2 refusals: 2 corrected", "corrigible proxy: by rule: 2 x apex.mine"],
    )


def test_health_and_reflection_of_the_upstream_are_its_own(rpc: Any, files: list[FileDescriptorProto]) -> None:
    told = health.HealthServicer()
    told.set("acme.v1.Orders", health_pb2.HealthCheckResponse.NOT_SERVING)

    def add(server: Any) -> None:
        health_pb2_grpc.add_HealthServicer_to_server(told, server)

    with (
        rpc.served(orders(), Reflecting(files, "v1alpha").handler(), add=add) as port,
        rpc.started(port) as proxy,
        rpc.channel(proxy.port) as channel,
    ):
        stub = health_pb2_grpc.HealthStub(channel)
        question = health_pb2.HealthCheckRequest(service="acme.v1.Orders")
        assert stub.Check(question, timeout=rpc.PATIENCE).status == health_pb2.HealthCheckResponse.NOT_SERVING
        watching = stub.Watch(question, timeout=rpc.PATIENCE)
        assert next(watching).status == health_pb2.HealthCheckResponse.NOT_SERVING
        told.set("acme.v1.Orders", health_pb2.HealthCheckResponse.SERVING)
        assert next(watching).status == health_pb2.HealthCheckResponse.SERVING
        watching.cancel()
        database: Any = importlib.import_module("grpc_reflection.v1alpha.proto_reflection_descriptor_database")
        found = database.ProtoReflectionDescriptorDatabase(channel)
        assert list(found.get_services()) == ["acme.v1.Orders"]
        assert found.FindFileContainingSymbol("acme.v1.Orders").SerializeToString() == files[-1].SerializeToString()
