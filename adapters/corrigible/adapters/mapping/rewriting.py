"""A request of one operation as a request of another one, by the mapping between the two.

Every value that the caller sent has a fate: it is placed, or it is told as lost. Knows: mappings, requests. Does not
know: which API it is, what is served, what is suggested.

A read that is made by POST beside it: `GET /flow_runs` where the API has `POST /flow_runs/filter`.
Made from the description alone, for one request.

Which places of a request a map may write, and which headers are never read: names alone decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from corrigible.adapters.operation import Operations
from corrigible.rules.budget import spend
from corrigible.rules.lookup_headers import makes_another_request
from corrigible.rules.pointer import MISSING, escape, segments, to_pointer, value_at
from corrigible.schema.cache import cached
from corrigible.schema.document import (
    BODILESS,
    CREDENTIALS,
    UNDOCUMENTED,
    header_problem,
    is_credential_name,
    is_method,
    is_path,
    scalar_text,
)
from corrigible.schema.edit import same_json, same_text
from corrigible.schema.exchange import Json, Protocol, Request

from .conversion import convert
from .mapping import Constant, Equivalence, Evidence, FieldMapping, OperationMapping, OperationName

_WORDS: Final = re.compile(r"[_.-]+")
_CREDENTIAL_WORDS: Final = frozenset(
    {
        *("auth", "authentication", "authorization", "cookie", "token", "secret", "pass", "passwd", "password", "pwd"),
        *("passphrase", "passcode", "pin", "otp", "totp", "signature", "sig", "hmac", "key", "apikey", "credential"),
        *("credentials", "session", "sid", "jwt", "jws", "assertion", "dpop", "csrf", "xsrf", "bearer", "ticket"),
        *("nonce", "cert", "certificate", "saml", "oauth", "login"),
    }
)
_CREDENTIAL_PART: Final = re.compile(r"token|secret|passw|apikey|session|credential|signature|cookie|jwt|csrf|xsrf")
"""Of names that are written in one word: `authtoken`."""
_FRAMING: Final = frozenset({"keep-alive", "proxy-connection", "te", "trailer", "accept-encoding"})
_METHOD_NAME: Final = re.compile(
    r"(?i)[_$!@.]+(?:http[_-]?)?(?:method|verb)|(?:x[_-]?)?_*http[_-]?(?:method|verb)(?:[_-]?override)?"
    r"|(?:x[_-]?)?(?:http[_-]?)?(?:method|verb)[_-]?override"
)
"""Names in a query or a form by which servers take another method: `_method` (Rails, Laravel), `_HttpMethod`."""
_TOP: Final = frozenset({"path", "query", "header", "body"})


@cached(1024)
def is_credential_header(name: str) -> bool:
    """Whether a header is a credential, or is called like one: `DPoP`, `X-Shop-Pass`. An idempotency key is none."""
    low = name.lower()
    words = set(_WORDS.split(low))
    if "idempotency" in words:
        return False
    is_known = low in CREDENTIALS or (low in UNDOCUMENTED and low not in _FRAMING) or is_credential_name(low)
    return is_known or not _CREDENTIAL_WORDS.isdisjoint(words) or _CREDENTIAL_PART.search(low) is not None


def target_problem(target: str) -> str:
    """Return why a map may not write a place of a request, empty where it may."""
    place, *names = segments(target) or [""]
    if place not in _TOP:
        return "begins with none of /path, /query, /header and /body"
    if place == "header":
        return _header_problem(names)
    if any(is_method_name(name) for name in names[:1]):
        return "makes the call another one by its method: write the method of the target"
    if place == "query" and names and is_credential_name(names[0]):
        return "says who calls: credentials are the caller's own"
    return ""


def may_carry(source: str, target: str) -> bool:
    """Whether a map may take an argument of one place to the other: a header's value goes to headers alone."""
    if source == target:
        return True
    return (not source.startswith("/header/") or target.startswith("/header/")) and not target_problem(target)


def _header_problem(names: list[str]) -> str:
    if len(names) != 1 or names[0] == "*":
        return "names no header: write /header/NAME"
    if makes_another_request(names[0]) or is_credential_header(names[0]) or is_method_name(names[0]):
        return "makes the call another one, or says who calls: a map sets no such header"
    if header_problem({names[0]: ""}):
        return "has no valid name of a header"
    return ""


