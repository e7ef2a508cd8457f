"""What the Kubernetes API says of a body that it cannot take in: decoding, kinds and versions, patches, selectors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from corrigible.rules.language.quantity import quantity
from corrigible.rules.pointer import MISSING, escape, segments
from corrigible.rules.schema_repair.json_schema import kind_of
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json

from .field_locator import amounts, dotted, first, reached_by, scalars
from .field_path import field_pointer, spread
from .status_errors import Said, field_errors

_STRICT = re.compile(r'(?P<what>unknown|duplicate) field "(?P<field>(?:[^"\\]|\\.)*)"')
_APPLIED = r"(?<!\S)(?P<field>\.(?:[^\s:\[\]]|\[[^\[\]]{0,300}\]){1,500}): "
_NOT_DECLARED = re.compile(_APPLIED + "field not declared in schema")
_TYPED = re.compile(_APPLIED + r"expected (?P<expected>[\w ()]+?), got (?P<got>[&*]?[\w.]+)")
_GO_JSON = re.compile(
    r"cannot unmarshal (?P<got>\w+)(?: (?P<value>-?[\d.eE+]+))? into Go "
    r"(?:struct field (?P<struct>[\w.]+?)\.(?P<field>[\w.\-/]+)|value) of type (?P<type>[\w.\[\]*{}/ ]+)"
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
    r'no kind "(?P<kind>[^"]*)" is registered for (?:version|the internal version of group) "(?P<version>[^"]*)"'
)
_KIND_OTHER = re.compile(
    r"converting \((?:[\w.]{0,253}\.)?(?P<got>\w{1,253})\) to \((?:[\w.]{0,253}\.)?(?P<expected>\w{1,253})\)"
    ": unknown conversion"
)
_HANDLED = re.compile(r'^(?P<got>\w+) in version "(?P<version>[^"]*)" cannot be handled as an? (?P<expected>\w+): ')
_API_VERSION = re.compile(
    r"API version in the data \((?P<got>[^)]*)\) does not match the expected API version \((?P<expected>[^)]*)\)"
)
_KIND_DATA = re.compile(r"kind in the data \((?P<got>[^)]*)\) does not match the expected kind \((?P<expected>[^)]*)\)")
_KIND_TYPE = re.compile(r"the object provided is unrecognized \(must be of type (?P<expected>\w+)\)")
_NAME_OTHER = re.compile(
    r"the name of the object \((?P<got>[^)]*)\) does not match the name on the URL \((?P<expected>[^)]*)\)"
)
_NAMESPACE_OTHER = re.compile(
    r"the namespace of the (?:provided )?object (?:\((?P<got>[^)]*)\) )?does not match the namespace (?:sent )?on the "
    r"(?:request|URL)(?: \((?P<expected>[^)]*)\))?"
)
_UNPARSED = (
    "json parse error", "invalid character", "error converting YAML to JSON", "unexpected end of JSON input",
    "yaml: ", "unexpected EOF", "error parsing",
)  # fmt: skip
_UNREAD = re.compile(r'^strconv\.Parse\w+: parsing "(?P<value>[^"]*)"')
_FIELD_LABEL = re.compile(
    r'field label not supported: (?P<label>\S+)|"(?P<quoted>[^"]*)" is not a known field selector'
)
_UNSELECTED = re.compile("requirement|selector|^found '[^']*', expected: ")
_NAMESPACE_PATH = re.compile(r"/namespaces/([^/]+)/")
_INLINE = frozenset(
    {
        "EphemeralContainerCommon", "Handler", "LifecycleHandler", "LocalObjectReference", "PersistentVolumeSource",
        "ProbeHandler", "TypeMeta", "VolumeSource",
    }
)  # fmt: skip
"""Go members that JSON does not show: theirs stand right in what holds them."""
_EXPECTED = {
    "readuint": "integer", "readint": "integer", "assertint": "integer", "readstring": "string", "readbool": "boolean",
    "readfloat": "number", "decode slice": "array", "readarray": "array", "decode map": "object",
    "readobject": "object", "readmap": "object",
}  # fmt: skip
_GO_TYPES = {
    "string": "string", "bool": "boolean", "float": "number", "int": "integer", "uint": "integer", "map": "object",
    "[]": "array",
}  # fmt: skip


def read_bad_request(said: Said) -> Iterator[Violation]:
    """Yield what a body was refused for, one violation for every field that is named."""
    for reader in (_strict, _apply, _quantity, _go_json, _jsoniter, _selector, _kind, _identity, _patch):
        found = list(reader(said))
        if found:
            yield from found
            return
    errors = field_errors(said.body)
    if errors:
        for error in errors:
            yield said.field(error)
        return
    if (unread := _UNREAD.search(said.text)) is not None:
        pointer = _holding(said, unread["value"])
        yield said.violation("BAD_REQUEST", said.text, param=dotted(pointer), pointer=pointer, value=unread["value"])
        return
    if said.request.method not in ("GET", "DELETE") and any(words in said.text for words in _UNPARSED):
        yield said.violation("MALFORMED", said.text, pointer="/body")
        return
    yield said.violation("BAD_REQUEST", said.text)


def _holding(said: Said, value: str) -> str:
    """Return the one query parameter, or else the version, that is a text; empty where that is not clear."""
    found = [f"/query/{escape(name)}" for name, there in said.request.query.items() if there == value]
    version = "/body/metadata/resourceVersion"
    found += [version] if said.at(version) == value else []
    return found[0] if len(found) == 1 else ""


def _strict(said: Said) -> Iterator[Violation]:
    if "strict decoding error" not in said.text and "unknown field" not in said.text:
        return
    for match in _STRICT.finditer(said.text):
        field = match["field"].replace('\\"', '"')
        code = "UNKNOWN_FIELD" if match["what"] == "unknown" else "DUPLICATE_FIELD"
        yield _placed(said, code, field, match[0])


def _apply(said: Said) -> Iterator[Violation]:
    """Server-side apply names places with a dot in front and elements by their keys."""
    for match in _NOT_DECLARED.finditer(said.text):
        yield _placed(said, "UNKNOWN_FIELD", match["field"], "field not declared in schema")
    for match in _TYPED.finditer(said.text):
        expected = "number" if "numeric" in match["expected"] else match["expected"].split()[0]
        expected = {"list": "array", "map": "object", "struct": "object"}.get(expected, expected)
        yield _mismatch(said, match["field"], [field_pointer(said.request, match["field"])], expected, match[0])


def _placed(said: Said, code: str, field: str, message: str) -> Violation:
    pointer = field_pointer(said.request, field)
    there = said.at(pointer)
    return said.violation(
        code, message, param=field, pointer=pointer, places=[pointer] if pointer else [],
        value=there if isinstance(there, (str, int, float, bool)) else None,
    )  # fmt: skip


def _quantity(said: Said) -> Iterator[Violation]:
    if _QUANTITY.search(said.text) is None:
        return
    names = _member_chain(said.text)
    reached = reached_by(said, names) if names else list(amounts(said))
    places = [there for pointer in reached for there in scalars(said, pointer)]
    places = [there for there in places if quantity(said.at(there)) is None] or places
    context = _CONTEXT.search(said.text)
    if context is not None:
        places = [there for there in places if f'"{said.at(there)}"' in context["wide"]] or places
    pointer = places[0] if places else ""
    there = said.at(pointer)
    yield said.violation(
        "QUANTITY_FORMAT", "quantities must match the regular expression", param=dotted(pointer), pointer=pointer,
        value=None if there is MISSING else there, places=places,
    )  # fmt: skip


def _go_json(said: Said) -> Iterator[Violation]:
    match = _GO_JSON.search(said.text)
    if match is None or not match["field"]:
        return
    expected = next((name for go, name in _GO_TYPES.items() if match["type"].lstrip("*").startswith(go)), "object")
    if match["type"].lstrip("*").startswith("[]"):
        expected = "array"
    names = match["field"].split(".")
    got = {"bool": "boolean"}.get(match["got"], match["got"])
    places = [there for there in _deeper(said, reached_by(said, names), got)]
    yield _mismatch(said, match["field"], places or [first(said, names)], expected, match[0], got)


def _deeper(said: Said, pointers: Sequence[str], got: str) -> Iterator[str]:
    """Yield the places whose JSON type is the one that was not wanted: the member itself, else what is right in it."""
    for pointer in pointers:
        if kind_of(said.at(pointer)) == got or (got == "number" and kind_of(said.at(pointer)) == "integer"):
            yield pointer
            continue
        for inner in scalars(said, pointer):
            kind = kind_of(said.at(inner))
            if inner != pointer and (kind == got or (got == "number" and kind == "integer")):
                yield inner


def _jsoniter(said: Said) -> Iterator[Violation]:
    found = _READ.search(said.text)
    names = _member_chain(said.text)
    unmarshalled = _UNMARSHALLED.search(found["what"]) if found is not None else None
    if found is None or not names or (found["reader"] == "unmarshalerDecoder" and unmarshalled is None):
        return
    expected = next((kind for start, kind in _EXPECTED.items() if found["reader"].lower().startswith(start)), "")
    if unmarshalled is not None:
        expected = next((kind for go, kind in _GO_TYPES.items() if unmarshalled["type"].startswith(go)), "")
    reached = reached_by(said, names)
    if not spread(said.request.body, names):
        names = [part for part in segments(reached[0])[1:] if not part.isdecimal()] if reached else names
    char = _FOUND.search(found["what"])
    places = list(_mistaken(said, reached, expected, char["char"] if char else ""))
    alike = list(_mistaken(said, reached, expected, "")) if places and expected else []
    context = _CONTEXT.search(said.text)
    if context is not None and len(places) > 1:
        shown = [there for there in places if there.rpartition("/")[2] in context["wide"]]
        places = shown or places
    # The decoder stops at the first one. Others in the same field are as wrong.
    inner = bool(places) and places[0] not in reached
    places += [there for there in alike if there not in places and (there not in reached) == inner]
    yield _mismatch(
        said, ".".join(names), places or [first(said, names)], expected, f"{found['reader']}: {found['what']}"
    )


def _mistaken(said: Said, reached: Sequence[str], expected: str, char: str) -> Iterator[str]:
    """Yield the places that a decoder may have stumbled on: what is right inside a list or an object, else itself."""
    themselves = [there for there in reached if _is_wrong(said.at(there), expected, char)]
    inside = [
        there
        for pointer in reached
        for there in scalars(said, pointer)
        if there != pointer and _is_wrong(said.at(there), expected, char)
    ]
    yield from themselves if expected in ("array", "object") and themselves else inside or themselves


def _is_wrong(value: Json, expected: str, char: str) -> bool:
    """Whether a value is not of the expected type, and begins with the character found where that is named."""
    if value is MISSING or (expected and _fits(value, expected)):
        return False
    return not char or json.dumps(value)[:1] == char


def _mismatch(said: Said, param: str, places: Sequence[str], expected: str, message: str, got: str = "") -> Violation:
    pointer = places[0] if places else ""
    there = said.at(pointer)
    return said.violation(
        "TYPE_MISMATCH", message, param=param, pointer=pointer, places=list(places), expected=expected,
        got=got or kind_of(there), value=there if isinstance(there, (str, int, float, bool)) else None,
    )  # fmt: skip


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


def _fits(value: Json, expected: str) -> bool:
    kind = kind_of(value)
    return kind in (expected, "null") or (expected == "number" and kind == "integer")


def _selector(said: Said) -> Iterator[Violation]:
    query = said.request.query
    label = _FIELD_LABEL.search(said.text)
    if label is not None:
        yield said.violation(
            "SELECTOR", said.text, param="fieldSelector", pointer="/query/fieldSelector",
            value=label["label"] or label["quoted"], supported=_only(said.text),
        )  # fmt: skip
    elif "labelSelector" in query and _UNSELECTED.search(said.text) is not None:
        yield said.violation(
            "SELECTOR", said.text, param="labelSelector", pointer="/query/labelSelector", value=query["labelSelector"]
        )
    elif "fieldSelector" in query and "selector" in said.text:
        yield said.violation(
            "SELECTOR", said.text, param="fieldSelector", pointer="/query/fieldSelector", value=query["fieldSelector"]
        )


def _only(text: str) -> list[str]:
    _, _, rest = text.partition("only ")
    return re.findall(r'"([^"]*)"', rest)


def _kind(said: Said) -> Iterator[Violation]:
    text, body = said.text, said.request.body
    handled = _HANDLED.match(text)
    if (found := _KIND_UNKNOWN.search(text)) is not None:
        version = f"{found['version']}"
        yield said.violation(
            "KIND_UNKNOWN", text, param="kind", pointer="/body/kind", got=found["kind"], value=found["kind"],
            expected=handled["expected"] if handled else "", profile=version,
        )  # fmt: skip
    elif (found := _KIND_OTHER.search(text) or _KIND_DATA.search(text)) is not None:
        yield said.violation(
            "KIND_MISMATCH", text, param="kind", pointer="/body/kind", got=found["got"], expected=found["expected"],
            value=found["got"],
        )  # fmt: skip
    elif (found := _API_VERSION.search(text)) is not None:
        yield said.violation(
            "VERSION_MISMATCH", text, param="apiVersion", pointer="/body/apiVersion", got=found["got"],
            expected=found["expected"], value=found["got"],
        )  # fmt: skip
    elif (
        "Object 'Kind' is missing" in text
        or "Object 'apiVersion' is missing" in text
        or ((found := _KIND_TYPE.search(text)) is not None and not any(words in text for words in _UNPARSED))
    ):
        missing = "apiVersion" if "'apiVersion'" in text or (isinstance(body, Mapping) and "kind" in body) else "kind"
        found = _KIND_TYPE.search(text)
        yield said.violation(
            "KIND_MISSING", text, param=missing, pointer=f"/body/{missing}", expected=found["expected"] if found else ""
        )


def _identity(said: Said) -> Iterator[Violation]:
    text, metadata = said.text, "/body/metadata"
    if (found := _NAME_OTHER.search(text)) is not None:
        yield said.violation(
            "NAME_MISMATCH", text, param="metadata.name", pointer=f"{metadata}/name", got=found["got"],
            expected=found["expected"], value=found["got"],
        )  # fmt: skip
    elif (found := _NAMESPACE_OTHER.search(text)) is not None:
        there = said.at(f"{metadata}/namespace")
        path = _NAMESPACE_PATH.search(said.request.path)
        got = there if isinstance(there, str) else found["got"] or ""
        yield said.violation(
            "NAMESPACE_MISMATCH", text, param="metadata.namespace", pointer=f"{metadata}/namespace", got=got, value=got,
            expected=path[1] if path else found["expected"] or "",
        )  # fmt: skip
    elif re.search(r"name must be provided|^name is required|unable to find api field.*metadata", text):
        yield said.violation("NAME_REQUIRED", text, param="metadata.name", pointer=f"{metadata}/name")
    elif "resourceVersion should not be set on objects to be created" in text:
        there = said.at(f"{metadata}/resourceVersion")
        yield said.violation(
            "RESOURCE_VERSION_SET", text, param="metadata.resourceVersion", pointer=f"{metadata}/resourceVersion",
            value=there if isinstance(there, str) else None,
        )  # fmt: skip


def _patch(said: Said) -> Iterator[Violation]:
    if said.request.method != "PATCH":
        return
    text = said.text
    if re.search(r"patch|jsonpatch|cannot unmarshal|our request due to an error", text, re.I) or not text:
        yield said.violation(
            "PATCH_REJECTED", text, param=said.request.headers.get("content-type", ""), pointer="/body"
        )
