"""Descriptors of services: the input and output of methods, and messages as canonical proto-JSON.

Knows: google.protobuf. Does not know: grpc, where descriptors came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError, Message

from corrigible.rules.errors import AuthoringError, Place
from corrigible.schema.exchange import Json


class Method(NamedTuple):
    """One method of a service. Descriptors of Python and of upb share no type, hence Any."""

    request_type: Any
    response_type: Any
    client_streaming: bool
    server_streaming: bool


class Descriptors:
    """A pool, and the methods of every service in it by full name: `/package.Service/Method`."""

    def __init__(self, files: Iterable[descriptor_pb2.FileDescriptorProto] = ()) -> None:
        """Raises TypeError where a file refers to something that is nowhere."""
        self.pool = descriptor_pool.DescriptorPool()
        self.methods: Mapping[str, Method] = {}
        waiting = {file.name: file for file in files}
        self.files = [file.SerializeToString() for file in waiting.values()]
        """What it was made of."""
        names = list(waiting)
        for name in names:
            _add(self.pool, waiting, name)
        self.methods = {
            f"/{service.full_name}/{method.name}": Method(
                method.input_type, method.output_type, method.client_streaming, method.server_streaming
            )
            for name in names
            for service in self.pool.FindFileByName(name).services_by_name.values()
            for method in service.methods
        }

    def request_json(self, method: str, data: bytes) -> Json:
        """Return a request as canonical proto-JSON, None where the method or the bytes are not understood."""
        descriptor = self.methods.get(method)
        return None if descriptor is None else self._json(descriptor.request_type, data)

    def answer_json(self, method: str, data: bytes) -> Json:
        """Return an answer as canonical proto-JSON, None where the method or the bytes are not understood."""
        descriptor = self.methods.get(method)
        return None if descriptor is None else self._json(descriptor.response_type, data)

    def request_bytes(self, method: str, document: Json) -> bytes | None:
        """Return the message of some proto-JSON, None where it is none of this method's."""
        descriptor = self.methods.get(method)
        if descriptor is None:
            return None
        message: Message = message_factory.GetMessageClass(descriptor.request_type)()
        try:
            json_format.ParseDict(document, message, descriptor_pool=self.pool)
        except (json_format.ParseError, TypeError, AttributeError):
            return None
        return message.SerializeToString()

    def _json(self, kind: Any, data: bytes) -> Json:
        try:
            message = message_factory.GetMessageClass(kind).FromString(data)
            return json_format.MessageToDict(message, descriptor_pool=self.pool)
        except (DecodeError, TypeError, ValueError):
            return None


_WELL_KNOWN: Final = "google/"


def _add(
    pool: descriptor_pool.DescriptorPool, waiting: dict[str, descriptor_pb2.FileDescriptorProto], name: str
) -> None:
    """Add a file after those it needs. Well-known ones that a set leaves out are Python's own."""
    try:
        pool.FindFileByName(name)
        return
    except KeyError:
        pass
    file = waiting.pop(name, None)  # a file that imports itself is found no second time
    if file is None:
        file = descriptor_pb2.FileDescriptorProto()
        if not name.startswith(_WELL_KNOWN):
            raise TypeError(f"{name} is imported but missing")
        _import(name)
        try:
            descriptor_pool.Default().FindFileByName(name).CopyToProto(file)
        except KeyError:
            raise TypeError(f"{name} is imported but missing") from None
    for needed in file.dependency:
        _add(pool, waiting, needed)
    pool.Add(file)


def _import(name: str) -> None:
    import importlib

    try:
        importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    except ImportError:
        return


def load(path: Path, *, comments: bool = False) -> Descriptors:
    """Read a FileDescriptorSet, a `.proto` file or a folder of those, with comments if asked. Raises AuthoringError."""
    if path.is_dir() or path.suffix == ".proto":
        from .proto_compiler import compile_protos  # runs a compiler: only where there is something to compile

        files = compile_protos(path, comments=comments).file
    else:
        files = _read(path).file
    try:
        descriptors = Descriptors(files)
    except TypeError as problem:
        raise AuthoringError(Place(path, 0), f"{problem}{_HINT if 'is imported' in str(problem) else ''}") from None
    if not descriptors.methods:
        raise AuthoringError(Place(path, 0), "it defines no service")
    return descriptors


_HINT: Final = "; include the imports with protoc --include_imports"
_NEEDED: Final = "a FileDescriptorSet is needed (protoc --include_imports --descriptor_set_out=FILE, buf build -o FILE)"
_LOOKS: Final = (
    (b"syntax", "this is the source of a .proto file: rename it to end with .proto"),
    (b"edition", "this is the source of a .proto file: rename it to end with .proto"),
    (b"package", "this is the source of a .proto file: rename it to end with .proto"),
    (b"{", f"this is JSON; {_NEEDED}"),
    (b"openapi", f"this is OpenAPI; {_NEEDED}"),
    (b"\x1f\x8b", "this is compressed: decompress it first"),
    (b"# -*- coding", "this is generated Python: use its .proto file"),
    (b"# Generated by", "this is generated Python: use its .proto file"),
)


def _read(path: Path) -> descriptor_pb2.FileDescriptorSet:
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise AuthoringError(Place(path, 0), f"cannot be read: {(problem.strerror or str(problem)).lower()}") from None
    start = b"\n".join(line for line in data[:4096].splitlines() if line.strip() and not line.startswith(b"//"))
    for mark, hint in _LOOKS:
        if start.startswith(mark):
            raise AuthoringError(Place(path, 0), hint)
    try:
        descriptors = descriptor_pb2.FileDescriptorSet.FromString(data)
    except DecodeError:
        descriptors = descriptor_pb2.FileDescriptorSet()
    if any(file.name.endswith(".proto") for file in descriptors.file):
        return descriptors
    raise AuthoringError(Place(path, 0), f"{_describe_file(data)}; {_NEEDED}")


def _describe_file(data: bytes) -> str:
    if not data:
        return "this is empty"
    try:
        file = descriptor_pb2.FileDescriptorProto.FromString(data)
    except DecodeError:
        return "this is none"
    return "this is a single FileDescriptorProto" if file.name.endswith(".proto") else "there is nothing in it"