def is_method_name(name: str) -> bool:
    """Whether servers take the value of a member of this name as the method of a call."""
    return _METHOD_NAME.fullmatch(name) is not None


VARIABLE: Final = re.compile(r"\{\+?([^{}]+)\}")
_UNQUOTED: Final = "!$&'()*+,;=:@~"


def filled(template: str, values: Mapping[str, str]) -> tuple[str, bool]:
    """Return a path with the values of its variables, and whether some are lacking."""
    lacking = [name for name in VARIABLE.findall(template) if not values.get(name)]

    def written(match: re.Match[str]) -> str:
        value = values.get(match[1], "")
        safe = f"{_UNQUOTED}/" if match[0].startswith("{+") else _UNQUOTED
        return quote(value, safe=safe) if value else match[0]

    return VARIABLE.sub(written, template), bool(lacking)


def pattern_of(path: str) -> str:
    """Return a regular expression of the paths that a template with some variables left stands for."""
    literal = (re.sub(r"[.*+?^${}()|\[\]\\]", r"\\\g<0>", part) for part in VARIABLE.split(path)[::2])
    return f"^{'[^/]+'.join(literal)}$"


_ANY: Final = "*"
_MOST_ASKED: Final = 8
_OF_LISTS: Final = frozenset({"to list", "only item"})
"""Conversions of a list as a whole."""
_A_LEAF: Final = 12
"""Steps: it takes about as many microseconds."""
_LEAVES_A_STEP: Final = 8
"""Of those that are only counted."""


class Rewritten(NamedTuple):
    """What became of a request."""

    request: Request
    """Of a path that lacks values, the template has its variables still."""
    lost: tuple[str, ...]
    """Pointers into the request document to values that have no place in it."""
    lost_variables: tuple[str, ...]
    """Variables of the source's path whose values have no place in it."""
    asked: tuple[str, ...]
    """Pointers into the request document of what the target needs and nothing gives."""
    kept: int
    """How many of the caller's values have a place."""
    is_sure: bool
    """Whether all that a body says was seen, or all of it goes along as it is."""
    path_values: Mapping[str, str]
    """The values of the variables of the target's path."""
    added: Mapping[str, Constant] = MappingProxyType({})
    """The map's constants that stand in it, by pointers into the request document."""
    leaves_credential: bool = False
    """Whether the map has another place for a credential, which stays in its header; then it is not sure."""


def rewritten(mapping: OperationMapping, request: Request, variables: Mapping[str, str]) -> Rewritten | None:
    """Return the request as one of the mapping's target; `variables` are those of its path, decoded.

    None where the two are the same request, or the target's path cannot be written.
    """
    building = _Building(mapping, request)
    for name, value in variables.items():
        building.place(("path", name), (), value)
    for part, whole in (("query", dict(request.query)), ("body", request.body)):
        if part == "body" and building.takes_body_as_it_is(whole):
            continue
        for leaf in _leaves(whole, (part,)):
            building.place(leaf.path, leaf.kinds, leaf.value)
    headers = dict(request.headers)
    for name in building.named_headers:
        if name in headers:
            building.place(("header", name), (), headers.pop(name))
    return building.result(headers)


class _Leaf(NamedTuple):
    """A value without members, and how it is reached."""

    path: tuple[str, ...]
    kinds: tuple[bool, ...]
    """Of each segment but the first: whether it is an index of a list."""
    value: Json


def _leaves(value: Json, path: tuple[str, ...], kinds: tuple[bool, ...] = ()) -> Iterator[_Leaf]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves(inner, (*path, str(name)), (*kinds, False))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*path, str(index)), (*kinds, True))
    elif len(path) > 1 or (value is not None and not isinstance(value, Mapping | list)):
        yield _Leaf(path, kinds, value)


