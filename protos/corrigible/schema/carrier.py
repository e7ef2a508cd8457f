"""Where feedback is in a JSON response.

Knows: the places that SPEC.md names, which answers refuse. Does not know: how an answer was sent, what a reader
makes of feedback.

Untrusted feedback in a cause: reduces it to an edit of the body that needs confirmation.
A cause of a Kubernetes Status can be written by whoever stands behind the API server: an admission webhook, a
controller, an aggregated API.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from . import word
from .document import pointer_parts, to_pointer
from .error import ReaderError
from .exchange import Json
from .extra import needs
from .feedback import MEMBER, SCHEMA, PatchOperation, Suggestion, parse

MOST: Final = 16
"""Number of suggestions that are read."""
MESSAGE: Final = "The request was refused. Somebody behind this API suggests an edit, and nobody here vouches for it."
"""Our own message: the text of an untrusted writer is not repeated."""
ADVICE: Final = "Edit the body as a stranger suggests, once somebody has agreed."
PLACE: Final = "/details/causes"
_SAME_OBJECT: Final = frozenset({"kind", "apiVersion"})
_SAME_NAME: Final = frozenset({"name", "namespace", "generateName", "uid"})


def stripped(feedback: Json) -> dict[str, Json] | None:
    """Return the part of untrusted feedback that may be used; None if nothing is left.

    Edits of the body of the same call stay, each to be confirmed. Claims, words, waits, steps, ends and other calls go.
    """
    try:
        parsed = parse(feedback)
    except (ReaderError, RecursionError):
        return None
    kept: list[dict[str, Json]] = []
    groups: dict[tuple[str, str], str] = {}
    lost = {
        s.group for i, s in enumerate(parsed.suggestions) if s.group is not None and (i >= MOST or _edit(s) is None)
    }
    for suggestion in parsed.suggestions[:MOST]:
        edit, group = _edit(suggestion), suggestion.group
        if edit is None or (group is not None and group.relation is not word.Relation.ONE_OF and group in lost):
            continue
        made = _made(suggestion, edit)
        if group is not None:
            id = groups.setdefault((group.id, group.relation), f"relayed-{len(groups) + 1}")
            made["group"] = {"id": id, "relation": group.relation.value}
        kept.append(made)
    if not kept:
        return None
    is_question = parsed.type is word.FeedbackType.INTENT_DISAMBIGUATION
    return {
        "schema": SCHEMA,
        "type": (word.FeedbackType.INTENT_DISAMBIGUATION if is_question else word.FeedbackType.RECOVERY_GUIDANCE).value,
        "message": MESSAGE,
        "recovery": word.Recovery.CORRECTABLE.value,
        "suggestions": kept,
    }


def _made(suggestion: Suggestion, edit: list[dict[str, Json]]) -> dict[str, Json]:
    level = word.Applicability.HAS_PLACEHOLDERS if suggestion.placeholders else word.Applicability.MAYBE_INCORRECT
    made: dict[str, Json] = {"action": word.BaseAction.MODIFY_PARAMS.value, "message": ADVICE}
    made["parameters"] = dict(suggestion.parameters)
    if edit:
        made["patch"] = edit
    made["applicability"] = level.value
    if suggestion.placeholders:
        made["placeholders"] = [{"pointer": one.pointer, "ask": word.Ask.USER.value} for one in suggestion.placeholders]
    safety = {"side_effects": word.SideEffects.CERTAIN.value, "changes_intent": True, "requires_confirmation": True}
    return {**made, "safety": safety, "evidence": {"kind": word.EvidenceKind.RELAYED.value, "pointer": PLACE}}


def _edit(suggestion: Suggestion) -> list[dict[str, Json]] | None:
    """Return a suggestion that only edits the body as a patch; None for any other."""
    base = suggestion.action if suggestion.action in word.BASE_ACTIONS else suggestion.base_action
    if base not in (None, word.BaseAction.MODIFY_PARAMS) or suggestion.terminal or suggestion.steps:
        return None
    places = [place for operation in suggestion.patch for place in (operation.path, operation.from_)]
    places += [one.pointer for one in suggestion.placeholders]
    if not all(place is None or _in_body(place) for place in places):
        return None
    if suggestion.patch:
        return [operation.document() for operation in suggestion.patch]
    patch = [*_merging("/body", suggestion.parameters)]
    if not all(_in_body(one["path"]) for one in patch):
        return None
    return patch if patch or suggestion.placeholders else None


def _merging(under: str, parameters: Mapping[str, Any]) -> Iterator[dict[str, Json]]:
    """Return a merge (RFC 7396) into the body as a patch: bare parameters would go into the query of a DELETE."""
    for name, value in parameters.items():
        path = under + to_pointer((name,))
        if value is None:
            yield PatchOperation(op=word.PatchVerb.REMOVE, path=path).document()
        elif isinstance(value, Mapping):
            yield from _merging(path, value)
        else:
            yield PatchOperation(op=word.PatchVerb.ADD, path=path, value=value).document()


def _in_body(pointer: str) -> bool:
    """Whether an edit there cannot change which object the request is about."""
    parts = pointer_parts(pointer)
    if parts is None or len(parts) < 2 or parts[0] != "body" or parts[1] in _SAME_OBJECT:
        return False
    return not (parts[1] == "metadata" and (len(parts) == 2 or parts[2] in _SAME_NAME))


CAUSE: Final = "RecoveryFeedback"
"""The reason of a cause, in the details of a Kubernetes Status, whose message is feedback as JSON text."""
SEAL: Final = "RecoveryFeedbackSeal"
"""The reason of the cause that holds the seal of the one before it."""
DETAIL: Final = "corrigible.schema.v0_1.RecoveryFeedback"
"""The message that is an Any in the details of a google.rpc.Status."""
TOKEN: Final = "recovery-feedback-token"
"""The header with which a reader fetches what a `Link` names: its value is the `token` of that `Link`."""
_LONGEST_TEXT = 64 * 1024

Found = Mapping[str, Json] | None


def find(body: Json, status: int | None = None) -> Json | None:
    """Return the feedback object of a decoded JSON response that rejects the request; None if there is none.

    `status` is the HTTP status of the answer. Without it the caller says that the answer is a refusal; an answer that
    says itself that it is none (the result of a JSON-RPC call, of a tool) has no feedback all the same.
    """
    if not isinstance(body, Mapping):
        return None
    return next((feedback for place in _places(body, status) if (feedback := place(body)) is not None), None)


_Place = Callable[[Mapping[str, Json]], Found]


def _places(body: Mapping[str, Json], status: int | None) -> tuple[_Place, ...]:
    """Return where a response may have feedback, in the order of SPEC.md 3.5; nothing if it does not reject."""
    error, errors = body.get("error"), body.get("errors")
    if "jsonrpc" in body:
        if isinstance(error, Mapping):
            return (_member, _in_error, _in_data)
        return (_in_result,) if _failed(body.get("result")) else ()
    if _failed(body):
        return (_member, _in_content)
    if isinstance(body.get("content"), list) and "isError" in body:
        return ()  # a successful tool result: what it fetched is data
    if status is None or status >= _LEAST_REFUSAL:
        return (_member, _in_error, _in_data, _in_extensions, _in_causes, _in_details)
    if body.get("success") is False or body.get("ok") is False:
        return (_member, _in_error)
    return (_in_extensions,) if isinstance(errors, list) and errors and body.keys() <= _GRAPHQL else ()


_LEAST_REFUSAL: Final = 400
_GRAPHQL: Final = frozenset({"data", "errors", "extensions"})
"""A GraphQL response has no other members (GraphQL, section 7.1)."""


def _failed(result: Json) -> bool:
    """Whether this is a Model Context Protocol result of a tool that failed."""
    return _get(result, "isError") is True and isinstance(_get(result, "content"), list)


def _member(holder: Json) -> Found:
    return _object(_get(holder, MEMBER))


def _in_error(body: Mapping[str, Json]) -> Found:
    """SDKs show the native error object and nothing else."""
    return _member(body.get("error"))


def _in_data(body: Mapping[str, Json]) -> Found:
    """JSON-RPC 2.0, section 5.1; in a list of typed messages one of them (A2A 1.0, section 9.5)."""
    data = _get(body.get("error"), "data")
    return _member(data) or _in_messages(data)


def _in_extensions(body: Mapping[str, Json]) -> Found:
    """GraphQL over HTTP: each error has extensions of its own."""
    return next(
        (f for error in _list(body.get("errors")) if (f := _member(_get(error, "extensions"))) is not None), None
    )


def _in_causes(body: Mapping[str, Json]) -> Found:
    """Anyone behind the API server can write causes, so no claim in them is trusted."""
    return next((feedback for cause in carried(body) if (feedback := stripped(cause.feedback)) is not None), None)


class Carried(NamedTuple):
    """Feedback in a cause, unchanged."""

    feedback: Mapping[str, Json]
    text: str


def carried(body: Json) -> Iterator[Carried]:
    """Yield the feedback in the causes of a Status. The API server keeps a webhook's causes; they are untrusted."""
    for text in _said(body, CAUSE):
        if (feedback := _object(_parsed(text))) is not None:
            yield Carried(feedback, text)


