"""One Kubernetes Status as a whole, and how its errors become violations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as member
from typing import Any, NamedTuple

from corrigible.rules.pointer import MISSING, escape, resolve, segments, value_at
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Json, Request

_STEP = re.compile(r"\.?([^.\[\]]+)|\[((?:[^\[\]\"]|\"(?:[^\"\\]|\\.)*\")*)\]")
_KEYED = re.compile(r'(\w{0,63})=(?:"((?:[^"\\]|\\.){0,253})"|([\w.-]{0,253}))(?:,|$)')
_POD_SPECS = (
    "/body/spec/jobTemplate/spec/template/spec",
    "/body/spec/template/spec",
    "/body/spec",
    "/body/template/spec",
)
_HOMES: Mapping[str, str] = {
    "cronjobs": _POD_SPECS[0],
    **dict.fromkeys(
        ("daemonsets", "deployments", "jobs", "replicasets", "replicationcontrollers", "statefulsets"), _POD_SPECS[1]
    ),
    "pods": _POD_SPECS[2],
    "podtemplates": _POD_SPECS[3],
}
"""Where the objects of a resource have a pod's spec: a patch may set something in it without any container."""
_RESOURCE = re.compile(r"^/apis?/(?:[^/]+/){1,2}namespaces/[^/]+/(?P<resource>[^/]+)(?:/[^/]+)?$")
_LISTS = ("containers", "initContainers", "ephemeralContainers")
_OPTIONS = frozenset({"CreateOptions", "DeleteOptions", "ListOptions", "PatchOptions", "UpdateOptions"})
_MOST_PLACES = 64


class Selector(NamedTuple):
    """An element of a list by its keys, `[port=80,protocol="TCP"]`; of a set by its value, `[="x"]`."""

    written: str
    keys: Mapping[str, str]


Steps = Sequence[str | int | Selector]


class Container(NamedTuple):
    pointer: str
    name: str
    value: Mapping[str, Any]


def steps(field: str) -> list[str | int | Selector]:
    """Split `spec.containers[0].image`, `data[my key]`, `.spec.ports[port=80,protocol="TCP"].name` into its parts.

    Kubernetes writes a name with dots in brackets where it is a key; elsewhere it reads as several names.
    """
    out: list[str | int | Selector] = []
    for match in _STEP.finditer(field):
        name, inside = match.groups()
        if name is not None:
            out.append(name)
        elif inside.isdecimal():
            out.append(int(inside))
        elif "=" in inside and _KEYED.match(inside):
            out.append(Selector(inside, {key: quoted or unquoted for key, quoted, unquoted in _KEYED.findall(inside)}))
        else:
            out.append(inside.strip('"'))
    return out


def field_pointer(request: Request, field: str, kind: str = "", value: Json = MISSING) -> str:
    """Return the place of a field path in the request, empty where it is unclear.

    In a patch, list indexes count in the object that came of it, so there a named value decides.
    """
    field = field.strip()
    if field in ("", "<nil>", "<root>"):
        return ""
    parts = _templated(request.body, steps(field.removeprefix("pod.")))
    if not parts:
        return ""
    body = request.body
    if kind in _OPTIONS or (isinstance(parts[0], str) and len(parts) == 1 and _is_option(parts[0], body)):
        name = str(parts[0])
        return f"/body/{name}" if isinstance(body, Mapping) and name in body else f"/query/{escape(name)}"
    if request.method == "PATCH" and isinstance(body, list):
        return _in_operations(body, parts)
    if body is None and len(parts) == 1 and parts[0] in request.query:
        return f"/query/{escape(str(parts[0]))}"
    pointer = _versioned(body, parts) or walk(body, parts)
    if value is not MISSING and value is not None and resolve({"body": body}, pointer) is MISSING:
        # Some checks leave the index of a list out: `spec.hostAliases.ip`, `spec.containers[0].volumeMounts.subPath`.
        indexes = max((at for at, part in enumerate(parts) if isinstance(part, int)), default=-1) + 1
        under = walk(body, parts[:indexes])
        places = [
            pointer
            for pointer in matching_places(body, [str(part) for part in parts if not isinstance(part, int)])
            if pointer.startswith(f"{under}/") and resolve({"body": body}, pointer) == value
        ]
        if len(places) == 1:
            return places[0]
    if request.method == "PATCH" and value is not MISSING and value is not None:
        sent = resolve({"body": body}, pointer)
        again = [pointer for pointer in members(body, str(parts[-1])) if resolve({"body": body}, pointer) == value]
        if sent != value and len(again) == 1:
            return again[0]
    return pointer


def _templated(body: Json, parts: list[str | int | Selector]) -> list[str | int | Selector]:
    """Put the `metadata` in that a check of a pod template leaves out: `spec.template.labels`."""
    for at, part in enumerate(parts[1:], 1):
        if part in ("annotations", "labels") and parts[at - 1] == "template":
            value = resolve({"body": body}, walk(body, parts[:at]))
            if isinstance(value, Mapping) and part not in value:
                return [*parts[:at], "metadata", *parts[at:]]
    return parts


