"""What a request document may contain, for writers and readers.

A document that came from feedback is sent with the caller's credentials, so a path must stay on the
caller's host and nothing may smuggle a second header line.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote_to_bytes

from .cache import cached
from .exchange import Json
from .printable import without_unseen

MEMBERS: Final = ("method", "path", "query", "headers", "body")

CREDENTIALS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})
"""Headers that no suggestion reads or changes. In lower case."""

SENDERS_OWN: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade"})
"""Headers for routing and framing: no suggestion sets them."""

UNDOCUMENTED: Final = frozenset(
    {
        *CREDENTIALS,
        *SENDERS_OWN,
        *("x-api-key", "api-key", "apikey", "x-auth-token", "x-amz-security-token", "x-goog-api-key"),
        *("x-access-token", "x-vault-token", "x-csrf-token", "private-token"),
        *("keep-alive", "proxy-connection", "te", "trailer", "accept-encoding"),
    }
)
"""Headers that are no part of the request document: credentials never enter it, framing says nothing of the wish."""

_CREDENTIAL: Final = re.compile(
    r"(?i)(?:^|[_.-])(?:api|access|auth|private|session|secret|security|csrf|xsrf|bearer|vault)[_-]?(?:key|token|secret)$"
    r"|(?:^|[_.-])(?:apikey|authorization|passw(?:or)?d|secret)$"
)


@cached(1024)
def is_credential_name(name: str) -> bool:
    """Whether a header or a parameter of the query has the usual name of a credential: `X-Shop-Api-Key`, `api_key`."""
    return name.lower() in CREDENTIALS or _CREDENTIAL.search(name) is not None


BODILESS: Final = frozenset({"GET", "HEAD", "DELETE"})
"""Methods whose requests rarely have a body: their parameters are in the query."""

_METHOD = re.compile(r"[A-Z][A-Z-]{0,19}")
_PATH = re.compile(r"/(?!/)[^\x00-\x1f\x7f-\x9f?#\\]*")
_STRANGE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\\]|//|/(?:\s+|\s*\.\s*(?:\.\s*)?)(?:[;?#][^/]*)?(?:/|$)|/;|%[uU][0-9A-Fa-f]{4}"
)
"""What servers resolve in a path, or treat as its end: empty segments, and dot segments, also with blanks and with
parameters; and escapes that are none of RFC 3986."""
_ALIKE = re.compile(r"[./\\%?#;]")
_LOOK_ALIKES = frozenset("\u2044\u2215\u2216\u29f5\u29f8\u29f9\u2571\u2572\u3002\uff61\u06d4\u0701\u0702")
"""What is neither a dot nor a slash in any form of Unicode, and looks like one."""
_DECODINGS: Final = 3
"""Each proxy and server unescapes a path once: the second one reads `%252e` as a dot."""
_GRPC_METHOD = re.compile(r"/[A-Za-z_][\w.]*/[A-Za-z_]\w*", re.ASCII)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")


@cached(4096)
def pointer_parts(pointer: str) -> tuple[str, ...] | None:
    """Split an RFC 6901 pointer; return None if it is malformed."""
    if pointer == "":
        return ()
    if not pointer.startswith("/") or re.search("~(?![01])", pointer):
        return None
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/"))


def to_pointer(parts: Iterable[str | int]) -> str:
    """Join the parts of an RFC 6901 pointer: the inverse of `pointer_parts`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


MISSING: Final = object()
"""Stands where nothing is: `None` is a value."""


def value_at(document: Json, parts: Iterable[str]) -> Json:
    """Return the value that the parts of a pointer lead to, or `MISSING`."""
    for part in parts:
        if isinstance(document, Mapping) and part in document:
            document = document[part]
        elif isinstance(document, list) and is_index(part) and int(part) < len(document):
            document = document[int(part)]
        else:
            return MISSING
    return document


class Leaf(NamedTuple):
    """A value without members, and where it stands."""

    pointer: str
    value: Json


