"""What may be wrong with a gRPC proxy: each fault, and the requirements that it breaks, no more and no less."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from google.protobuf import any_pb2
from google.rpc import error_details_pb2

from corrigible.conformance.reference import grpc_shop
from corrigible.conformance.transport.grpc import DETAILS, Metadata
from corrigible.schema.v0_1 import feedback_pb2 as pb

from .grpc_middlebox import Ending, Fault, with_feedback, with_status

OURS = pb.RecoveryFeedback.DESCRIPTOR


def reversed_details(status: Any, ending: Ending) -> None:
    own = [one for one in status.details if not one.Is(OURS)]
    ours = [one for one in status.details if one.Is(OURS)]
    _put(status, [*own[::-1], *ours])


def ours_first(status: Any, ending: Ending) -> None:
    _put(status, sorted(status.details, key=lambda one: not one.Is(OURS)))


def ours_twice(status: Any, ending: Ending) -> None:
    _put(status, [*status.details, *(one for one in status.details if one.Is(OURS))])


def only_ours(status: Any, ending: Ending) -> None:
    if any(one.Is(OURS) for one in status.details):
        _put(status, [one for one in status.details if one.Is(OURS)])


def rewritten(status: Any, ending: Ending) -> None:
    for one in status.details:
        if one.Is(error_details_pb2.DebugInfo.DESCRIPTOR):
            one.value = error_details_pb2.DebugInfo(detail="left out").SerializeToString()


def _put(status: Any, details: Iterable[Any]) -> None:
    kept = []
    for one in details:
        kept.append(any_pb2.Any())
        kept[-1].CopyFrom(one)
    del status.details[:]
    status.details.extend(kept)


def padded(size: int, least: int = 0) -> Any:
    def pad(feedback: Any, status: Any, ending: Ending) -> None:
        if sum(len(one.value) for one in status.details) >= least:
            feedback.suggestions[0].evidence.lookups.extend(["GRPC /shop.v1.Shop/ListProducts"] * (size // 33))

    return with_feedback(pad)


def dropped(key: str) -> Any:
    return lambda metadata: tuple(entry for entry in metadata if entry[0] != key)


def each_literal(change: Any) -> Any:
    """Return a fault of every value that is suggested, not of those that are tested."""

    def changed(feedback: Any, status: Any, ending: Ending) -> None:
        for one in feedback.suggestions:
            one.parameters_json = json.dumps(
                {name: change(value) for name, value in json.loads(one.parameters_json).items()}
            )
            for op in one.patch:
                if op.op == pb.PATCH_VERB_REPLACE:
                    op.value_json = json.dumps(change(json.loads(op.value_json)))

    return with_feedback(changed)


def refused_only(change: Any) -> Any:
    return lambda ending: change(ending) if ending.code else ending


def without_ours(when: Any) -> Any:
    def strip(status: Any, ending: Ending) -> None:
        if when(ending):
            _put(status, [one for one in status.details if not one.Is(OURS)])

    return with_status(strip)


def first_suggestion(**changes: Any) -> Any:
    """Return a fault of the first suggestion's members."""

    def changed(feedback: Any, status: Any, ending: Ending) -> None:
        for name, value in changes.items():
            if value is None:
                feedback.suggestions[0].ClearField(name)
            else:
                setattr(feedback.suggestions[0], name, value)

    return with_feedback(changed)


def feedback(edit: Any) -> Any:
    return with_feedback(lambda message, status, ending: edit(message))


def is_live(ending: Ending) -> bool:
    """Whether the shop itself answered an order."""
    return ending.method.endswith("/CreateOrder") and "conformance-case" not in dict(ending.asked)


def unguarded(message: Any) -> None:
    for one in message.suggestions:
        kept = [op for op in one.patch if op.op != pb.PATCH_VERB_TEST]
        del one.patch[:]
        one.patch.extend(kept)


def harmless(message: Any) -> None:
    for one in message.suggestions:
        one.safety.side_effects = pb.SIDE_EFFECTS_NONE


def unnamed(message: Any) -> None:
    for one in message.suggestions:
        del one.safety.loses[:]


def unflagged(message: Any) -> None:
    for one in message.suggestions:
        one.safety.changes_intent = False
        del one.safety.loses[:]