def _count_leaves(value: Json) -> int:
    count, open_ = 0, [value]
    while open_:
        here = open_.pop()
        if isinstance(here, Mapping | list) and here:
            inner = here.values() if isinstance(here, Mapping) else here
            spend(len(here) // _LEAVES_A_STEP)
            open_ += inner
        else:
            count += 1
    return count


@dataclass(slots=True)
class _Node:
    """A place of the source, of those that a mapping names."""

    inner: dict[str, _Node] = field(default_factory=dict)
    mappings: list[FieldMapping] = field(default_factory=list)
    is_lost: bool = False

    @property
    def is_named(self) -> bool:
        return self.is_lost or bool(self.mappings)


def _tree(mapping: OperationMapping) -> _Node:
    root = _Node()
    for one in mapping.arguments:
        _node(root, one.source).mappings.append(one)
    for pointer in mapping.lost_arguments:
        _node(root, pointer).is_lost = True
    return root


def _node(root: _Node, pointer: str) -> _Node:
    parts = segments(pointer)
    for part in map(str.lower, parts) if parts[:1] == ["header"] else parts:
        root = root.inner.setdefault(part, _Node())
    return root


class _Match(NamedTuple):
    node: _Node
    depth: int
    """How many segments of the leaf's path lead to it."""
    items: tuple[int, ...]
    """The depths of the segments that stand for a `*`."""


class _Building:
    """The target's request while the values of the source's are placed in it."""

    def __init__(self, mapping: OperationMapping, request: Request) -> None:
        self._mapping, self._request = mapping, request
        self._tree = _tree(mapping)
        self._parts: dict[Any, Any] = {}
        """What is placed: objects by text, lists by number."""
        self._lost: dict[str, None] = {}
        self._lost_variables: list[str] = []
        self._whole: set[tuple[str, ...]] = set()
        """Places that were converted with all that is below."""
        self._kept = 0
        body = self._tree.inner.get("body")
        # A JSON patch says what it changes in its texts, and a message without descriptors is not read.
        is_unread = isinstance(request.body, list) or (request.protocol is Protocol.GRPC and request.body is None)
        self._is_sure = not is_unread or (body is not None and bool(body.mappings) and not body.inner)
        named = self._tree.inner.get("header", _Node()).inner
        self.named_headers = tuple(name for name in named if not is_credential_header(name))
        """Credentials stay as they are, and their names are not told."""
        self._leaves_credential = any(
            is_credential_header(name)
            and (name in request.headers or name in UNDOCUMENTED)  # these are never seen
            and any(one.target.lower() != f"/header/{name}" for one in node.mappings)
            for name, node in named.items()
        )

    def takes_body_as_it_is(self, body: Json) -> bool:
        """Place a body as a whole, where the map leaves all of it where it is; return whether it does."""
        mapping, here = self._mapping, self._tree.inner.get("body")
        if not isinstance(body, Mapping | list) or not body or here is None or here.inner or len(here.mappings) != 1:
            return False
        only = here.mappings[0]
        added = [*mapping.needed, *(one.target for one in mapping.constants)]
        added += [one.target for one in mapping.arguments if one is not only]
        is_moved = only.target != "/body" or bool(only.conversion) or bool(only.values) or here.is_lost
        if is_moved or any(one.startswith("/body") for one in added) or not self._set(["body"], body):
            return False
        self._kept += _count_leaves(body)
        return True

    def place(self, path: tuple[str, ...], kinds: tuple[bool, ...], value: Json) -> None:
        """Give a value of the caller its place, or count it as lost."""
        spend(_A_LEAF)
        match = self._match(path)
        if match is None or match.node.is_lost or not self._placed(match, path, kinds, value):
            self._lose(path)

    def _match(self, path: tuple[str, ...]) -> _Match | None:
        """Return the longest pointer that leads to a value or to what holds it."""
        best: _Match | None = None
        open_: list[_Match] = [_Match(self._tree, 0, ())]
        for depth, part in enumerate(path):
            following = []
            for node, _, items in open_:
                if part in node.inner:
                    following.append(_Match(node.inner[part], depth + 1, items))
                if depth and _ANY in node.inner and part != _ANY:
                    following.append(_Match(node.inner[_ANY], depth + 1, (*items, depth)))
            open_ = following
            best = next((one for one in open_ if one.node.is_named), best)
            if not open_:
                break
        return best

    def _placed(self, match: _Match, path: tuple[str, ...], kinds: tuple[bool, ...], value: Json) -> bool:
        for one in match.node.mappings:
            here, rest = value, path[match.depth :]
            if rest and (one.conversion or one.values):
                if path[: match.depth] in self._whole:
                    return True
                here, rest = self._sent(path[: match.depth]), ()
            converted = _converted(one, here, is_text=path[0] in ("path", "query", "header") or self._request.form)
            target = None if converted is MISSING else self._target(one, match, path, kinds)
            if (
                target is None
                or _is_exposed(path, [*target, *rest])
                or not self._set([*target, *_keys(path, kinds, match.depth, len(rest))], converted)
            ):
                continue
            if not rest and len(path) > match.depth:
                self._whole.add(path[: match.depth])
            self._kept += 1
            return True
        return False

    def _sent(self, path: tuple[str, ...]) -> Json:
        here: Json = self._request.query if path[0] == "query" else self._request.body
        for part in path[1:]:
            here = here[int(part)] if isinstance(here, list) else here[part]
        return here

    def _target(
        self, one: FieldMapping, match: _Match, path: tuple[str, ...], kinds: tuple[bool, ...]
    ) -> list[str | int] | None:
        """Return where a value goes, None where its `*` do not fit: the first of those too many are only items."""
        wanted = segments(one.target)
        places = sum(part == _ANY for part in wanted)
        surplus = len(match.items) - places
        if surplus < 0 or any(len(self._sent(path[:depth])) != 1 for depth in match.items[:surplus]):
            return None
        indexes = iter(match.items[surplus:])
        out: list[str | int] = []
        for part in wanted:
            if part != _ANY:
                out.append(int(part) if part.isdecimal() and len(part) < 4 and out[:1] == ["body"] else part)
                continue
            depth = next(indexes)
            out.append(int(path[depth]) if kinds[depth - 1] else path[depth])
        return out

    def _set(self, place: Sequence[str | int], value: Json) -> bool:
        """Put a value at a place. Return whether it was free, or has this value already."""
        value = self._as_text(place, value)
        if value is MISSING:
            return False
        here: Any = self._parts
        for part in place[:-1]:
            here = here.setdefault(part, {})
            if not isinstance(here, dict) or isinstance(here, _Taken):
                return False
        held = here.get(place[-1], MISSING)
        if held is MISSING:
            here[place[-1]] = _Taken(value)
            return True
        return isinstance(held, _Taken) and same_json(held.value, value)

    def _as_text(self, place: Sequence[str | int], value: Json) -> Json:
        """Return a value as its part of a request has it; MISSING where it cannot stand there."""
        if place[0] == "body" or len(place) < 2:
            return value
        if place[0] == "query" and isinstance(value, list) and value:
            texts = [self._as_text(place, one) for one in value if not isinstance(one, list)]
            return texts if len(texts) == len(value) and MISSING not in texts else MISSING
        if value is None or isinstance(value, Mapping | list) or len(place) > 2:
            return MISSING
        text = scalar_text(value)
        is_named = place[0] != "path" or (bool(text) and place[1] in VARIABLE.findall(self._mapping.target.path))
        return text if is_named else MISSING

    def _lose(self, path: tuple[str, ...]) -> None:
        if path[0] == "path":
            self._lost_variables.append(path[1])
        else:
            self._lost[_in_document(path)] = None

    def result(self, headers: dict[str, str]) -> Rewritten | None:
        added: dict[str, Constant] = {}
        for one in self._mapping.constants:
            in_body = one.target.startswith("/body")
            if in_body and self._request.body is None and self._mapping.target.method in BODILESS:
                continue
            if any(value_at(self._request, pointer) not in (MISSING, None) for pointer in one.unless):
                continue
            for place in self._free_places(segments(one.target), self._parts):
                if self._set(place, one.value):
                    added[_in_document(place)] = one
        document = {name: _finished(part) for name, part in self._parts.items()}
        path_values = {str(name): scalar_text(value) for name, value in (document.get("path") or {}).items()}
        body = document.get("body")
        headers |= {str(name).lower(): scalar_text(value) for name, value in (document.get("header") or {}).items()}
        if body is not None and self._request.body is None and "content-type" not in headers:
            headers["content-type"] = "application/json"
        if body is None and self._request.body == {} and self._mapping.target.method not in BODILESS:
            body = {}
        query = {str(name): value for name, value in (document.get("query") or {}).items()}
        target, is_rpc = self._mapping.target, self._request.protocol is Protocol.GRPC
        path, lacking = filled(target.path, path_values)
        asked = (["/path"] if lacking else []) + self._asked(document)
        method = target.path if is_rpc else target.method
        form = self._request.form and self._request.body is not None
        request = Request(method, "" if is_rpc else path, query, headers, body, form, self._request.files)
        if request == self._request or (is_rpc and target.method != "POST"):
            return None
        return Rewritten(
            request,
            tuple(self._lost),
            tuple(self._lost_variables),
            tuple(asked[:_MOST_ASKED]),
            self._kept,
            self._is_sure and not self._leaves_credential,
            path_values,
            added,
            self._leaves_credential,
        )

    def _asked(self, document: Mapping[str, Json]) -> list[str]:
        """Return the places of what the target needs, and the request does not have."""
        out = []
        for pointer in self._mapping.needed:
            parts = segments(pointer)
            if parts[0] == "path":
                continue
            for place in self._free_places(parts, self._parts):
                out.append(_in_document(place))
        return out

    def _free_places(self, wanted: Sequence[str], node: Any, walked: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield where nothing stands yet: at each item there is for a `*`, and not below what the caller left out."""
        if isinstance(node, _Taken):
            return
        if len(wanted) == 1:
            if wanted[0] != _ANY and wanted[0] not in node:
                yield (*walked, wanted[0])
            return
        for key in list(node) if wanted[0] == _ANY else [wanted[0]]:
            if key in node:
                yield from self._free_places(wanted[1:], node[key], (*walked, key))
            elif not walked:
                yield (*walked, *wanted)


class _Taken(dict[Any, Any]):
    """A value that was placed as a whole."""

    def __init__(self, value: Json) -> None:
        super().__init__()
        self.value = value


def _in_document(place: Sequence[Any]) -> str:
    """Return the pointer into the request document of a place as maps have it."""
    return to_pointer(("headers" if place[0] == "header" else place[0], *place[1:]))


def _is_exposed(path: Sequence[str], target: Sequence[str | int]) -> bool:
    """Whether a header would leave the headers, or what is named like a credential its place, but inside a body.

    An unknown name of a header may be that of a credential: a path, a query and a body are stored and shown.
    """
    there = str(target[0])
    if path[0] == "header":
        return there != "header"
    is_moved = [str(part) for part in target] != list(path) and (path[0], there) != ("body", "body")
    return is_moved and is_credential_name(path[-1])


def _converted(one: FieldMapping, value: Json, *, is_text: bool) -> Json:
    """Return a value as the target has it, MISSING where that would lose something."""
    for pair in one.values:
        if (same_text if is_text and not isinstance(value, dict | list) else same_json)(pair.source, value):
            return pair.target
    if one.values and isinstance(value, list) and value:
        return _converted_items(one, value, is_text=is_text)
    return convert(value, one.conversion)


def _converted_items(one: FieldMapping, items: list[Json], *, is_text: bool) -> Json:
    """Return a list with each item as the target calls it: `?status=open&status=done`."""
    if one.conversion in _OF_LISTS:
        whole = convert(items, one.conversion)
        return (
            whole if whole is MISSING else _converted(one.model_copy(update={"conversion": ""}), whole, is_text=is_text)
        )
    out = [_converted(one, item, is_text=is_text) for item in items]
    return MISSING if any(item is MISSING for item in out) else out


def _keys(path: tuple[str, ...], kinds: tuple[bool, ...], depth: int, count: int) -> list[str | int]:
    """Return the rest of a way as keys: numbers for items of lists."""
    return [int(path[at]) if kinds[at - 1] else path[at] for at in range(depth, depth + count)]


def _finished(node: Any) -> Json:
    if isinstance(node, _Taken):
        return node.value
    if node and all(isinstance(key, int) for key in node):
        return [_finished(node[key]) for key in sorted(node)]
    return {str(key): _finished(inner) for key, inner in node.items()}


WORDS: Final = ("filter", "search", "query", "list")
"""Last segments of paths whose POST reads many of what the path before names."""
_CONVERSIONS: Final = {
    "string": "",
    "integer": "to integer",
    "number": "to number",
    "boolean": "to boolean",
    "array": "to list",
}


def sibling_path(operations: Operations, request: Request) -> str:
    """Return the path of the sibling of a read, as it is written; empty without one."""
    if request.method != "GET" or request.body is not None or operations.ends_of_posts.isdisjoint(WORDS):
        return ""
    plain = request.path.rstrip("/")
    spend(len(WORDS))
    for word in WORDS:
        if word not in operations.ends_of_posts:
            continue
        path = f"{plain}/{word}"
        match = operations.find("POST", path)
        if match is not None and word not in match[1].values():
            return path
    return ""


def reading_sibling(request: Request, path: str, facts: Json) -> OperationMapping:
    """Return the mapping to a sibling; `facts` are `{required, properties}` of what it takes.

    What the query names goes into the body where the sibling has a member of that name and kind.
    """
    properties = facts.get("properties", {}) if isinstance(facts, Mapping) else {}
    required = facts.get("required", ()) if isinstance(facts, Mapping) else ()
    arguments = []
    for name in request.query:
        schema = properties.get(name)
        conversion = _CONVERSIONS.get(_kind(schema)) if isinstance(schema, Mapping) else None
        if conversion is not None:
            arguments.append(FieldMapping(source=f"/query/{name}", target=f"/body/{name}", conversion=conversion))
    return OperationMapping(
        source=OperationName(api="", method="GET", path=request.path),
        target=OperationName(api="", method="POST", path=path),
        equivalence=Equivalence.SAME_WITH_CONVERSION,
        score=0.5,
        arguments=tuple(arguments),
        needed=tuple(f"/body/{name}" for name in required),
        evidence=(Evidence(kind="path", score=0.5, note="the description has the one beside the other"),),
    )


def _kind(schema: Mapping[str, Json]) -> str:
    """Return JSON Schema's word for what a member takes, without null; empty where it may be several."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        kinds = [one for one in kinds if one != "null"]
        return str(kinds[0]) if len(kinds) == 1 else ""
    if kinds is None:
        choices = [one for name in ("anyOf", "oneOf") for one in schema.get(name, ()) if isinstance(one, Mapping)]
        inner = {_kind(one) for one in choices if one.get("type") != "null"}
        return inner.pop() if len(inner) == 1 else ""
    return str(kinds)


def is_sendable(before: Request, after: Request) -> bool:
    """Whether readers take a request that was made of another one: its method or path, and the headers that changed."""
    changed = {name: value for name, value in after.headers.items() if before.headers.get(name) != value}
    is_named = is_method(after.method) and (after.path == before.path or is_path(after.path))
    return is_named and header_problem(changed) is None


def edit_operations(before: Request, after: Request, *, skip_path: bool = False) -> list[dict[str, Json]]:
    """Return the operations of RFC 6902 that make one request another one, behind tests of method and path."""
    ops: list[dict[str, Json]] = []
    for place, old, new in (("/method", before.method, after.method), ("/path", before.path, after.path)):
        if old or new:
            ops.append({"op": "test", "path": place, "value": old})
        if old != new and not (skip_path and place == "/path"):
            ops.append({"op": "replace", "path": place, "value": new})
    for place, old_part, new_part in (
        ("/query", dict(before.query), dict(after.query)),
        ("/headers", dict(before.headers), dict(after.headers)),
        ("/body", before.body, after.body),
    ):
        ops += _differences(place, old_part, new_part)
    return ops


def _differences(place: str, old: Json, new: Json) -> Iterator[dict[str, Json]]:
    spend()
    if same_json(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for name in old:
            if name not in new:
                yield {"op": "remove", "path": f"{place}/{escape(name)}"}
        for name, value in new.items():
            inner = f"{place}/{escape(name)}"
            if name not in old:
                yield {"op": "add", "path": inner, "value": value}
            else:
                yield from _differences(inner, old[name], value)
    elif old is None and place == "/body":
        yield {"op": "add", "path": place, "value": new}
    elif new is None and place == "/body":
        yield {"op": "replace", "path": place, "value": None}
    else:
        yield {"op": "replace", "path": place, "value": new}