def leaves(value: Json, pointer: str = "") -> Iterator[Leaf]:
    """Yield the values without members, in order; an empty list or object is one of its own."""
    waiting = [Leaf(pointer, value)]
    while waiting:
        leaf = waiting.pop()
        at, node = leaf
        if isinstance(node, Mapping) and node:
            inner = [Leaf(at + to_pointer((name,)), one) for name, one in node.items()]
        elif isinstance(node, list) and node:
            inner = [Leaf(f"{at}/{index}", one) for index, one in enumerate(node)]
        else:
            yield leaf
            continue
        waiting += reversed(inner)


def texts(value: Json) -> Iterator[str]:
    """Yield each text and number inside a value, as a text."""
    inner = (one for _, one in leaves(value))
    return (scalar_text(one) for one in inner if one is not None and not isinstance(one, bool | Mapping | list))


def is_index(part: str) -> bool:
    """Whether a part is an array index (RFC 6901 section 4), and no number that takes long to read."""
    return part.isascii() and part.isdecimal() and len(part) < _LONGEST_INDEX and str(int(part)) == part


_LONGEST_INDEX: Final = 10


@cached(4096)
def pointer_problem(pointer: str) -> str | None:
    """Return why a suggestion must not point there; None if it may."""
    parts = pointer_parts(pointer)
    if parts is None:
        return "is no JSON pointer"
    if not parts or parts[0] not in MEMBERS:
        return "points to no member of the request document"
    if parts[0] in ("method", "path") and len(parts) > 1:
        return f"points into {parts[0]}, which is text"
    if parts[0] == "headers" and (len(parts) != 2 or parts[1].lower() in CREDENTIALS):
        return "points to no header that may change"
    return None


def scalar_text(scalar: object) -> str:
    """Return a scalar as text, as in forms, queries and headers."""
    if isinstance(scalar, str):
        return scalar
    if isinstance(scalar, bool):
        return "true" if scalar else "false"
    return "" if scalar is None else str(scalar)


def is_method(method: str) -> bool:
    """True for an HTTP method, or the full name of a gRPC method: `/package.Service/Method`."""
    return (_METHOD.fullmatch(method) or _GRPC_METHOD.fullmatch(method)) is not None


def is_path(path: str) -> bool:
    """True for a path on the same host, without a query; gRPC documents have the empty one.

    It names one place however often its escapes are undone: see `readings`.
    """
    return path == "" or (_PATH.fullmatch(path) is not None and bool(readings(path)))


@cached(4096)
def readings(path: str) -> tuple[str, ...]:
    """Return a path with its escapes undone never, once, and so on; empty if a server may read another place in it.

    That is one with dot segments, empty segments, backslashes, controls, what looks like a dot or a slash, invisible
    letters, escapes that are no UTF-8, and escapes without an end.
    """
    found = [path]
    for _ in range(_DECODINGS + 1):
        if _is_strange(found[-1]):
            return ()
        try:
            plain = unquote_to_bytes(found[-1]).decode()
        except UnicodeDecodeError:
            return ()
        if plain == found[-1]:
            return tuple(found)
        found.append(plain)
    return ()


def _is_strange(path: str) -> bool:
    if _STRANGE.search(path) is not None:
        return True
    if path.isascii():
        return False
    letters = {one for one in path if not one.isascii()}
    folded = unicodedata.normalize("NFKC", "\n".join(letters))
    return without_unseen(path) != path or not _LOOK_ALIKES.isdisjoint(letters) or _ALIKE.search(folded) is not None


def header_problem(headers: Mapping[str, object]) -> str | None:
    """Return what is wrong with the headers of a document; None if they are valid."""
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            return "a header name that is no token"
        if name.lower() in CREDENTIALS:
            return f"the credential {name.lower()}"
        if name.lower() in SENDERS_OWN:
            return f"{name.lower()}, which is the sender's own"
        if not isinstance(value, str) or not _HEADER_VALUE.fullmatch(value):
            return f"no valid value for header {name.lower()}"
    return None


