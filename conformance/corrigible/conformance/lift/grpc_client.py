"""Sends request documents over gRPC: method = full name, headers = metadata, body = the message in proto-JSON.

Knows: grpcio, descriptors. Does not know: which API this is, tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError
from google.rpc import status_pb2

from corrigible.conformance.lift.agents.protocol import Response
from corrigible.conformance.lift.environment import Unreachable
from corrigible.schema.convert import from_proto
from corrigible.schema.document import scalar_text
from corrigible.schema.error import ContractError
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import MEMBER
from corrigible.schema.v0_1.feedback_pb2 import RecoveryFeedback

OURS: Final = "corrigible.schema.v0_1.RecoveryFeedback"
_DETAILS: Final = "grpc-status-details-bin"
_OPTIONS: Final = (("grpc.max_metadata_size", 64 * 1024), ("grpc.absolute_max_metadata_size", 64 * 1024))
_MALFORMED: Final = 3
_GONE: Final = "Connection refused", "failed to connect", "Socket closed", "Connection reset"


class GrpcClient:
    """A channel to one server."""

    def __init__(self, address: str, descriptors: bytes) -> None:
        self._pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors).file:
            self._pool.Add(file)
        self._channel: Any = grpc.insecure_channel(address, options=_OPTIONS)

    def close(self) -> None:
        self._channel.close()

    def send(self, request: Request, headers: Mapping[str, str], *, timeout: float = 30.0) -> Response:
        """Call a method; of a stream of responses the first counts. `headers` win over those of the document."""
        method_type = self._method(request.method)
        sent = {name.lower(): scalar_text(value) for name, value in request.headers.items()}
        sent |= {name.lower(): value for name, value in headers.items()}
        metadata = list(sent.items())
        if method_type is None:  # an unknown method is sent all the same: the server is to reject it
            content, response_type, streaming = b"", None, False
        else:
            message = message_factory.GetMessageClass(method_type.input_type)()
            try:
                json_format.ParseDict(request.body or {}, message, descriptor_pool=self._pool)
            except (json_format.ParseError, TypeError, ValueError) as problem:
                return Response(_MALFORMED, {"code": _MALFORMED, "message": f"the client cannot encode it: {problem}"})
            content = message.SerializeToString(deterministic=True)
            response_type = message_factory.GetMessageClass(method_type.output_type)
            streaming = method_type.server_streaming
        try:
            content_received = self._call(request.method, content, metadata, timeout, streaming=streaming)
        except grpc.RpcError as error:
            return self._refusal(error, request.method)
        body = None if response_type is None else self._as_json(response_type.FromString(content_received))
        return Response(0, body, succeeded=True)

    def _call(
        self, method: str, content: bytes, metadata: list[tuple[str, str]], timeout: float, *, streaming: bool
    ) -> bytes:
        """Return the first message of the answer. On the wire all four kinds of calls are streams of messages."""
        answers = self._channel.stream_stream(method)(iter([content]), metadata=metadata, timeout=timeout)
        if not streaming:
            return b"".join(answers)  # to its end: an error may follow a message
        first: bytes = next(answers, b"")
        answers.cancel()
        return first

    def _method(self, name: str) -> Any:
        try:
            service, _, method = name.lstrip("/").rpartition("/")
            return self._pool.FindServiceByName(service).FindMethodByName(method)
        except KeyError:
            return None

    def _as_json(self, message: Any) -> Json:
        return json_format.MessageToDict(message, descriptor_pool=self._pool)

    def _refusal(self, error: Any, method: str) -> Response:
        code, text = int(error.code().value[0]), error.details() or ""
        if code == grpc.StatusCode.UNAVAILABLE.value[0] and any(word in text for word in _GONE):
            raise Unreachable(f"{method}: {text}")
        body: dict[str, Json] = {"code": code, "message": text}
        details: list[Json] = []
        feedback: Mapping[str, Json] | None = None
        for detail in _details(error):
            if detail.type_url.rpartition("/")[2] == OURS:
                try:
                    feedback = from_proto(RecoveryFeedback.FromString(detail.value)).document()
                except (DecodeError, ContractError):
                    continue
            else:
                details.append(self._detail(detail))
        if details:
            body["details"] = details
        if feedback is not None:
            body[MEMBER] = feedback
        return Response(code, body)

    def _detail(self, detail: Any) -> Json:
        name = detail.type_url.rpartition("/")[2]
        for pool in (self._pool, descriptor_pool.Default()):
            try:
                kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
                return {"@type": detail.type_url, **json_format.MessageToDict(kind.FromString(detail.value))}
            except (KeyError, DecodeError, TypeError):
                continue
        return {"@type": detail.type_url}


def _details(error: Any) -> list[Any]:
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS:
            try:
                return list(status_pb2.Status.FromString(value).details)
            except DecodeError:
                return []
    return []
