"""A small XML document as objects, lists and texts, as a JSON API would write the same.

Names lose their namespace and begin lower-case (`Code` is `code`), an element of nothing but text is that text,
elements of one name are a list, and what only wraps the rest (a root `Error`, a SOAP envelope) is left out.
Knows: XML 1.0. Does not know: document types, entities of documents (a document with either is not read), schemas.
"""

from __future__ import annotations

from typing import Any, Final
from xml.parsers import expat

from corrigible.schema.exchange import Json

_MOST_ELEMENTS: Final = 2000
_DEEPEST: Final = 32
_ITEMS: Final = frozenset(
    {"item", "list-item", "listitem", "li", "element", "entry", "string", "anytype", "member", "error", "i"}
)
"""Names of the elements of a list, whatever the list is called."""
_FAULT: Final = {"faultcode": "code", "faultstring": "message", "reason": "message"}


class _Refused(Exception):
    """The document is none that is read."""


class _Element:
    __slots__ = ("children", "name", "text")

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name = _local(name)
        self.children: list[tuple[str, Json]] = [
            (_local(key), value) for key, value in attributes.items() if not key.startswith("xml") and ":" not in key
        ]
        self.text: list[str] = []

    def value(self) -> Json:
        text = "".join(self.text).strip()
        if not self.children:
            return text
        names = {name for name, _ in self.children}
        if len(names) == 1 and not text and (listed := self._listed(next(iter(names)))) is not None:
            return listed
        members: dict[str, Any] = {}
        for name, value in self.children:
            if name not in members:
                members[name] = value
            elif name == "message" and members[name] == value:
                continue  # some servers write `Message` and `message`, for clients of both kinds
            elif isinstance(members[name], _Several):
                members[name].append(value)
            else:
                members[name] = _Several([members[name], value])
        if text:
            members.setdefault("message", text)
        return {name: list(value) if isinstance(value, _Several) else value for name, value in members.items()}

    def _listed(self, name: str) -> list[Json] | None:
        """Return the elements of `<errors><error/><error/></errors>`."""
        own = self.name.lower()
        is_plural = own in (f"{name.lower()}s", f"{name.lower()}es", f"{name.lower()}list", f"arrayof{name.lower()}")
        if is_plural or (name.lower() in _ITEMS and (name.lower() != "error" or len(self.children) > 1)):
            return [value for _, value in self.children]
        return None


class _Several(list[Json]):
    """Elements of one name."""


def read_xml(body: bytes) -> Json:
    """Return the content of a document, None where it is malformed, too large or has a document type."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    stack: list[_Element] = [_Element("", {})]
    count = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1 + len(attributes)
        if count > _MOST_ELEMENTS or len(stack) > _DEEPEST:
            raise _Refused
        stack.append(_Element(name, attributes))

    def end(_: str) -> None:
        closed = stack.pop()
        stack[-1].children.append((closed.name, closed.value()))

    def refuse(*_: object) -> None:
        raise _Refused

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda text: stack[-1].text.append(text)
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(body, True)
    except (_Refused, expat.ExpatError, ValueError, LookupError):  # an encoding that Python has none for
        return None
    return _unwrapped(*stack[0].children[0])


def _unwrapped(name: str, value: Json) -> Json:
    """Return what a root element wraps."""
    if isinstance(value, list):
        return {name: value}
    if not isinstance(value, dict):
        return value if name in ("string", "message") else {name: value}
    if name == "envelope" and isinstance(value.get("body"), dict) and isinstance(value["body"].get("fault"), dict):
        return _fault(value["body"]["fault"])
    return value


def _fault(fault: dict[str, Json]) -> dict[str, Json]:
    """Return a SOAP fault, of 1.1 (`faultcode`, `faultstring`) or 1.2 (`Code/Value`, `Reason/Text`)."""
    out: dict[str, Json] = {}
    for name, value in fault.items():
        if isinstance(value, dict) and name in ("code", "reason"):
            value = value.get("value" if name == "code" else "text", value)
            if isinstance(value, dict):  # with an attribute, such as xml:lang
                value = value.get("message", value)
        out[_FAULT.get(name, name)] = value
    return out


def _local(name: str) -> str:
    """Return a name without its prefix, and as JSON spells it: `ErrorCode` is `errorCode`, `ID` stays."""
    name = name.rpartition(":")[2]
    return name if name[1:2].isupper() else name[:1].lower() + name[1:]