def seals(body: Json) -> Iterator[str]:
    """Yield the seals in the causes (SPEC.md 1.15)."""
    yield from _said(body, SEAL)


def _said(body: Json, reason: str) -> Iterator[str]:
    if _get(body, "kind") != "Status" or _get(body, "status") == "Success":
        return
    for cause in _list(_get(_get(body, "details"), "causes")):
        text = _get(cause, "message") if _get(cause, "reason") == reason else None
        if isinstance(text, str):
            yield text


def _in_details(body: Mapping[str, Json]) -> Found:
    """A google.rpc.Status in proto-JSON, bare or as `error` (AIP-193)."""
    for status in (body, body.get("error")):
        found = _in_messages(_get(status, "details")) if _get(status, "code") != 0 else None
        if found is not None:
            return found
    return None


def _in_messages(messages: Json) -> Found:
    named = (one for one in _list(messages) if str(_get(one, "@type")).rpartition("/")[2] == DETAIL)
    return next((feedback for one in named if (feedback := _from_any(one)) is not None), None)


def _in_content(result: Mapping[str, Json]) -> Found:
    """The last item of a tool result, if it holds only the feedback. Earlier items may quote anything."""
    items = _list(result.get("content"))
    last = items[-1] if items else None
    parsed = _parsed(_get(last, "text")) if _get(last, "type") == "text" else None
    return _member(parsed) if isinstance(parsed, Mapping) and len(parsed) == 1 else None


