"""Where feedback goes in a JSON text: spliced in, so that every native byte stays as it was.

Puts feedback into an answer, in each way that an adapter names: as one member, or as Kubernetes' clients show it.

Puts feedback into answers that are envelopes: in the errors of GraphQL, in JSON-RPC errors and tool results.

None of them has room for members of ours beside their own, so that verbose mode adds nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.mode import Mode
from corrigible.rules.pointer import resolve, segments
from corrigible.rules.violation import Violation
from corrigible.schema.carrier import CAUSE, SEAL, find
from corrigible.schema.exchange import Json

MEMBER = "recovery_feedback"
_SPACE = " \t\n\r"
_BYTES_OF_SPACE = _SPACE.encode()
_EMPTY = {'"': '""', "[": "[]", "{": "{}"}
_decode = json.JSONDecoder(strict=False).raw_decode


class Span(NamedTuple):
    """Where a value stands in a text."""

    start: int
    end: int


def span(text: str, pointer: str) -> Span | None:
    """Return where the value at a pointer stands; of a member named twice the last one, as JSON readers take it."""
    span = Span(_skip(text, 0), len(text.rstrip(_SPACE)))
    for part in segments(pointer):
        spanned: Span | None = None
        if text[span.start] == "{":
            for name, value in _members(text, span.start):
                if name == part:
                    spanned = value
        elif text[span.start] == "[" and part.isdecimal():
            for index, value in enumerate(_elements(text, span.start)):
                if index == int(part):
                    spanned = value
        if spanned is None:
            return None
        span = spanned
    return span


def splice(text: bytes, parsed: Json, additions: Mapping[str, Sequence[bytes]]) -> bytes:
    """Put JSON texts at the end of the objects (`"name":value`) and arrays (`value`) at some pointers.

    `text` is JSON in UTF-8 and `parsed` its value. Every byte of it stays, in its order; where there is neither object
    nor array, nothing is added.
    """
    end = len(text.rstrip(_BYTES_OF_SPACE)) - 1
    cuts: list[tuple[int, bytes]] = []
    for pointer, pieces in additions.items():
        value = resolve(parsed, pointer) if pointer else parsed
        if not pieces or not isinstance(value, (dict, list)):
            continue
        place = _closing(text, parsed, pointer, end) if pointer else end
        if place is not None:
            added = b",".join(pieces)
            cuts.append((place, b"," + added if value else added))
    cuts.sort()
    out: list[bytes] = []
    start = 0
    for place, piece in cuts:
        out.append(text[start:place])
        out.append(piece)
        start = place
    out.append(text[start:])
    return b"".join(out)


def blank(text: str, pointers: Sequence[str]) -> str:
    """Empty the strings, arrays and objects at some pointers, and null the other values."""
    for pointer in pointers:
        spanned = span(text, pointer)
        if spanned is not None:
            text = text[: spanned.start] + _EMPTY.get(text[spanned.start], "null") + text[spanned.end :]
    return text


def _closing(text: bytes, parsed: Json, pointer: str, end: int) -> int | None:
    """Return where the object or array at a pointer closes; `end` is where the outermost one does."""
    # The common case, {"error": {...}}: one member, so the object ends right before the outer one does.
    if len(parsed) == 1 and pointer.count("/") == 1:
        return len(text[:end].rstrip(_BYTES_OF_SPACE)) - 1
    decoded = text.decode()
    spanned = span(decoded, pointer)
    if spanned is None or decoded[spanned.start] not in "{[":
        return None
    return len(decoded[: spanned.end].encode()) - 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _members(text: str, at: int) -> Iterator[tuple[str, Span]]:
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, at = _decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = _decode(text, start)
        yield name, Span(start, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


def _elements(text: str, at: int) -> Iterator[Span]:
    at = _skip(text, at + 1)
    while text[at] != "]":
        _, end = _decode(text, at)
        yield Span(at, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at


_NAME = MEMBER.encode()


def in_graphql(native: bytes, decision: Annotate) -> bytes | None:
    """Put what is suggested about each error into its extensions."""
    parsed = decision.body
    if not isinstance(parsed, dict) or find(parsed) is not None:
        return None
    additions: dict[str, list[bytes]] = {}
    places = _errors(parsed)
    for at, feedback in _each(decision, len(places)):
        error = parsed["errors"][places[at]]
        piece = _spliced(_NAME, orjson.dumps(feedback))
        if isinstance(error.get("extensions"), dict):
            additions[f"/errors/{places[at]}/extensions"] = [piece]
        elif "extensions" not in error:
            additions[f"/errors/{places[at]}"] = [_spliced(b"extensions", b"{" + piece + b"}")]
    return splice(native, parsed, additions) if additions else None


def _errors(parsed: Mapping[str, Any]) -> list[int]:
    """Return which of the errors are such: the format reads these, in this order."""
    errors = parsed["errors"]
    return [i for i, error in enumerate(errors) if isinstance(error, dict) and isinstance(error.get("message"), str)]


def _each(decision: Annotate, errors: int) -> Iterator[tuple[int, Mapping[str, Json]]]:
    """Yield the feedback of each error, by its number: with the suggestions that edit or ask for what it names.

    What is terminal, or names nothing that an error does, goes to the first one.
    """
    feedback = orjson.loads(decision.encoded)
    per_error: dict[int, list[Json]] = {}
    for suggestion in feedback["suggestions"]:
        per_error.setdefault(_about(suggestion, decision.errors[:errors]), []).append(suggestion)
    for number, some in sorted(per_error.items()):
        yield number, {**feedback, "suggestions": some}


def _about(suggestion: Mapping[str, Json], violations: Sequence[Violation]) -> int:
    paths = [str(edit["path"]) for edit in suggestion.get("patch", ())]
    paths += [str(placeholder["pointer"]) for placeholder in suggestion.get("placeholders", ())]
    for number, violation in enumerate(violations):
        if violation.pointer and any(f"{path}/".startswith(f"{violation.pointer}/") for path in paths):
            return number
    return 0


def in_mcp(native: bytes, decision: Annotate) -> bytes | None:
    """Put feedback into the data of a JSON-RPC error, or behind the content of a tool result as text."""
    parsed = decision.body
    if not isinstance(parsed, dict) or find(parsed) is not None:
        return None
    additions = mcp_additions(parsed, decision.encoded)
    return splice(native, parsed, additions) if additions else None


def mcp_additions(answer: Mapping[str, Any], encoded: bytes) -> dict[str, list[bytes]]:
    """Return where feedback goes in a message, and the JSON that is added there; nothing where it has no place."""
    member = _spliced(_NAME, encoded)
    error, result = answer.get("error"), answer.get("result")
    if isinstance(error, dict):
        if "data" not in error:
            return {"/error": [_spliced(b"data", b"{" + member + b"}")]}
        if is_typed(error["data"]):  # messages of google.rpc, as in the Agent2Agent protocol
            return {"/error/data": [detail(orjson.loads(encoded))]}
        return {"/error/data": [member]} if isinstance(error["data"], dict) else {}
    if isinstance(result, dict) and isinstance(result.get("content"), list):
        text = (b"{" + member + b"}").decode()
        return {"/result/content": [orjson.dumps({"type": "text", "text": text})]}
    return {}


def _spliced(name: bytes, value: bytes) -> bytes:
    return b'"' + name + b'":' + value


_TYPE = "type.googleapis.com/"


def details_of(parsed: Mapping[str, Json]) -> str | None:
    """Return where the details of a status in JSON are, None where the answer is none."""
    for pointer, status in (("/error", parsed.get("error")), ("", parsed)):
        if not isinstance(status, dict) or not isinstance(status.get("message"), str):
            continue
        details = status.get("details")
        if is_typed(details) and isinstance(status.get("code"), int):
            return f"{pointer}/details"
    return None


def is_typed(details: Json) -> bool:
    """Whether this is a list of messages that say of which type they are."""
    return isinstance(details, list) and all(isinstance(one, dict) and "@type" in one for one in details)


def detail(feedback: Mapping[str, Json]) -> bytes:
    """Return feedback as an Any in proto-JSON: what a client that knows the message can read back into one."""
    from google.protobuf import json_format  # 10 ms to import, for answers that few upstreams give

    from corrigible.schema.convert import to_proto
    from corrigible.schema.feedback import parse

    message = to_proto(parse(feedback))
    return orjson.dumps({"@type": _TYPE + message.DESCRIPTOR.full_name, **json_format.MessageToDict(message)})


_MOST_WARNINGS = 3
_LONGEST_LINE = 120
"""Kubernetes cuts longer warnings or drops them; people read shorter ones."""
_LONGEST_VALUE = 40
_INVALID = "Invalid"
_AGENT = "corrigible"
_MEMBER = MEMBER.encode()
_REFERENCE = orjson.dumps({"$ref": f"#/{MEMBER}"})


class EmbeddedBody(NamedTuple):
    """A native answer with what a mode adds to it."""

    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def embed_feedback(
    native: bytes,
    decision: Annotate,
    mode: Mode,
    seal: Callable[[str], str | None] = lambda _: None,
    *,
    is_mirrored: bool = True,
) -> EmbeddedBody | None:
    """Return the native answer with what a mode adds to it; None where it has no place for that.

    `seal` returns the seal of feedback that goes through an API server. `is_mirrored` says whether the caller sees
    nothing but the native error object: then the feedback is repeated there, else a reference to it.
    """
    parsed = decision.body
    if not isinstance(parsed, dict):
        return None
    match decision.placement:
        case "kubernetes":
            return _kubernetes(native, decision, mode, seal)
        case "relayed":
            if mode is not Mode.REFLECTIVE:
                return None
            return EmbeddedBody(splice(native, parsed, {"": [_piece(_MEMBER, decision.encoded)]}))
        case "graphql" | "mcp":
            enveloped = in_graphql if decision.placement == "graphql" else in_mcp
            body = enveloped(native, decision) if mode is Mode.REFLECTIVE else None
            return EmbeddedBody(body) if body is not None else None
    return _member(native, parsed, decision, mode, is_mirrored=is_mirrored)


def _member(
    native: bytes, parsed: dict[str, Json], decision: Annotate, mode: Mode, *, is_mirrored: bool
) -> EmbeddedBody:
    """One member at the top, and a second one where a pack or a gateway's clients look: inside the native error."""
    additions: dict[str, list[bytes]] = {"": _top(parsed, decision, mode)}
    if mode is Mode.REFLECTIVE:
        details, mirror = details_of(parsed), decision.pack.text.mirror
        if details is not None:
            additions[details] = [detail(decision.feedback)]
        elif mirror:
            inner = resolve(parsed, mirror)
            if isinstance(inner, dict) and MEMBER not in inner:
                additions[mirror] = [_piece(_MEMBER, decision.encoded if is_mirrored else _REFERENCE)]
    return EmbeddedBody(splice(native, parsed, additions))