def _versioned(body: Json, parts: Steps) -> str:
    """Return the place of the single schema of older custom resource definitions in a newer one: in its versions."""
    if list(parts[:3]) != ["spec", "validation", "openAPIV3Schema"] or not isinstance(body, dict):
        return ""
    versions = resolve(body, "/spec/versions")
    for index, version in enumerate(versions if isinstance(versions, list) else ()):
        pointer = walk(version, ["schema", *parts[2:]], f"/body/spec/versions/{index}")
        if resolve({"body": body}, pointer) is not MISSING:
            return pointer
    return ""


def _is_option(name: str, body: Json) -> bool:
    options = ("dryRun", "fieldManager", "fieldValidation", "force", "labelSelector", "fieldSelector", "continue")
    return name in options and not (isinstance(body, Mapping) and name in body)


def walk(body: Json, parts: Steps, root: str = "/body") -> str:
    """Follow a path through a document. What is not there is named all the same, so that it can be added.

    Names with dots that arrive split (`labels.app.example.com/x`) are put together again where the document has them.
    """
    node, pointer, at = body, root, 0
    while at < len(parts):
        part = parts[at]
        if isinstance(part, Selector):
            index = part.written if isinstance(node, Mapping) else _selected(node, part.keys)
            if index is None:
                return ""
            part = index
        if isinstance(node, Mapping) and isinstance(part, str) and part not in node:
            joined, used = _joined(node, parts, at)
            if joined:
                part, at = joined, at + used - 1
            elif part == "clusterIPs" and "clusterIP" in node:
                part = "clusterIP"
        pointer += f"/{escape(str(part))}"
        node = resolve(node, f"/{escape(str(part))}") if isinstance(node, (dict, list)) else MISSING
        at += 1
    return pointer


def _joined(node: Mapping[str, Any], parts: Steps, at: int) -> tuple[str, int]:
    name = str(parts[at])
    for used in range(2, len(parts) - at + 1):
        following = parts[at + used - 1]
        if not isinstance(following, str):
            break
        name += f".{following}"
        if name in node:
            return name, used
    return "", 0


def _selected(node: Json, keys: Mapping[str, str]) -> int | None:
    if not isinstance(node, list):
        return None
    for index, element in enumerate(node):
        if list(keys) == [""] and str(element) == keys[""]:
            return index
        if isinstance(element, Mapping) and all(str(element.get(key, "")) == value for key, value in keys.items()):
            return index
    return None


def _in_operations(operations: list[Any], parts: Steps) -> str:
    """Return the value of the JSON patch operation that reaches a field."""
    names = [str(part) for part in parts]
    for index, operation in enumerate(operations):
        path = operation.get("path") if isinstance(operation, Mapping) else None
        if not isinstance(path, str) or "value" not in operation:
            continue
        parts_reached = segments(path)
        same = all(have in (want, "-") for have, want in zip(parts_reached, names, strict=False))
        if parts_reached and same and len(parts_reached) <= len(names):
            return walk(operation["value"], parts[len(parts_reached) :], f"/body/{index}/value")
    return ""


def every_member(value: Json, pointer: str = "/body") -> Iterator[str]:
    """Yield the pointers of all members of all objects in a value."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            place = f"{pointer}/{escape(str(name))}"
            yield place
            yield from every_member(inner, place)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from every_member(inner, f"{pointer}/{index}")


def members(value: Json, name: str, pointer: str = "/body") -> Iterator[str]:
    """Yield the pointers of every member of a name."""
    last = f"/{escape(name)}"
    return (place for place in every_member(value, pointer) if place.endswith(last))


def matching_places(body: Json, names: Sequence[str]) -> list[str]:
    """Return the pointers that a path without indexes reaches: arrays on the way, and at its end, are gone through."""
    reached: list[tuple[str, Json]] = [("/body", body)]
    for name in names:
        reached = [
            (f"{pointer}/{escape(name)}", here[name])
            for outer, value in reached
            for pointer, here in _elements(outer, value)
            if isinstance(here, Mapping) and name in here
        ][:_MOST_PLACES]
    return [pointer for pointer, _ in reached]


def _elements(pointer: str, value: Json) -> list[tuple[str, Json]]:
    if isinstance(value, list):
        return [(f"{pointer}/{index}", inner) for index, inner in enumerate(value[:_MOST_PLACES])]
    return [(pointer, value)]


def pod_spec(request: Request) -> str:
    """Return the place of the pod spec in a request, empty where it has none."""
    document = {"body": request.body}
    if not isinstance(request.body, dict) or not ("spec" in request.body or "template" in request.body):
        return ""
    for pointer in _POD_SPECS:
        spec = resolve(document, pointer)
        if isinstance(spec, Mapping) and any(isinstance(spec.get(name), list) for name in _LISTS):
            return pointer
    kind, collection = request.body.get("kind"), _RESOURCE.match(request.path)
    at = _HOMES.get(f"{kind}s".lower() if kind else collection["resource"] if collection else "", "")
    return at if isinstance(resolve(document, at) if at else None, Mapping) else ""


def containers(request: Request, pod: str) -> list[Container]:
    """Return the containers of a pod spec, in the order in which the API server goes through them."""
    spec = resolve({"body": request.body}, pod) if pod else MISSING
    if not isinstance(spec, Mapping):
        return []
    return [
        Container(f"{pod}/{kind}/{index}", str(one.get("name", "")), one)
        for kind in _LISTS
        for index, one in enumerate(spec[kind] if isinstance(spec.get(kind), list) else ())
        if isinstance(one, Mapping)
    ]


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
