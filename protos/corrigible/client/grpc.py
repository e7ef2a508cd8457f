"""grpc: feedback in one's own client, read from a refused call, and turned into the next message.

Knows: grpc and grpc.aio clients, google.rpc.Status, the reader. Does not know: packs, how the feedback came to be.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final, NamedTuple, TypeVar

from corrigible.schema.error import ReaderError
from corrigible.schema.exchange import Request
from corrigible.schema.extra import MissingExtra
from corrigible.schema.feedback import Feedback
from corrigible.schema.reader import Confirm, NeedsInput, Next, Terminal, apply
from corrigible.schema.word import Applicability

from .correction import log
from .credentials import credential_values, without
from .explanation import explain
from .guard import Written, problem, secret_texts, step_problem

try:
    import grpc
    from google.protobuf import json_format
    from google.protobuf.message import DecodeError, Message
    from google.rpc import status_pb2
    from grpc import aio

    from corrigible.schema.convert import from_proto
    from corrigible.schema.v0_1.feedback_pb2 import RecoveryFeedback
except ModuleNotFoundError as missing:
    raise MissingExtra(__name__, "grpc", missing.name) from None

ATTRIBUTE: Final = "recovery_feedback"
"""What the interceptors add to an error: the feedback, or None."""
_DETAILS: Final = "grpc-status-details-bin"

_M = TypeVar("_M", bound=Message)


class NextCall(NamedTuple):
    """What to send now: wait, then the steps in order, then the message."""

    method: str
    message: Message
    steps: tuple[Request, ...] = ()
    wait_seconds: float = 0


def feedback_of(error: Any) -> Feedback | None:
    """Return the feedback that is the last detail of a refused call, None where there is none that can be read."""
    for key, value in error.trailing_metadata() or ():
        if key != _DETAILS:
            continue
        try:
            status = status_pb2.Status.FromString(value)
            last = status.details[-1] if status.details else None
            if last is not None and last.Is(RecoveryFeedback.DESCRIPTOR):
                return from_proto(RecoveryFeedback.FromString(last.value))
        except (DecodeError, ReaderError, TypeError):
            return None
    return None


def next_call(
    feedback: Feedback,
    method: str,
    message: Message,
    *,
    cap: Applicability = Applicability.MAYBE_INCORRECT,
    confirm: Confirm = False,
    pick: int | None = None,
) -> NextCall | Terminal | NeedsInput:
    """Return what follows from the feedback for a message that was refused; see `corrigible.schema.reader.apply`.

    A correction that touches a credential, or copies one, is none: NeedsInput says why. Raises ReaderError where the
    patched document is no message of the same type.
    """
    pool: Any = message.DESCRIPTOR.file.pool
    request = Request(method, "", body=_document(message))
    following = apply(feedback, request, cap=cap, confirm=confirm, pick=pick)
    if not isinstance(following, Next):
        return following
    before = _written(request)
    steps = (step_problem(_written(step), before) for step in following.steps)
    if reason := problem(before, _written(following.request)) or next(filter(None, steps), ""):
        return NeedsInput(reason)
    message_copy = type(message)()
    try:
        json_format.ParseDict(following.request.body, message_copy, descriptor_pool=pool)
    except (json_format.ParseError, TypeError, ValueError) as broken:
        raise ReaderError(f"no {message.DESCRIPTOR.full_name} any more: {broken}") from None
    return NextCall(following.request.method, message_copy, following.steps, following.wait_seconds)


def next_message(feedback: Feedback, method: str, message: _M, *, confirm: Confirm = False) -> _M | None:
    """Return the message to send to the same method now; None where something else has to happen first.

    Something else is a value that is asked for, another call, or a confirmation that `confirm` does not give.
    """
    following = next_call(feedback, method, message, confirm=confirm)
    if not isinstance(following, NextCall) or following.steps or following.method != method:
        return None
    return following.message if isinstance(following.message, type(message)) else None


def _document(message: Message) -> Any:
    pool: Any = message.DESCRIPTOR.file.pool
    return json_format.MessageToDict(message, descriptor_pool=pool)


def _written(request: Request) -> Written:
    return Written(request.path, tuple(request.headers.items()), request.body, frozenset())


def _secrets(details: Any, message: Any) -> frozenset[str]:
    """Return the caller's credentials in the metadata of a call, and in its message: no note shows them."""
    pairs = [(key, value) for key, value in details.metadata or () if isinstance(value, str)]
    written = Written("", tuple(pairs), None, frozenset())
    headers = frozenset(value for (place, value) in written.credentials() if place[0] == "headers")
    values = credential_values(pairs, "") | headers
    if isinstance(message, Message):
        values |= secret_texts(Written("", (), _document(message), frozenset()))
    return values