def _in_result(body: Mapping[str, Json]) -> Found:
    """A tool result as the result of a JSON-RPC answer."""
    result = body.get("result")
    return _in_content(result) if isinstance(result, Mapping) else None


def _from_any(detail: Any) -> Found:
    try:
        from google.protobuf import json_format  # only needed if there is such a message

        from corrigible.schema.v0_1.feedback_pb2 import RecoveryFeedback

        from .convert import from_proto
    except ModuleNotFoundError:
        warnings.warn(needs("feedback inside a google.rpc.Status", "proxy"), RuntimeWarning, stacklevel=2)
        return None

    members = {name: value for name, value in detail.items() if name != "@type"}
    try:
        message = json_format.ParseDict(members, RecoveryFeedback(), ignore_unknown_fields=True)
        return from_proto(message).document()
    except (json_format.ParseError, ReaderError, RecursionError):
        return None


def _get(holder: Json, name: str) -> Json:
    return holder.get(name) if isinstance(holder, Mapping) else None


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _object(value: Json) -> Found:
    """Return an object that is feedback itself: one with `$ref` names the place of the feedback."""
    return value if isinstance(value, Mapping) and "$ref" not in value else None


def _parsed(text: Json) -> Json:
    """Return the JSON object in a text; None if it is prose or too long."""
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT or not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
