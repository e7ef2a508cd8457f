"""One Kubernetes Status as a whole, and how its errors become violations."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as member
from typing import Any, NamedTuple

from corrigible.rules.pointer import MISSING, escape, value_at
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

from .field_path import Container, containers, field_pointer, pod_spec

_NOTHING: Mapping[str, Json] = {
    "kind": "", "name": "", "group": "", "text": "", "value": None, "rendered": "", "supported": [],
    "pod": "", "containers": [], "places": [], "webhook": "", "policy": "", "rule": "", "resource": "", "bound": "",
    "scope": "", "given": "", "allowed": "", "quota": "", "used": "", "level": "", "profile": "", "manager": "",
    "user": "", "verb": "", "api_group": "", "namespace": "", "subresource": "", "expected": "", "got": "",
    "retry_after": None,
}  # fmt: skip
"""Every native member that a rule may use, always present."""

MOST_COMPLAINTS = 64
"""More is not repaired at once."""
MOST_TEXT = 32 * 1024
"""Characters of a message that are read; Go prints whole objects into some."""

KINDS = {
    "Invalid value": "FieldValueInvalid",
    "Required value": "FieldValueRequired",
    "Unsupported value": "FieldValueNotSupported",
    "Duplicate value": "FieldValueDuplicate",
    "Forbidden": "FieldValueForbidden",
    "Not found": "FieldValueNotFound",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
    "Internal error": "InternalError",
}
"""How the words of a field error are called as the reason of a cause."""

_NAMES_VALUE = frozenset({"Invalid value", "Unsupported value", "Duplicate value", "Not found", "Too many"})
_SUBJECT = re.compile(r'^(?P<kind>[\w.\-/]+) (?:"(?P<name>[^"]*)" )?is (?:forbidden|invalid): ')
_LISTED = re.compile(
    r"(?:supported values|valid values|must be one of|accepted media types include|are accepted): (.+)", re.S
)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.){0,253})"')
_GO_MAP = re.compile(r"(?:map\[string\]string|\[\]string)\{(.*)\}", re.S)
_REQUEST_LIMIT = re.compile(r"less than or equal to (?P<resource>\S+) limit")
_CRD_TYPE = re.compile(r"must be of type (?P<expected>\w+): \"(?P<got>\w+)\"")
_FIELD = r"(?:<nil>|[A-Za-z_.][\w.\-/]{0,300}(?:\[[^\]]{0,300}\][\w.\-/]{0,300}){0,40})"
_FIELD_ERROR = re.compile(rf"(?:^|(?<=, )|(?<=\[)|(?<= ))(?P<field>{_FIELD}): (?P<words>{'|'.join(KINDS)})(?=:|,|\]|$)")
_scan = json.JSONDecoder(strict=False).raw_decode


class FieldError(NamedTuple):
    """`spec.replicas: Invalid value: -1: must be greater than or equal to 0`, taken apart."""

    field: str
    kind: str
    rendered: str
    value: Json
    detail: str


@dataclass(slots=True)
class Refusal:
    """One Status, the request it answers, and what all its violations have in common."""

    exchange: Exchange
    status: Mapping[str, Any]
    webhook: str = ""
    common: dict[str, Json] = member(default_factory=dict)
    containers: list[Container] = member(default_factory=list)
    """Of the pod in the request, in the order in which the API server goes through them."""

    def __post_init__(self) -> None:
        details = self.details
        subject = None if details.get("kind") else _SUBJECT.match(self.text)
        self.common = {
            **_NOTHING,
            "kind": text(details, "kind") or (subject["kind"] if subject else ""),
            "name": text(details, "name") or ((subject["name"] or "") if subject else ""),
            "group": text(details, "group"),
            "text": self.text,
            "pod": pod_spec(self.request),
            "webhook": self.webhook,
            "retry_after": number(details.get("retryAfterSeconds")),
        }
        self.containers = containers(self.request, self.pod)

    @property
    def request(self) -> Request:
        return self.exchange.request

    @property
    def text(self) -> str:
        return text(self.status, "message")[:MOST_TEXT]

    @property
    def reason(self) -> str:
        return text(self.status, "reason")

    @property
    def details(self) -> Mapping[str, Any]:
        details = self.status.get("details")
        return details if isinstance(details, Mapping) else {}

    @property
    def pod(self) -> str:
        return str(self.common["pod"])

    @property
    def body(self) -> str:
        """The text after `pods "x" is forbidden: `."""
        subject = _SUBJECT.match(self.text)
        return self.text[subject.end() :] if subject else self.text

    def at(self, pointer: str) -> Json:
        """Return the value at a place of the request, or `MISSING`."""
        return value_at(self.request, pointer) if pointer else MISSING

    def violation(
        self, code: str, message: str = "", *, param: str = "", pointer: str = "", **native: Json
    ) -> Violation:
        return Violation(
            code=code, message=message, pointer=pointer, type=self.reason, param=param, native={**self.common, **native}
        )

    def about(
        self, code: str, message: str, places: Sequence[str], *, param: str = "", fallback: str = "", **native: Json
    ) -> Violation:
        """Return a violation of some places: the first is its pointer, or `fallback` without any, and has its value."""
        value = self.at(places[0]) if places else None
        native = {"value": value if isinstance(value, (str, int, float, bool)) else None, **native}
        pointer = places[0] if places else fallback
        return self.violation(code, message, param=param, pointer=pointer, places=list(places), **native)

    def field(self, error: FieldError, code: str = "") -> Violation:
        """Return the violation that a field error is; its words decide about the code where no cause gave one."""
        value = error.value if error.value is not None else MISSING
        pointer = field_pointer(self.request, error.field, str(self.common["kind"]), value)
        if pointer.endswith("/resources/requests"):
            limit = _REQUEST_LIMIT.search(error.detail)
            pointer += f"/{escape(limit['resource'])}" if limit is not None else ""
        typed = _CRD_TYPE.search(error.detail) if "must be of type" in error.detail else None
        there = self.at(pointer) if typed is not None else MISSING
        return self.violation(
            code or KINDS.get(error.kind, "FieldValueInvalid"),
            error.detail,
            param=error.field,
            pointer=pointer,
            value=error.value if typed is None else (None if there is MISSING else there),
            rendered=error.rendered,
            supported=listed(error.detail),
            places=[pointer] if pointer else [],
            rule=error.kind,
            expected=typed["expected"] if typed else "",
            got=typed["got"] if typed else "",
        )


def text(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    return value if isinstance(value, str) else ""


def number(value: Json) -> Json:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def listed(message: str) -> list[str]:
    """Return the allowed values that a message lists."""
    match = _LISTED.search(message) if ": " in message or " are " in message else None
    if match is None:
        return []
    quoted = _QUOTED.findall(match[1])
    return quoted or [part.strip() for part in re.split(r",\s*|\s+or\s+", match[1]) if part.strip()]


def field_error(field: str, message: str) -> FieldError:
    """Take apart the message of a cause about a field; text of another form becomes the detail unchanged."""
    words = next((words for words in KINDS if message == words or message.startswith(f"{words}: ")), "")
    rest = message[len(words) + 2 :] if words else message
    if words in _NAMES_VALUE:
        rendered, value, detail = _rendered(rest)
        return FieldError(field, words, rendered, value, detail)
    return FieldError(field, words, "", None, rest)


def field_errors(message: str) -> list[FieldError]:
    """Split `[a.b: Forbidden: text, c: Required value]`, and the same with spaces between."""
    starts = list(_FIELD_ERROR.finditer(message))
    out: list[FieldError] = []
    for start, following in zip(starts, [*starts[1:], None], strict=False):
        whole = message[start.start("words") : following.start() if following else len(message)].strip()
        if message.startswith("[") and following is None:
            whole = whole.removesuffix("]")
        error = field_error(start["field"], whole.rstrip(", "))
        if error not in out:
            out.append(error)
    return out


def _rendered(rest: str) -> tuple[str, Json, str]:
    """Split `"abc": must be ...` into the value as it is written, the value, and the detail."""
    try:
        value, end = _scan(rest)
        if end == len(rest) or rest.startswith(": ", end):
            return rest[:end], value, rest[end + 2 :]
    except (ValueError, RecursionError):
        pass
    end = _dump_end(rest)
    rendered, detail = rest[:end], rest[end + 2 :]
    literal = _GO_MAP.fullmatch(rendered)
    if literal is None:
        return rendered, None, detail
    opening, closing = ("{", "}") if rendered.startswith("map") else ("[", "]")
    try:
        return rendered, json.loads(opening + literal[1] + closing), detail
    except ValueError:
        return rendered, None, detail


def _dump_end(rest: str) -> int:
    """Return where a Go value printed for debugging ends: at the first `: ` outside its braces and quotes."""
    depth, quoted, at = 0, False, 0
    while at < len(rest):
        char = rest[at]
        if quoted:
            at += char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        elif char in "{([":
            depth += 1
        elif char in "})]":
            depth -= 1
        elif depth <= 0 and rest.startswith(": ", at):
            return at
        at += 1
    return len(rest)


def mentioned(names: Sequence[str], message: str) -> list[str]:
    """Return the names that occur in a text as whole words."""
    return [name for name in names if name and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", message)]