def _annotated(error: Any, details: Any, message: Any = None) -> Any:
    if not hasattr(error, ATTRIBUTE):
        try:
            feedback = feedback_of(error)
            note = without(_secrets(details, message), explain(feedback)) if feedback is not None else ""
        except Exception:  # a mistake of ours: the error is what it was
            log.exception("the feedback of a call cannot be told")
            feedback, note = None, ""
        setattr(error, ATTRIBUTE, feedback)
        if note:
            error.add_note(note)  # tracebacks show it
    return error


class _Call:
    """A call whose errors say what the feedback says. Everything else is the call's own."""

    def __init__(self, call: Any, details: Any, message: Any) -> None:
        self._call, self._details, self._message = call, details, message

    def __getattr__(self, name: str) -> Any:
        return getattr(self._call, name)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._call)
        except grpc.RpcError as error:
            raise _annotated(error, self._details, self._message) from None

    def result(self, timeout: float | None = None) -> Any:
        try:
            return self._call.result(timeout)
        except grpc.RpcError as error:
            raise _annotated(error, self._details, self._message) from None

    def exception(self, timeout: float | None = None) -> Any:
        error = self._call.exception(timeout)
        return _annotated(error, self._details, self._message) if isinstance(error, grpc.RpcError) else error


class RecoveryFeedbackInterceptor(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """For `grpc.intercept_channel`: every RpcError has the feedback, or None, as `recovery_feedback`, and as a note."""

    def _intercept(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        return _Call(continuation(details, request), details, request)

    intercept_unary_unary: Any = _intercept
    intercept_unary_stream: Any = _intercept
    intercept_stream_unary: Any = _intercept
    intercept_stream_stream: Any = _intercept


class _ToOne:
    """Interception of calls with one answer."""

    async def _intercept(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        call = await continuation(details, request)
        try:
            await call
        except aio.AioRpcError as error:
            raise _annotated(error, details, request) from None
        return call


class _ToMany:
    """Interception of calls with a stream of answers."""

    async def _intercept(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        return _answers(await continuation(details, request), details, request)


async def _answers(call: Any, details: Any, request: Any) -> AsyncIterator[Any]:
    try:
        async for message in call:
            yield message
    except aio.AioRpcError as error:
        raise _annotated(error, details, request) from None


class _UnaryUnary(_ToOne, aio.UnaryUnaryClientInterceptor):
    intercept_unary_unary: Any = _ToOne._intercept


class _StreamUnary(_ToOne, aio.StreamUnaryClientInterceptor):
    intercept_stream_unary: Any = _ToOne._intercept


class _UnaryStream(_ToMany, aio.UnaryStreamClientInterceptor):
    intercept_unary_stream: Any = _ToMany._intercept


class _StreamStream(_ToMany, aio.StreamStreamClientInterceptor):
    intercept_stream_stream: Any = _ToMany._intercept


def aio_interceptors() -> list[aio.ClientInterceptor]:
    """Return the same for `grpc.aio` channels, which want one interceptor for each kind of call."""
    return [_UnaryUnary(), _StreamUnary(), _UnaryStream(), _StreamStream()]


__all__ = ["NextCall", "RecoveryFeedbackInterceptor", "aio_interceptors", "feedback_of", "next_call", "next_message"]
