"""The corrector as the gRPC front end sees it: a status and its message into an exchange, feedback into its details.

Knows: descriptors, what a status has room for. Does not know: channels, what any rule says. No I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.adapters.protobuf.service_description import ProtobufDescription
from corrigible.proxy.access_log.entry import is_secret
from corrigible.proxy.core.corrector import Corrector, NotCorrected, Unplaced
from corrigible.proxy.core.decision import Annotate, Decision
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.core.loop.detector import Loops
from corrigible.proxy.core.mode import CALLER, PREFERENCE, Mode, ModeChoice, is_compact, parse_mode
from corrigible.schema.document import UNDOCUMENTED
from corrigible.schema.exchange import Exchange, Request

from .forwarder import CallResult, Metadata
from .status import HTTP, annotated, encoded, native_status, status_json

_OURS: Final = "corrigible.schema.v0_1.RecoveryFeedback"


class GrpcCodec:
    """Decodes the refused calls of an API whose descriptors are known, and embeds feedback into their trailers."""

    modes: Final = frozenset({Mode.REFLECTIVE})

    def __init__(self) -> None:
        self.descriptors = Descriptors()

    def choose_mode(self, native: CallResult, default: Mode) -> ModeChoice:
        texts = [value for key, value in native.metadata if key == PREFERENCE and isinstance(value, str)]
        modes = (parse_mode(text.partition(";")[0]) for text in texts)
        mode = next((mode for mode in modes if mode is not None), default)
        return ModeChoice(mode, is_compact=is_compact(f"{PREFERENCE}={text}" for text in texts))

    def caller(self, native: CallResult, loops: Loops) -> str:
        texts = [(key, value) for key, value in native.metadata if isinstance(value, str)]
        return loops.caller(texts, next((value for key, value in texts if key == CALLER), ""), native.peer)

    def target(self, native: CallResult) -> Request:
        return Request(native.method, "")

    def decode(self, native: CallResult, id: str, started: float, elapsed: float, caller: str) -> Exchange:
        status = native_status(native.code, native.message, native.trailers)
        if any(detail.type_url.rpartition("/")[2] == _OURS for detail in status.details):
            raise NotCorrected("the upstream sent feedback itself")
        headers = {
            key: value
            for key, value in native.metadata
            if isinstance(value, str)
            and key not in (PREFERENCE, CALLER)
            and key not in UNDOCUMENTED
            and not is_secret(key)
        }
        message = None
        if native.request is not None:
            message = self.descriptors.request_json(native.method, native.request)
        request = Request(native.method, "", headers=headers, body=message)
        body = encoded(status_json(status, self.descriptors.pool))
        return Exchange(request, HTTP[native.code], {}, body, id, started, elapsed, caller)

    def embed(
        self, native: CallResult, exchange: Exchange, decision: Decision, choice: ModeChoice
    ) -> Metadata | Unplaced:
        if not isinstance(decision, Annotate):
            return Unplaced()
        status = native_status(native.code, native.message, native.trailers)
        trailers = annotated(native.trailers, status, native.message, decision.feedback)
        return Unplaced("the native details leave no room") if trailers is None else trailers

    def store_document(self, embedded: Metadata) -> None:
        """Trailers point to nothing."""


class GrpcCorrector(Corrector[CallResult, Metadata]):
    """Corrects the refusals of a gRPC API."""

    def __init__(
        self,
        engine: Engine,
        descriptors: Descriptors | None = None,
        *,
        mode: Mode = Mode.REFLECTIVE,
        loops: Loops | None = None,
    ) -> None:
        """Without `descriptors` messages are not read until there are some."""
        self._grpc = GrpcCodec()
        super().__init__(engine, self._grpc, mode=mode, loops=loops)
        if descriptors is not None:
            self.learn(descriptors)

    @property
    def descriptors(self) -> Descriptors:
        return self._grpc.descriptors

    def use(self, loaded: tuple[Engine, Descriptors | None]) -> None:
        """Correct by this engine from now on, with these descriptors; without any, with those that were read before."""
        engine, descriptors = loaded
        self.engine = engine
        if descriptors is not None or self.descriptors.methods:
            self.learn(descriptors or self.descriptors)

    def learn(self, descriptors: Descriptors) -> None:
        """Use these descriptors from now on, as the description for every pack."""
        description = ProtobufDescription(descriptors)
        profiles = [replace(profile, description=description) for profile in self.engine.profiles]
        self.engine = Engine(profiles, self.engine.limits, self.engine.clock, self.engine.relay)
        self._grpc.descriptors = descriptors

    def read(self, files: Sequence[bytes]) -> None:
        """Learn descriptors from their serialized files."""
        self.learn(Descriptors(FileDescriptorProto.FromString(file) for file in files))

    def is_unary(self, method: str) -> bool:
        """Whether a method is known to take one message and give one."""
        method_types = self.descriptors.methods.get(method)
        return method_types is not None and not (method_types.client_streaming or method_types.server_streaming)

    def described(self, method: str) -> str:
        """Return the operation of a method that the API's descriptors have; nothing for another one."""
        return method[1:] if method in self.descriptors.methods else ""

    def caller(self, call: CallResult) -> str:
        """Return who calls, as far as one can tell."""
        return self._caller(call) or call.peer