def _top(parsed: Mapping[str, Json], decision: Annotate, mode: Mode) -> list[bytes]:
    top: list[bytes] = []
    if (decision.diagnoses or mode is Mode.VERBOSE) and "validation_errors" not in parsed:
        top.append(_piece(b"validation_errors", orjson.dumps(decision.diagnoses)))
    if mode is Mode.REFLECTIVE:
        top.append(_piece(_MEMBER, decision.encoded))
    return top


def _kubernetes(
    native: bytes, decision: Annotate, mode: Mode, seal: Callable[[str], str | None]
) -> EmbeddedBody | None:
    parsed = orjson.loads(native)
    if not isinstance(parsed, dict):
        return None
    if parsed.get("kind") == "AdmissionReview":
        return _review(native, parsed, decision, mode, seal)
    top = _top(parsed, decision, mode)
    if mode is not Mode.REFLECTIVE:
        return EmbeddedBody(splice(native, parsed, {"": top}))
    suggestions = decision.feedback["suggestions"]
    only = _only_field(parsed)
    causes = [_cause(suggestion, only) for suggestion in suggestions]
    # kubectl prints the causes of an invalid object, and of nothing else: a warning would say the same again.
    lines = _lines(suggestions) if parsed.get("reason") != _INVALID else ()
    warnings = tuple(("Warning", f"299 {_AGENT} {_quoted(line)}") for line in lines)
    return EmbeddedBody(splice(native, parsed, _nested(parsed, "", top, ("details", "causes"), causes)), warnings)


