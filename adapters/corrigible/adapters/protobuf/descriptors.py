"""Descriptors of services: which message a method takes and gives, and messages as canonical proto-JSON.

Knows: google.protobuf. Does not know: grpc, where descriptors came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError, Message

from corrigible.rules.failure import AuthoringError, Place
from corrigible.schema.exchange import Json


class Method(NamedTuple):
    """One method of a service. Descriptors of Python and of upb share no type, hence Any."""

    takes: Any
    gives: Any
    client_streaming: bool
    server_streaming: bool


class Descriptors:
    """A pool, and the methods of every service in it by full name: `/package.Service/Method`."""

    def __init__(self, files: Iterable[descriptor_pb2.FileDescriptorProto] = ()) -> None:
        """Raises TypeError where a file refers to something that is nowhere."""
        self.pool = descriptor_pool.DescriptorPool()
        self.methods: Mapping[str, Method] = {}
        waiting = {file.name: file for file in files}
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
        known = self.methods.get(method)
        return None if known is None else self._json(known.takes, data)

    def answer_json(self, method: str, data: bytes) -> Json:
        """Return an answer as canonical proto-JSON, None where the method or the bytes are not understood."""
        known = self.methods.get(method)
        return None if known is None else self._json(known.gives, data)

    def request_bytes(self, method: str, document: Json) -> bytes | None:
        """Return the message that proto-JSON says, None where it is none of this method's."""
        known = self.methods.get(method)
        if known is None:
            return None
        message: Message = message_factory.GetMessageClass(known.takes)()
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
    file = waiting.get(name)
    if file is None:
        file = descriptor_pb2.FileDescriptorProto()
        if not name.startswith(_WELL_KNOWN):
            raise TypeError(f"{name} is imported and not there")
        _import(name)
        try:
            descriptor_pool.Default().FindFileByName(name).CopyToProto(file)
        except KeyError:
            raise TypeError(f"{name} is imported and not there") from None
    for needed in file.dependency:
        _add(pool, waiting, needed)
    pool.Add(file)


def _import(name: str) -> None:
    import importlib

    try:
        importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    except ImportError:
        return


def load(path: Path) -> Descriptors:
    """Read a FileDescriptorSet (`protoc --include_imports --descriptor_set_out`). Raises AuthoringError."""
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise AuthoringError(Place(path), f"cannot be read: {(problem.strerror or str(problem)).lower()}") from None
    try:
        return Descriptors(descriptor_pb2.FileDescriptorSet.FromString(data).file)
    except (DecodeError, TypeError) as problem:
        said = str(problem) if isinstance(problem, TypeError) else "not a FileDescriptorSet"
        raise AuthoringError(
            Place(path), f"{said}: protoc --include_imports --descriptor_set_out=FILE makes one"
        ) from None
