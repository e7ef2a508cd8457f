"""`envoy.service.ext_proc.v3` over gRPC: for gateways that ask by this protocol only.

Knows: Envoy's messages, grpc.aio. Does not know: what is asked and decided. Needs the extras `envoy`, `grpc` and
`ext_proc`; nothing else imports `envoy_data_plane`, which takes two seconds.

Each message of the gateway is answered by one. If that fails, the part goes on as it is: a working call is never lost.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import grpc
from envoy_data_plane.envoy.config.core.v3 import (
    HeaderMap,
    HeaderValue,
    HeaderValueOption,
    HeaderValueOptionHeaderAppendAction,
)
from envoy_data_plane.envoy.extensions.filters.http.ext_proc.v3 import (
    ProcessingMode,
    ProcessingModeBodySendMode,
    ProcessingModeHeaderSendMode,
)
from envoy_data_plane.envoy.service.ext_proc.v3 import (
    BodyMutation,
    BodyResponse,
    CommonResponse,
    CommonResponseResponseStatus,
    HeaderMutation,
    HeadersResponse,
    ImmediateResponse,
    ProcessingRequest,
    ProcessingResponse,
    TrailersResponse,
)
from envoy_data_plane.envoy.type.v3 import HttpStatus
from envoy_data_plane.google.protobuf import Struct, Value
from grpc import aio

from corrigible.proxy.http.messages import Headers, bytes_of, text_of

from .processing import Answered, Edit, Further, Processing

SERVICE: Final = "envoy.service.ext_proc.v3.ExternalProcessor"
_METHOD: Final = f"/{SERVICE}/Process"
_PEER: Final = "source.address"
"""The attribute with the address of who calls."""
_MESSAGE: Final = 16 << 20
"""Bytes of one message at most."""
_SET: Final = HeaderValueOptionHeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD
_ADD: Final = HeaderValueOptionHeaderAppendAction.APPEND_IF_EXISTS_OR_ADD
_SEND, _SKIP = ProcessingModeHeaderSendMode.SEND, ProcessingModeHeaderSendMode.SKIP


@asynccontextmanager
async def serving(new: Callable[[], Processing], address: str) -> AsyncIterator[None]:
    """Serve at `HOST:PORT` or `unix:PATH` until the context ends; `new` begins an exchange. Raises OSError."""
    server = aio.server(options=[("grpc.max_receive_message_length", _MESSAGE), ("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((_Handler(new),))
    try:
        server.add_insecure_port(address)
    except RuntimeError:
        raise OSError("address already in use") from None
    await server.start()
    try:
        yield
    finally:
        await server.stop(None)


class _Handler(grpc.GenericRpcHandler):
    def __init__(self, new: Callable[[], Processing]) -> None:
        self._new = new

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        if handler_call_details.method != _METHOD:
            return None
        return grpc.stream_stream_rpc_method_handler(self._process, ProcessingRequest.parse, bytes)

    async def _process(
        self, messages: AsyncIterator[ProcessingRequest], _: object
    ) -> AsyncIterator[ProcessingResponse]:
        exchange = self._new()
        async for message in messages:
            yield await answer(exchange, message)


async def answer(exchange: Processing, message: ProcessingRequest) -> ProcessingResponse:
    """Return the answer to one message. Whatever goes wrong, the part goes on as it is."""
    try:
        return await _answer(exchange, message)
    except Exception as problem:  # the law: an error of ours means that the native answer passes
        print(f"corrigible corrector: {type(problem).__name__}: {problem}", file=sys.stderr, flush=True)
        return _response(message, Edit())


async def _answer(exchange: Processing, message: ProcessingRequest) -> ProcessingResponse:
    if (head := message.request_headers) is not None:
        edit = await exchange.request_headers(
            _pairs(head.headers), is_end=head.end_of_stream, peer=_peer(message.attributes)
        )
    elif (body := message.request_body) is not None:
        edit = await exchange.request_body(body.body, is_end=body.end_of_stream)
    elif (head := message.response_headers) is not None:
        edit = await exchange.response_headers(_pairs(head.headers), is_end=head.end_of_stream)
    elif (body := message.response_body) is not None:
        edit = await exchange.response_body(body.body, is_end=body.end_of_stream)
    elif (trailers := message.response_trailers) is not None:
        edit = await exchange.response_trailers(_pairs(trailers.trailers))
    else:
        edit = Edit()
    if isinstance(edit, Answered):
        headers = [(name, value) for name, value in edit.headers if name.lower() != "content-length"]
        mutation = HeaderMutation(set_headers=[_option(name, value, _SET) for name, value in headers])
        return ProcessingResponse(
            immediate_response=ImmediateResponse(status=HttpStatus(code=200), headers=mutation, body=edit.body)  # type: ignore[arg-type]
        )
    return _response(message, edit)


def _response(message: ProcessingRequest, edit: Edit) -> ProcessingResponse:
    """Return the answer of the kind that a message asks for."""
    mutation = _mutation(edit)
    common = CommonResponse(header_mutation=mutation)
    if edit.body is not None:
        common.body_mutation = BodyMutation(body=edit.body)
    response = ProcessingResponse()
    if message.request_headers is not None:
        response.request_headers = HeadersResponse(response=common)
    elif message.request_body is not None:
        response.request_body = BodyResponse(response=common)
    elif message.response_headers is not None:
        if edit.body is not None:  # an answer without a body gets one
            common.status = CommonResponseResponseStatus.CONTINUE_AND_REPLACE
        response.response_headers = HeadersResponse(response=common)
    elif message.response_body is not None:
        response.response_body = BodyResponse(response=common)
    elif message.request_trailers is not None:
        response.request_trailers = TrailersResponse(header_mutation=mutation)
    else:
        response.response_trailers = TrailersResponse(header_mutation=mutation)
    if edit.further is not None:
        response.mode_override = _mode(edit.further)
    if edit.entry:
        entry = Struct(fields={"entry": Value(string_value=edit.entry)})
        response.dynamic_metadata = Struct(fields={"corrigible": Value(struct_value=entry)})
    return response


def _mutation(edit: Edit) -> HeaderMutation:
    mutation = HeaderMutation()
    for line in edit.lines:
        name, _, value = line[1:].partition(":") if line[1] != ":" else _pseudo(line)
        if line[0] == "-":
            mutation.remove_headers.append(name)
        else:
            mutation.set_headers.append(_option(name, value, _SET if line[0] == "=" else _ADD))
    return mutation


def _pseudo(line: str) -> tuple[str, str, str]:
    name, mark, value = line[2:].partition(":")
    return f":{name}", mark, value


def _option(name: str, value: str, action: HeaderValueOptionHeaderAppendAction) -> HeaderValueOption:
    return HeaderValueOption(header=HeaderValue(key=name.lower(), raw_value=bytes_of(value)), append_action=action)


def _mode(further: Further) -> ProcessingMode:
    """Return what the gateway tells from now on. Of a body, no more than its own limit lets through."""
    body = ProcessingModeBodySendMode
    return ProcessingMode(
        request_header_mode=_SEND,
        response_header_mode=_SEND if further.response else _SKIP,
        request_body_mode=body.STREAMED if further.request_body else body.NONE,
        response_body_mode=body.BUFFERED_PARTIAL if further.response_body else body.NONE,
        request_trailer_mode=_SKIP,
        response_trailer_mode=_SEND if further.response_trailers else _SKIP,
    )


def _pairs(headers: HeaderMap | None) -> Headers:
    """Return headers as the gateway tells them; their values are bytes, in old ones text."""
    return [(one.key, text_of(one.raw_value) or one.value) for one in headers.headers] if headers is not None else []


def _peer(attributes: Mapping[str, Struct]) -> str:
    """Return the address of who calls, without a port; empty where the gateway does not tell it."""
    for one in attributes.values():
        value = one.fields.get(_PEER)
        if value is not None and value.string_value:
            return value.string_value.rpartition(":")[0].strip("[]")
    return ""