def _review(
    native: bytes, parsed: dict[str, Any], decision: Annotate, mode: Mode, seal: Callable[[str], str | None]
) -> EmbeddedBody | None:
    """The API server keeps causes and warnings of a denial, and drops every member that it does not know."""
    response = parsed.get("response")
    if not isinstance(response, dict) or response.get("allowed") is not False:
        return None
    if mode is Mode.REFLECTIVE:
        text = decision.encoded.decode()
        causes = [orjson.dumps({"reason": CAUSE, "message": text})]
        if (sealed := seal(text)) is not None:
            causes.append(orjson.dumps({"reason": SEAL, "message": sealed}))
        lines = _lines(decision.feedback["suggestions"])
    else:
        causes = []
        lines = [_short(diagnosis["message"]) for diagnosis in decision.diagnoses][:_MOST_WARNINGS]
    additions: dict[str, list[bytes]] = {}
    if causes:
        additions |= _nested(parsed, "/response", [], ("status", "details", "causes"), causes)
    warnings = _nested(parsed, "/response", [], ("warnings",), [orjson.dumps(line) for line in lines])
    for pointer, pieces in warnings.items():
        additions[pointer] = [*additions.get(pointer, ()), *pieces]
    return EmbeddedBody(splice(native, parsed, additions))