def form_pairs(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Flatten a document into form fields: `{"a": {"b": [1]}}` gives `("a[b][0]", "1")`."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from form_pairs(inner, f"{name}[{key}]" if name else str(key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from form_pairs(inner, f"{name}[{index}]" if name else str(index))
    else:
        yield name, scalar_text(value)


def query_pairs(query: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the query's pairs as they were sent: a list is a repeated name."""
    for name, value in query.items():
        if isinstance(value, list) and not any(isinstance(inner, Mapping | list) for inner in value):
            yield from ((name, scalar_text(inner)) for inner in value)
        else:
            yield from form_pairs(value, name)


_MOST_FIELDS: Final = 2000
_DEEPEST: Final = 20
_BRACKET: Final = re.compile(r"\[([^\[\]]*)\]")


def parameter_segments(name: str) -> list[str]:
    """Split `a[b][0][c]` into its parts; `a[]` keeps an empty last part."""
    head, bracket, _ = name.partition("[")
    return [head, *_BRACKET.findall(name[len(head) :])] if bracket else [name]


def fields(text: str) -> list[tuple[str, str]]:
    """Return names and values in order. Raises ValueError for too many."""
    if "%" not in text and "+" not in text and text.count("&") < _MOST_FIELDS:
        pairs = (part.partition("=") for part in text.split("&") if part)
        return [(name, value) for name, _, value in pairs]
    return parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)


def by_name(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return query parameters under the names they were sent by; one sent several times is a list."""
    out: dict[str, Any] = {}
    for name, value in pairs:
        if name not in out:
            out[name] = value
        elif isinstance(out[name], list):
            out[name].append(value)
        else:
            out[name] = [out[name], value]
    return out


def nested(pairs: Sequence[tuple[str, Json]]) -> dict[str, Any]:
    """Decode `a[b]=1`, `a[]=1` and `a[0][b]=1`. Members numbered from 0 without a gap become arrays.

    No pair is lost: a name that was sent several times is a list, and one that has no place (`a[b]` beside `a`) is a
    member under the name as it was sent.
    """
    if not any("[" in name for name, _ in pairs):
        return by_name(pairs)
    out: dict[str, Any] = {}
    for path, (_, value) in zip(paths(pairs), pairs, strict=True):
        here = out
        for part in path[:-1]:
            here = here.setdefault(part, {})
        here[path[-1]] = value
    return {name: _arrays(value) for name, value in out.items()}


def _arrays(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(str(index) in value for index in range(len(value))):
        return [_arrays(value[str(index)]) for index in range(len(value))]
    return {name: _arrays(inner) for name, inner in value.items()}


def paths(pairs: Sequence[tuple[str, Json]]) -> list[tuple[str, ...]]:
    """Return where `nested` puts each pair: the names and indices that lead there."""
    known: dict[tuple[str, ...], set[str]] = {}
    out = [_numbered(name, known) for name, _ in pairs]
    leaves = set(out)
    for index, path in enumerate(out):
        if any(path[:length] in leaves for length in range(1, len(path))):
            out[index] = (pairs[index][0],)
    times, seen = Counter(out), Counter[tuple[str, ...]]()
    for index, path in enumerate(out):
        if times[path] > 1:
            out[index] = (*path, str(seen[path]))
            seen[path] += 1
    return out


def _numbered(name: str, known: dict[tuple[str, ...], set[str]]) -> tuple[str, ...]:
    """Return the parts of a name; for an empty one the next number that is free beside what is known."""
    if "[" not in name:
        return (name,)
    head, *parts = parameter_segments(name)
    if len(parts) > _DEEPEST or name != head + "".join(f"[{part}]" for part in parts):
        return (name,)
    path: tuple[str, ...] = (head,)
    for part in parts:
        beside = known.setdefault(path, set())
        number = len(beside)
        while part == "":
            part, number = "" if str(number) in beside else str(number), number + 1
        beside.add(part)
        path = (*path, part)
    return path
