"""Descriptors from the upstream itself, by server reflection: asked beside the calls, never in their way.

Knows: grpc.reflection v1 and v1alpha, whose messages are the same. Does not know: what descriptors are good for.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import Any, Final

import grpc
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError
from grpc import aio
from grpc._cython import cygrpc  # type: ignore[attr-defined]

from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.proxy.core.mode import PREFERENCE

from .channel import Upstream
from .forwarder import Metadata, forwarded_metadata, send

_METHODS: Final = tuple(
    f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo" for version in ("v1", "v1alpha")
)
_SECONDS: Final = 10.0
_RECONNECTING: Final = 0.05
_PAUSE: Final = 5.0
"""Seconds between two tries where the upstream is not there."""
_TRIES: Final = 3
"""Callers whose credentials are tried."""
_REFUSED: Final = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
_ABSENT: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


class _Next(Enum):
    ASK = auto()
    ASK_AS_A_CALLER = auto()
    NEVER = auto()


class Reflection:
    """Asks an upstream once what it offers; where that takes credentials, with those of whoever calls first."""

    def __init__(self, upstream: Upstream, learn: Callable[[Descriptors], None], log: Callable[[str], None]) -> None:
        self._upstream, self._learn, self._say = upstream, learn, log
        self._next, self._tries, self._asked = _Next.ASK, 0, -_PAUSE
        self._was_absent = False
        """Whether nobody was there when it was asked."""
        self._waits = True
        """Whether refusals wait for it: until it was answered or took too long once."""
        self.task: asyncio.Task[None] | None = None
        """What is being asked, where something is."""

    def begin(self, metadata: Metadata = ()) -> None:
        """Ask in the background, if it is time to. A caller's metadata is used only where it takes some."""
        if self._next is _Next.NEVER or self.task is not None:
            return
        own = tuple((key, value) for key, value in forwarded_metadata(metadata) if key != PREFERENCE)
        if self._next is _Next.ASK_AS_A_CALLER:
            if not own:
                return
            self._tries += 1
        elif time.monotonic() - self._asked < _PAUSE:
            return
        self._asked = time.monotonic()
        self.task = asyncio.create_task(self._ask(own if self._next is _Next.ASK_AS_A_CALLER else ()))
        self.task.add_done_callback(self._done)

    @property
    def is_pending(self) -> bool:
        """Whether descriptors may still come."""
        return self._next is not _Next.NEVER

    async def wait(self, metadata: Metadata, seconds: float) -> None:
        """Wait for the descriptors of an upstream that has just refused a call, as long as that may take."""
        end = time.monotonic() + seconds
        while self.is_pending and (left := end - time.monotonic()) > 0:
            if self.task is None and self._was_absent:
                self._asked = -_PAUSE  # it is there now
                self.begin(metadata)
            if self.task is None or not self._waits:
                return
            await asyncio.wait({self.task}, timeout=left)
            if not self._was_absent:
                return
            await asyncio.sleep(_RECONNECTING)  # a connection that could not be made is not tried again at once

    def stop(self) -> None:
        self._next = _Next.NEVER
        if self.task is not None:
            self.task.cancel()

    async def _ask(self, metadata: Metadata) -> None:
        try:
            with self._upstream.channel() as channel:
                async with asyncio.timeout(_SECONDS):
                    files = await reflect(channel, metadata)
            # Megabytes of descriptors take a while, and calls are under way.
            self._learn(await asyncio.to_thread(Descriptors, files))
            self._next = _Next.NEVER
        except aio.AioRpcError as error:
            self._refused(error.code())
        except TimeoutError:
            self._waits = False
            self._refused(grpc.StatusCode.DEADLINE_EXCEEDED)
        except Exception as problem:  # an error of ours, or descriptors that are wrong: calls go on without
            self._give_up(str(problem) or type(problem).__name__)

    def _refused(self, code: grpc.StatusCode) -> None:
        self._was_absent = code is grpc.StatusCode.UNAVAILABLE
        if code in _ABSENT:
            return  # asked again when somebody calls
        if code in _REFUSED and self._tries < _TRIES:
            self._next = _Next.ASK_AS_A_CALLER
        else:
            self._give_up("it has no reflection" if code is grpc.StatusCode.UNIMPLEMENTED else code.name)

    def _give_up(self, reason: str) -> None:
        self._next = _Next.NEVER
        self._say(
            f"no descriptors from the upstream: {reason}; only codes and messages are understood (--descriptors helps)"
        )

    def _done(self, task: asyncio.Task[None]) -> None:
        self.task = None


async def reflect(channel: aio.Channel, metadata: Metadata = ()) -> list[FileDescriptorProto]:
    """Return the files of all services of a server. Raises AioRpcError, and ValueError for odd answers."""
    *newer, last = _METHODS
    for method in newer:
        try:
            return await _reflected(channel, method, metadata)
        except aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                raise
    return await _reflected(channel, last, metadata)


async def _reflected(channel: aio.Channel, method: str, metadata: Metadata) -> list[FileDescriptorProto]:
    from grpc_reflection.v1alpha import reflection_pb2

    call: Any = channel.stream_stream(method)(metadata=aio.Metadata(*metadata))
    files: dict[str, FileDescriptorProto] = {}

    async def ask(**fields: str) -> Any:
        with contextlib.suppress(cygrpc.InternalError):  # it has ended: reading says how
            await send(call, reflection_pb2.ServerReflectionRequest(**fields).SerializeToString())
        answer = await call.read()
        if answer is aio.EOF:
            raise await _ended(call)
        return reflection_pb2.ServerReflectionResponse.FromString(answer)

    def take(answer: Any) -> None:
        for data in answer.file_descriptor_response.file_descriptor_proto:
            file = FileDescriptorProto.FromString(data)
            files[file.name] = file

    try:
        await call.wait_for_connection()
        for service in (await ask(list_services="")).list_services_response.service:
            take(await ask(file_containing_symbol=service.name))
        requested: set[str] = set()
        while missing := sorted(set(_missing(files)) - requested):
            requested.update(missing)
            for name in missing:
                take(await ask(file_by_filename=name))
    except DecodeError:
        raise ValueError("what its reflection says is no descriptor") from None
    finally:
        call.cancel()
    return list(files.values())


async def _ended(call: Any) -> Exception:
    code = await call.code()
    if code is grpc.StatusCode.OK:
        return ValueError("its reflection ends without an answer")
    return aio.AioRpcError(code, aio.Metadata(), aio.Metadata(), details=await call.details())


def _missing(files: dict[str, FileDescriptorProto]) -> Iterator[str]:
    for file in files.values():
        yield from (name for name in file.dependency if name not in files)