def _nested(
    parsed: Json, under: str, already: Sequence[bytes], names: Sequence[str], elements: Sequence[bytes]
) -> dict[str, list[bytes]]:
    """Return the additions that put elements into the array below an object, making what is not there on the way.

    `already` goes into the object itself. A native value that is neither object nor array is left as it is.
    """
    out: dict[str, list[bytes]] = {under: list(already)}
    node, pointer = resolve(parsed, under) if under else parsed, under
    for depth, name in enumerate(names):
        if not isinstance(node, dict):
            return out
        if name not in node:
            value = b"[" + b",".join(elements) + b"]"
            for inner in reversed(names[depth + 1 :]):
                value = b"{" + _piece(inner.encode(), value) + b"}"
            out.setdefault(pointer, []).append(_piece(name.encode(), value))
            return out
        node, pointer = node[name], f"{pointer}/{name}"
    if isinstance(node, list):
        out[pointer] = [*out.get(pointer, ()), *elements]
    return out


def _piece(name: bytes, value: bytes) -> bytes:
    return b'"' + name + b'":' + value


def _only_field(status: Mapping[str, Json]) -> str:
    """Return the one field that a status complains about; empty where there are more, or none."""
    causes = resolve(status, "/details/causes")
    fields = {cause.get("field") for cause in causes if isinstance(cause, dict)} if isinstance(causes, list) else set()
    only = fields.pop() if len(fields) == 1 else ""
    return only if isinstance(only, str) else ""


def _cause(suggestion: Mapping[str, Json], otherwise: str) -> bytes:
    """kubectl prints each cause of an Invalid status as `* field: message`."""
    cause = {"reason": CAUSE, "message": _short(_line(suggestion))}
    pointers = [edit["path"] for edit in _edits(suggestion)] + [
        p["pointer"] for p in suggestion.get("placeholders", ())
    ]
    field = next((field for field in map(dotted, map(str, pointers)) if field), otherwise)
    return orjson.dumps({**cause, "field": field} if field else cause)


def _lines(suggestions: Iterable[Mapping[str, Json]]) -> list[str]:
    return list(dict.fromkeys(_short(_line(suggestion)) for suggestion in suggestions))[:_MOST_WARNINGS]


def _line(suggestion: Mapping[str, Json]) -> str:
    """Return a suggestion in one line for a person: its message, and its edits where they are short."""
    message = str(suggestion.get("message") or suggestion["action"])
    edits = "; ".join(_describe_edit(edit) for edit in _edits(suggestion))
    whole = f"{message} ({edits})" if edits else message
    return whole if len(whole) <= _LONGEST_LINE else message


def _edits(suggestion: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    yield from (edit for edit in suggestion.get("patch", ()) if edit["op"] != "test")


def _describe_edit(edit: Mapping[str, Json]) -> str:
    label = dotted(str(edit["path"])) or str(edit["path"])
    if edit["op"] not in ("add", "replace"):
        return f"{edit['op']} {label}"
    value = orjson.dumps(edit.get("value")).decode()
    return f"{label}={value}" if len(value) <= _LONGEST_VALUE else f"set {label}"


def dotted(pointer: str) -> str:
    """Spell a place of the body or the query as Kubernetes does: `spec.containers[0].image`; empty for any other."""
    parts = segments(pointer)
    if len(parts) < 2 or parts[0] not in ("body", "query"):
        return ""
    out = ""
    for part in parts[1:]:
        if part.isdecimal() or part == "-" or not part.replace("-", "").replace("_", "").isalnum():
            out += f"[{part}]"
        else:
            out += f".{part}" if out else part
    return out


def _short(line: str) -> str:
    """Return a line of printable ASCII that is short enough to be shown: cut between words, where there are any."""
    plain = "".join(char if " " <= char <= "~" else "?" for char in " ".join(line.split()))
    if len(plain) <= _LONGEST_LINE:
        return plain
    start = plain[: _LONGEST_LINE - 3]
    words = start if plain[len(start)] == " " else start.rpartition(" ")[0]
    return f"{(words or start).rstrip(' ,;:-')}..."


def _quoted(text: str) -> str:
    """RFC 9110 section 5.6.4: a quoted-string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