def sure(message: Any) -> None:
    for one in message.suggestions:
        if one.applicability == pb.APPLICABILITY_MAYBE_INCORRECT:
            one.applicability = pb.APPLICABILITY_MACHINE_APPLICABLE


def on_credentials(message: Any) -> None:
    for one in message.suggestions:
        if one.patch and len(message.suggestions) == 1:
            one.patch.add(op=pb.PATCH_VERB_ADD, path="/headers/authorization", value_json='"Bearer root"')


def unheard_of(message: Any) -> None:
    if message.recovery != pb.RECOVERY_TERMINAL:
        message.suggestions[0].action = "Do It"


def only_first(message: Any) -> None:
    del message.suggestions[1:]


def no_pointer(message: Any) -> None:
    for one in message.suggestions:
        for op in one.patch:
            op.path = op.path.lstrip("/")


def terminal_and_more(message: Any) -> None:
    if message.recovery == pb.RECOVERY_TERMINAL:
        more = message.suggestions.add(action="MODIFY_PARAMS", message="Or so.", parameters_json="{}")
        more.evidence.CopyFrom(message.suggestions[0].evidence)


def retry_at_the_end(message: Any) -> None:
    if message.recovery == pb.RECOVERY_TERMINAL:
        message.retry.same_request = False


def another_wait(message: Any) -> None:
    if message.retry.HasField("after_seconds"):
        message.retry.after_seconds = 1


def repeated_write(message: Any) -> None:
    if message.retry.HasField("after_seconds"):
        message.retry.same_request, message.retry.max_attempts = True, 3


def without_end(message: Any) -> None:
    if message.retry.HasField("after_seconds"):
        message.retry.max_attempts = 100


def no_evidence(message: Any) -> None:
    for one in message.suggestions:
        one.ClearField("evidence")


def echoing(message: Any, status: Any, ending: Ending) -> None:
    if "Ignore all" in status.message:
        message.message = status.message


def unclean(message: Any) -> None:
    message.message += "\u202e"


def telling_secrets(message: Any, status: Any, ending: Ending) -> None:
    told = next((str(value) for key, value in ending.asked if key == "x-api-key"), None)
    if told is not None:
        message.suggestions[0].message = f"Take {told} once more."


def never_ending(message: Any) -> None:
    if message.loop.action == pb.LOOP_ACTION_ESCALATE:
        message.suggestions[0].action = "MODIFY_PARAMS"
        message.recovery = pb.RECOVERY_CORRECTABLE


def telling_products(message: Any, status: Any, ending: Ending) -> None:
    """Where nothing could be looked up, tell from memory."""
    if any("place-named" in one.evidence.rule for one in message.suggestions):
        message.suggestions[0].message = "It may be tea-green."


def looking_up_as_nobody(channel: Any, ending: Ending) -> None:
    if ending.method.endswith("/RefundOrder") and ending.code:
        call = channel.stream_stream("/shop.v1.Shop/GetOrder")(iter([b""]), timeout=5)
        assert call.code() is not None


def writing(channel: Any, ending: Ending) -> None:
    if ending.method.endswith("/RefundOrder") and ending.code:
        metadata = tuple(entry for entry in ending.asked if entry[0] == "authorization")
        call = channel.stream_stream("/shop.v1.Shop/CreateOrder")(iter([b""]), metadata=metadata, timeout=5)
        assert call.code() is not None


def own_words(message: Any, status: Any, ending: Ending) -> None:
    message.message = "Ours are better."


def modes_rewritten(**words: str) -> Any:
    known = {name.replace("_", " "): word for name, word in words.items()}

    def rewrite(metadata: Metadata) -> Metadata:
        return tuple(
            (key, known.get(str(value), value) if key == "recovery-feedback" else value) for key, value in metadata
        )

    return rewrite


def joined(metadata: Metadata) -> Metadata:
    """Some proxies join what is repeated."""
    twice = [str(value) for key, value in metadata if key == "x-twice"]
    others = tuple(entry for entry in metadata if entry[0] != "x-twice")
    return (("x-twice", ",".join(twice)), *others) if twice else metadata


def shortened(messages: Iterable[bytes]) -> Iterator[bytes]:
    """Lose the third message, and what stands behind a limit of two."""
    for number, message in enumerate(messages):
        if number != 2:
            yield message


