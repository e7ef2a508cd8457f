"""Errors of the Kubernetes API about a body it cannot decode: types, kinds and versions, patches, selectors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from corrigible.rules.functions.builtin import quantity
from corrigible.rules.pointer import MISSING, escape, segments
from corrigible.rules.schema_repair.json_schema import kind_of
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json

from .status_errors import Refusal, every_member, field_errors, field_pointer, matching_places

_AMOUNT = re.compile(
    r"/(?:limits|requests|hard|capacity|min|max|default|defaultRequest|overhead)/[^/]+$"
    r"|/(?:sizeLimit|divisor|averageValue)$"
)
"""Places of amounts, for errors that do not name one."""


def places_of(refusal: Refusal, names: Sequence[str]) -> list[str]:
    """Return the places a chain of names leads to, whatever lists are on the way; a spelling of another case counts."""
    body = refusal.request.body
    if refusal.request.method == "PATCH" and isinstance(body, list):
        return _in_operations(body, names)
    pointers = matching_places(body, names)
    if pointers or not names:
        return pointers
    # ObjectMeta is `metadata`, and Go spells some names in its own way: the last name decides.
    last = names[-1].lower()
    return [pointer for pointer in every_member(refusal.request.body) if pointer.rpartition("/")[2].lower() == last]


def _in_operations(operations: Sequence[Json], names: Sequence[str]) -> list[str]:
    """Return the places of the values of JSON Patch operations that a chain of names leads to or into."""
    out: list[str] = []
    for index, operation in enumerate(operations):
        path = operation.get("path") if isinstance(operation, Mapping) else None
        if not isinstance(path, str) or "value" not in operation:
            continue
        parts = [part for part in segments(path) if not part.isdecimal() and part != "-"]
        if parts[: len(names)] == list(names):
            out.append(f"/body/{index}/value")
        elif list(names[: len(parts)]) == parts:
            inside = matching_places(operation["value"], names[len(parts) :])
            out += [f"/body/{index}/value{pointer.removeprefix('/body')}" for pointer in inside]
    return out


def amount_places(refusal: Refusal) -> Iterator[str]:
    """Yield the texts of a request at places of amounts that are no amounts."""
    body = refusal.request.body
    for index, operation in enumerate(body if refusal.request.method == "PATCH" and isinstance(body, list) else ()):
        path = operation.get("path") if isinstance(operation, Mapping) else None
        if isinstance(path, str) and _AMOUNT.search(path) and isinstance(operation.get("value"), str):
            yield f"/body/{index}/value"
    for pointer in every_member(body):
        if _AMOUNT.search(pointer) and isinstance(refusal.at(pointer), str) and quantity(refusal.at(pointer)) is None:
            yield pointer


def values_inside(refusal: Refusal, pointer: str) -> Iterator[str]:
    """Yield a place, or the members right inside it where it is an object or a list."""
    value = refusal.at(pointer)
    if isinstance(value, Mapping):
        yield from (f"{pointer}/{escape(str(name))}" for name in value)
    elif isinstance(value, list):
        yield from (f"{pointer}/{index}" for index in range(len(value)))
    elif value is not MISSING:
        yield pointer


def first_place(refusal: Refusal, names: Sequence[str]) -> str:
    """Return where a chain of names would lead, through the first element of every list."""
    pointer, node = "/body", refusal.request.body
    if refusal.request.method == "PATCH" and isinstance(node, list):
        return pointer
    for name in names:
        while isinstance(node, list):
            pointer, node = f"{pointer}/0", (node[0] if node else None)
        pointer += f"/{escape(name)}"
        node = node.get(name) if isinstance(node, Mapping) else None
    return pointer


def dotted_path(pointer: str) -> str:
    out = ""
    for part in segments(pointer)[1:]:
        out += f"[{part}]" if part.isdecimal() else f"{'.' if out else ''}{part}"
    return out


_STRICT = re.compile(r'(?P<what>unknown|duplicate) field "(?P<field>(?:[^"\\]|\\.)*)"')
_APPLIED = r"(?<!\S)(?P<field>\.(?:[^\s:\[\]]|\[[^\[\]]{0,300}\]){1,500}): "
_NOT_DECLARED = re.compile(_APPLIED + "field not declared in schema")
_TYPED = re.compile(_APPLIED + r"expected (?P<expected>[\w ()]+?), got (?P<got>[&*]?[\w.]+)")
_GO_JSON = re.compile(
    r"cannot unmarshal (?P<got>\w+)(?: (?P<value>-?[\d.eE+]+))? into Go "
    r"(?:struct field (?P<struct>[\w.]{1,200}?)\.(?P<field>[\w.\-/]{1,200})|value) of type (?P<type>[\w.\[\]*{}/ ]+)"
)
_GO_STEP = re.compile(
    r"(?:^|: )(?:(?P<list>\[\])?\w+\.\w+(?:\.(?P<member>\w+))?|(?P<bare>(?!Read[A-Z])[A-Z]\w*))(?=: )"
)
_READ = re.compile(
    r"(?<![\w.])(?P<reader>read\w+|Read[A-Z]\w+|decode \w+|skip\w+|assert\w+|unmarshalerDecoder): "
    r"(?P<what>.*?)(?:, error found in|$)",
    re.S,
)
_FOUND = re.compile(r"but found (?P<char>\S)")
_UNMARSHALLED = re.compile(r"cannot unmarshal (?P<got>\w+) into Go value of type (?P<type>\w+)")
_CONTEXT = re.compile(r"bigger context \.\.\.\|(?P<wide>.*)\|\.\.\.", re.S)
_QUANTITY = re.compile(
    "quantities must match the regular expression|unable to parse (?:quantity's suffix|numeric part of quantity)"
)
_KIND_UNKNOWN = re.compile(
    r'no kind "(?P<got>[^"]*)" is registered for (?:version|the internal version of group) "(?P<profile>[^"]*)"'
)
_HANDLED = re.compile(r'^\w+ in version "[^"]*" cannot be handled as an? (?P<expected>\w+): ')
_CONVERSION = re.compile(
    r"converting \((?:[\w.]{0,253}\.)?(?P<got>\w{1,253})\) to \((?:[\w.]{0,253}\.)?(?P<expected>\w{1,253})\)"
    ": unknown conversion"
)
_DIFFERENT = re.compile(
    r"(?P<what>kind in the data|API version in the data|the name of the object) \((?P<got>[^)]*)\) does not match "
    r"the (?:expected kind|expected API version|name on the URL) \((?P<expected>[^)]*)\)"
)
_IDENTITIES = {
    "kind in the data": ("KIND_MISMATCH", "kind"),
    "API version in the data": ("VERSION_MISMATCH", "apiVersion"),
    "the name of the object": ("NAME_MISMATCH", "metadata.name"),
}
_NAMESPACE_OTHER = re.compile(
    r"the namespace of the (?:provided )?object (?:\((?P<got>[^)]*)\) )?does not match the namespace (?:sent )?on the "
    r"(?:request|URL)(?: \((?P<expected>[^)]*)\))?"
)
_KIND_MISSING = re.compile("Object '(?:Kind|apiVersion)' is missing")
_KIND_TYPE = re.compile(r"the object provided is unrecognized \(must be of type (?P<expected>\w+)\)")
_NAME_REQUIRED = re.compile("name must be provided|^name is required|unable to find api field.*metadata")
_UNPARSED = (
    "json parse error", "invalid character", "error converting YAML to JSON", "unexpected end of JSON input",
    "yaml: ", "unexpected EOF", "error parsing",
)  # fmt: skip
_UNREAD = re.compile(r'^strconv\.Parse\w+: parsing "(?P<value>[^"]*)"')
_FIELD_LABEL = re.compile(
    r'field label not supported: (?P<label>\S+)|"(?P<quoted>[^"]*)" is not a known field selector'
)
_UNSELECTED = re.compile("requirement|selector|^found '[^']*', expected: ")
_PATCH = re.compile("patch|jsonpatch|cannot unmarshal|our request due to an error", re.I)
_NAMESPACE_PATH = re.compile(r"/namespaces/([^/]+)/")
_INLINE = frozenset(
    {
        "EphemeralContainerCommon", "Handler", "LifecycleHandler", "LocalObjectReference", "PersistentVolumeSource",
        "ProbeHandler", "TypeMeta", "VolumeSource",
    }
)  # fmt: skip
"""Embedded Go structs: JSON has their members in the outer object."""
_EXPECTED = {
    "readuint": "integer", "readint": "integer", "assertint": "integer", "readstring": "string", "readbool": "boolean",
    "readfloat": "number", "decode slice": "array", "readarray": "array", "decode map": "object",
    "readobject": "object", "readmap": "object",
}  # fmt: skip
_GO_TYPES = {
    "string": "string", "bool": "boolean", "float": "number", "int": "integer", "uint": "integer", "map": "object",
    "[]": "array",
}  # fmt: skip


def read_bad_request(refusal: Refusal) -> Iterator[Violation]:
    """Yield what a body was refused for, one violation for every field that is named."""
    for reader in _READERS:
        violations = list(reader(refusal))
        if violations:
            yield from violations
            return
    errors = field_errors(refusal.body)
    if errors:
        for error in errors:
            yield refusal.field(error)
        return
    text = refusal.text
    if (unread := _UNREAD.search(text)) is not None:
        pointer = _holding(refusal, unread["value"])
        yield refusal.violation("BAD_REQUEST", text, param=dotted_path(pointer), pointer=pointer, value=unread["value"])
    elif refusal.request.method not in ("GET", "DELETE") and _is_unparsed(text):
        yield refusal.violation("MALFORMED", text, pointer="/body")
    else:
        yield refusal.violation("BAD_REQUEST", text)


def _is_unparsed(text: str) -> bool:
    return any(words in text for words in _UNPARSED)


def _holding(refusal: Refusal, value: str) -> str:
    """Return the one query parameter, or else the version, that is a text; empty where that is not clear."""
    pointers = [f"/query/{escape(name)}" for name, values in refusal.request.query.items() if values == value]
    version = "/body/metadata/resourceVersion"
    pointers += [version] if refusal.at(version) == value else []
    return pointers[0] if len(pointers) == 1 else ""


def _strict(refusal: Refusal) -> Iterator[Violation]:
    if "strict decoding error" not in refusal.text and "unknown field" not in refusal.text:
        return
    for match in _STRICT.finditer(refusal.text):
        field = match["field"].replace('\\"', '"')
        code = "UNKNOWN_FIELD" if match["what"] == "unknown" else "DUPLICATE_FIELD"
        yield _of_field(refusal, code, field, match[0])


def _apply(refusal: Refusal) -> Iterator[Violation]:
    """Server-side apply names places with a dot in front and elements by their keys."""
    for match in _NOT_DECLARED.finditer(refusal.text):
        yield _of_field(refusal, "UNKNOWN_FIELD", match["field"], "field not declared in schema")
    for match in _TYPED.finditer(refusal.text):
        expected = "number" if "numeric" in match["expected"] else match["expected"].split()[0]
        expected = {"list": "array", "map": "object", "struct": "object"}.get(expected, expected)
        pointer = field_pointer(refusal.request, match["field"])
        yield _mismatch(refusal, match["field"], [pointer], expected, match[0])


def _of_field(refusal: Refusal, code: str, field: str, message: str) -> Violation:
    pointer = field_pointer(refusal.request, field)
    return refusal.about(code, message, [pointer] if pointer else [], param=field)


def _quantity(refusal: Refusal) -> Iterator[Violation]:
    if _QUANTITY.search(refusal.text) is None:
        return
    names = _member_chain(refusal.text)
    reached = places_of(refusal, names) if names else list(amount_places(refusal))
    places = [inner for pointer in reached for inner in values_inside(refusal, pointer)]
    places = [place for place in places if quantity(refusal.at(place)) is None] or places
    context = _CONTEXT.search(refusal.text)
    if context is not None:
        places = [place for place in places if f'"{refusal.at(place)}"' in context["wide"]] or places
    value = refusal.at(places[0]) if places else MISSING
    yield refusal.about(
        "QUANTITY_FORMAT", "quantities must match the regular expression", places,
        param=dotted_path(places[0]) if places else "", value=None if value is MISSING else value,
    )  # fmt: skip


def _go_json(refusal: Refusal) -> Iterator[Violation]:
    match = _GO_JSON.search(refusal.text)
    if match is None or not match["field"]:
        return
    names = match["field"].split(".")
    actual = {"bool": "boolean"}.get(match["got"], match["got"])
    places = [place for pointer in places_of(refusal, names) for place in _of_type(refusal, pointer, actual)]
    expected = _json_type(match["type"].lstrip("*")) or "object"
    yield _mismatch(refusal, match["field"], places or [first_place(refusal, names)], expected, match[0], actual)


def _json_type(go_type: str) -> str:
    return next((name for start, name in _GO_TYPES.items() if go_type.startswith(start)), "")


def _of_type(refusal: Refusal, pointer: str, kind: str) -> list[str]:
    """Return a place if its value has a type, else the places right inside it whose values have it."""
    if _has_type(refusal.at(pointer), kind):
        return [pointer]
    return [inner for inner in values_inside(refusal, pointer) if _has_type(refusal.at(inner), kind)]


def _has_type(value: Json, kind: str) -> bool:
    return kind_of(value) == kind or (kind == "number" and kind_of(value) == "integer")


def _jsoniter(refusal: Refusal) -> Iterator[Violation]:
    match = _READ.search(refusal.text)
    names = _member_chain(refusal.text)
    unmarshalled = _UNMARSHALLED.search(match["what"]) if match is not None else None
    if match is None or not names or (match["reader"] == "unmarshalerDecoder" and unmarshalled is None):
        return
    if unmarshalled is not None:
        expected = _json_type(unmarshalled["type"])
    else:
        expected = next((kind for start, kind in _EXPECTED.items() if match["reader"].lower().startswith(start)), "")
    reached = places_of(refusal, names)
    if reached and not matching_places(refusal.request.body, names):
        names = [part for part in segments(reached[0])[1:] if not part.isdecimal()]
    char = _FOUND.search(match["what"])
    places = _mistaken(refusal, reached, expected, char["char"] if char else "")
    alike = _mistaken(refusal, reached, expected, "") if places and expected else []
    context = _CONTEXT.search(refusal.text)
    if context is not None and len(places) > 1:
        places = [place for place in places if place.rpartition("/")[2] in context["wide"]] or places
    # The decoder stops at the first one. Others in the same field are as wrong.
    inner = bool(places) and places[0] not in reached
    places = [*places, *(place for place in alike if place not in places and (place not in reached) == inner)]
    message = f"{match['reader']}: {match['what']}"
    yield _mismatch(refusal, ".".join(names), places or [first_place(refusal, names)], expected, message)


def _mistaken(refusal: Refusal, places: Sequence[str], expected: str, char: str) -> list[str]:
    """Return the places that a decoder may have stopped at: what is right inside a list or an object, else itself."""
    themselves = [place for place in places if _is_wrong(refusal.at(place), expected, char)]
    if expected in ("array", "object") and themselves:
        return themselves
    inside = [
        inner
        for place in places
        for inner in values_inside(refusal, place)
        if inner != place and _is_wrong(refusal.at(inner), expected, char)
    ]
    return inside or themselves


def _is_wrong(value: Json, expected: str, char: str) -> bool:
    """Whether a value is not of the expected type, and begins with the character found where that is named."""
    if value is MISSING or (expected and (value is None or _has_type(value, expected))):
        return False
    return not char or json.dumps(value)[:1] == char


def _mismatch(
    refusal: Refusal, param: str, places: Sequence[str], expected: str, message: str, actual: str = ""
) -> Violation:
    actual = actual or kind_of(refusal.at(places[0]) if places else MISSING)
    return refusal.about("TYPE_MISMATCH", message, places, param=param, expected=expected, got=actual)


def _member_chain(text: str) -> list[str]:
    """Return the JSON names in `v1.Pod.Spec: v1.PodSpec.Containers: []v1.Container: v1.Container.Resources: ...`."""
    _, handled, chain = text.partition(" cannot be handled as a")
    names = []
    for match in _GO_STEP.finditer(chain if handled else text):
        name = match["bare"] or match["member"] or ""
        if name and not match["list"] and name not in _INLINE:
            names.append(_json_name(name))
    return names


def _json_name(member: str) -> str:
    """Spell a Go member as its JSON name: `APIVersion` is apiVersion, `HostIP` hostIP, `HTTPGet` httpGet, `TTL` ttl."""
    if member in ("ObjectMeta", "ListMeta"):
        return "metadata"
    run = re.match(r"[A-Z]+", member)
    if run is None or len(run[0]) == 1:
        return member[:1].lower() + member[1:]
    upper = run[0] if run[0] == member else run[0][:-1]
    return upper.lower() + member[len(upper) :]


def _selector(refusal: Refusal) -> Iterator[Violation]:
    query, text = refusal.request.query, refusal.text
    label = _FIELD_LABEL.search(text)
    if label is not None:
        supported: list[Json] = [*re.findall(r'"([^"]*)"', text.partition("only ")[2])]
        yield _in_query(refusal, "fieldSelector", label["label"] or label["quoted"], supported=supported)
    elif "labelSelector" in query and _UNSELECTED.search(text) is not None:
        yield _in_query(refusal, "labelSelector", query["labelSelector"])
    elif "fieldSelector" in query and "selector" in text:
        yield _in_query(refusal, "fieldSelector", query["fieldSelector"])


def _in_query(refusal: Refusal, param: str, value: Json, **native: Json) -> Violation:
    return refusal.violation("SELECTOR", refusal.text, param=param, pointer=f"/query/{param}", value=value, **native)


def _identity(refusal: Refusal) -> Iterator[Violation]:
    """Kinds, versions, names and namespaces that are missing, unknown, or not those of the URL."""
    text, body = refusal.text, refusal.request.body
    if (match := _KIND_UNKNOWN.search(text)) is not None:
        handled = _HANDLED.match(text)
        expected = handled["expected"] if handled else ""
        yield _other(refusal, "KIND_UNKNOWN", "kind", match["got"], expected, profile=match["profile"])
    elif (match := _CONVERSION.search(text)) is not None:
        yield _other(refusal, "KIND_MISMATCH", "kind", match["got"], match["expected"])
    elif (match := _DIFFERENT.search(text)) is not None:
        yield _other(refusal, *_IDENTITIES[match["what"]], match["got"], match["expected"])
    elif ((kind_match := _KIND_TYPE.search(text)) and not _is_unparsed(text)) or _KIND_MISSING.search(text):
        missing = "apiVersion" if "'apiVersion'" in text or (isinstance(body, Mapping) and "kind" in body) else "kind"
        expected = kind_match["expected"] if kind_match else ""
        yield refusal.violation("KIND_MISSING", text, param=missing, pointer=f"/body/{missing}", expected=expected)
    elif (match := _NAMESPACE_OTHER.search(text)) is not None:
        namespace = refusal.at("/body/metadata/namespace")
        path = _NAMESPACE_PATH.search(refusal.request.path)
        actual = namespace if isinstance(namespace, str) else match["got"] or ""
        expected = path[1] if path else match["expected"] or ""
        yield _other(refusal, "NAMESPACE_MISMATCH", "metadata.namespace", actual, expected)
    elif _NAME_REQUIRED.search(text) is not None:
        yield refusal.violation("NAME_REQUIRED", text, param="metadata.name", pointer="/body/metadata/name")
    elif "resourceVersion should not be set on objects to be created" in text:
        pointer = "/body/metadata/resourceVersion"
        namespace = refusal.at(pointer)
        value = namespace if isinstance(namespace, str) else None
        yield refusal.violation(
            "RESOURCE_VERSION_SET", text, param="metadata.resourceVersion", pointer=pointer, value=value
        )


def _other(refusal: Refusal, code: str, param: str, actual: str, expected: str, **native: Json) -> Violation:
    """Return the violation of a member that has one value and should have another."""
    native = {"got": actual, "value": actual, "expected": expected, **native}
    return refusal.violation(code, refusal.text, param=param, pointer=f"/body/{param.replace('.', '/')}", **native)


def _patch(refusal: Refusal) -> Iterator[Violation]:
    if refusal.request.method == "PATCH" and (not refusal.text or _PATCH.search(refusal.text) is not None):
        media_type = refusal.request.headers.get("content-type", "")
        yield refusal.violation("PATCH_REJECTED", refusal.text, param=media_type, pointer="/body")


_READERS: Sequence[Callable[[Refusal], Iterator[Violation]]] = (
    *(_strict, _apply, _quantity, _go_json, _jsoniter, _selector, _identity, _patch),
)
"""The first that finds something decides."""