def at_the_end(messages: Iterable[bytes]) -> Iterator[bytes]:
    kept = []
    try:
        for message in messages:
            kept.append(message)
    finally:
        yield from kept


def other_requests(requests: Iterator[bytes]) -> Iterator[bytes]:
    for number, message in enumerate(requests):
        yield message if number != 20 else message + b"\x0a\x01x"


EVERY_OTHER = count()


def shuffled(message: Any) -> None:
    """What an unordered set does."""
    if next(EVERY_OTHER) % 2 and len(message.suggestions) > 2:
        kept = list(message.suggestions)
        del message.suggestions[:]
        message.suggestions.extend(kept[::-1])


FAULTS = (
    Fault("a code is another", "SRF-GRP-01", lambda e: replace(e, code=2) if e.code == 13 else e),
    Fault("a long message is cut", "SRF-GRP-01", lambda e: replace(e, message=e.message[:1024])),
    Fault("a message is decoded once more", "SRF-GRP-01", lambda e: replace(e, message=e.message.replace("%41", "A"))),
    Fault("native details go", "SRF-GRP-02 SRF-TRN-07", with_status(only_ours)),
    Fault("native details are reversed", "SRF-GRP-02", with_status(reversed_details)),
    Fault("ours is the first detail", "SRF-GRP-02 SRF-TRN-07", with_status(ours_first)),
    Fault("ours comes twice", "SRF-GRP-02 SRF-GRP-03 SRF-TRN-07", with_status(ours_twice)),
    Fault("a native detail is rewritten", "SRF-GRP-02", with_status(rewritten)),
    Fault("more than 4,096 bytes", "SRF-GRP-03", padded(5000)),
    Fault("more than 8,000 bytes in all", "SRF-GRP-03", padded(3300, least=3000)),
    Fault(
        "more behind what has no room",
        "SRF-GRP-03",
        lambda e: replace(e, trailing=(*e.trailing, (DETAILS, b""))) if len(str(e.trailing)) > 60_000 else e,
    ),
    Fault(
        "a refusal behind many messages ends well",
        "SRF-GRP-04",
        lambda e: replace(e, code=0, message="", trailing=()) if e.code and e.count > 2 else e,
    ),
    Fault("no feedback behind headers", "SRF-GRP-04", without_ours(lambda e: e.initial)),
    Fault("no feedback behind messages", "SRF-GRP-04", without_ours(lambda e: e.count)),
    Fault("a message of a stream is lost", "SRF-GRP-04 SRF-GRP-06 SRF-TRN-01", messages=shortened),
    Fault(
        "an integer becomes a float",
        "SRF-GRP-05",
        each_literal(lambda v: float(v) if isinstance(v, int) and not isinstance(v, bool) else v),
    ),
    Fault(
        "a 64-bit integer becomes a number",
        "SRF-GRP-05",
        each_literal(lambda v: int(v) if isinstance(v, str) and v.isdecimal() else v),
    ),
    Fault(
        "unknown services are answered by the proxy",
        "SRF-GRP-06",
        hides=lambda method: method not in grpc_shop.METHODS and not method.startswith("/grpc."),
    ),
    Fault("health is the proxy's", "SRF-GRP-07", hides=lambda method: method.startswith("/grpc.health.")),
    Fault("reflection is not passed", "SRF-GRP-07", hides=lambda method: method.startswith("/grpc.reflection.")),
    Fault(
        "binary metadata is dropped",
        "SRF-GRP-07",
        refused_only(lambda e: replace(e, trailing=dropped("x-raw-bin")(e.trailing))),
    ),
    Fault("repeated metadata is joined", "SRF-GRP-07", refused_only(lambda e: replace(e, trailing=joined(e.trailing)))),
    Fault("headers are dropped", "SRF-GRP-07 SRF-TRN-01", headers=dropped("x-twice")),
    Fault("the deadline is dropped", "SRF-GRP-07", deadline=lambda left: None),
    Fault("everything gets a deadline", "SRF-GRP-07", deadline=lambda left: left or 30.0),
    Fault("cancellation is not passed", "SRF-GRP-07", cancels=False, deadline=lambda left: left),
    Fault("metadata of a request is dropped", "SRF-TRN-12", asked=dropped("x-raw-bin")),
    Fault("a message of a request changes", "SRF-TRN-12", requests=other_requests),
    Fault("streams are collected", "SRF-TRN-09", messages=at_the_end),
    Fault(
        "odd details are dropped",
        "SRF-TRN-02",
        lambda e: replace(e, trailing=tuple(one for one in e.trailing if one[1] != b"\x0a\xff\xff\xff\x7f")),
    ),
    Fault("feedback of the upstream is replaced", "SRF-TRN-07", with_feedback(own_words, upstreams=True)),
    Fault(
        "a success has feedback",
        "SRF-COR-07",
        lambda e: replace(e, trailing=((DETAILS, b"\x08\x00"),)) if not e.code and is_live(e) else e,
    ),
    Fault("none is taken for reflective", "SRF-NEG-01 SRF-NEG-04 SRF-COR-08", asked=modes_rewritten(none="reflective")),
    Fault("verbose is taken for reflective", "SRF-COR-08 SRF-NEG-04", asked=modes_rewritten(verbose="reflective")),
    Fault("an unknown mode is taken for none", "SRF-NEG-05", asked=modes_rewritten(loud="none")),
    Fault(
        "the mode decides what is refused",
        "SRF-COR-09",
        lambda e: replace(e, code=9) if e.mode == "verbose" and e.code == 3 else e,
    ),
    Fault(
        "nothing is said of several mistakes",
        "SRF-COR-01",
        without_ours(lambda e: is_live(e) and len(e.trailing[0][1]) > 700),
    ),
    Fault("no type", "SRF-COR-02", feedback(lambda m: m.ClearField("type"))),
    Fault("no message", "SRF-COR-03", feedback(lambda m: m.ClearField("message"))),
    Fault("an action that nobody knows", "SRF-COR-05 SRF-COR-14", feedback(unheard_of)),
    Fault("parameters that are none", "SRF-COR-06 SRF-COR-14", first_suggestion(parameters_json="[]")),
    Fault("a terminal suggestion is not alone", "SRF-COR-12", feedback(terminal_and_more)),
    Fault("a suggestion without a word", "SRF-COR-13", first_suggestion(message=None)),
    Fault("another order every time", "SRF-COR-10", feedback(shuffled)),
    Fault("one suggestion is all there is", "SRF-COR-11 SRF-COR-14", feedback(only_first)),
    Fault(
        "a value is wrong",
        "SRF-COR-14",
        each_literal(lambda v: "tea-gold" if v == "tea-green" else v),
    ),
    Fault("pointers are none", "SRF-OPS-01 SRF-COR-14", feedback(no_pointer)),
    Fault("array edits are not guarded", "SRF-OPS-03", feedback(unguarded)),
    Fault("writes are called harmless", "SRF-OPS-12", feedback(harmless)),
    Fault("what is lost is not named", "SRF-OPS-13", feedback(unnamed)),
    Fault("a clamp is not flagged", "SRF-OPS-09", feedback(unflagged)),
    Fault("more is claimed than was earned", "SRF-OPS-08", feedback(sure)),
    Fault("credentials are edited", "SRF-OPS-11 SRF-COR-14", feedback(on_credentials)),
    Fault("a wait is guessed", "SRF-RTY-01", feedback(another_wait)),
    Fault("a write is to be repeated", "SRF-RTY-02", feedback(repeated_write)),
    Fault("there is a retry at the end", "SRF-RTY-03", feedback(retry_at_the_end)),
    Fault("retrying has no end", "SRF-RTY-04", feedback(without_end)),
    Fault("the message repeats the upstream", "SRF-SEC-01", with_feedback(echoing)),
    Fault("the text has hidden characters", "SRF-SEC-02", feedback(unclean)),
    Fault("nobody knows where it comes from", "SRF-SEC-03", feedback(no_evidence)),
    Fault("an API key is repeated", "SRF-SEC-05", with_feedback(telling_secrets)),
    Fault("a look-up has no credentials", "SRF-SEC-07", meddles=looking_up_as_nobody),
    Fault("a look-up writes", "SRF-SEC-07", meddles=writing),
    Fault("what may not be listed is told", "SRF-SEC-06", with_feedback(telling_products)),
    Fault(
        "a look-up that fails costs the status",
        "SRF-TRN-08",
        lambda e: replace(e, code=13) if "orders/77" in str(e.trailing) else e,
    ),
    Fault("loops never end", "SRF-SEC-08", feedback(never_ending)),
)
