"""What no correction does, whoever agreed: touch a credential, or send by another method or path than it shows.

Knows: credentials, overrides of methods and paths, requests before and after a correction as they are written. Does
not know: policies, feedback, which names are names of credentials.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from corrigible.schema.credential_name import (
    alike,
    counts,
    is_given,
    is_of_parts,
    is_secret_header,
    is_secret_name,
    is_secret_parameter,
    names_method,
    names_method_in_form,
    overrides_header,
    plain,
)
from corrigible.schema.document import fields, readings, scalar_text, to_pointer
from corrigible.schema.exchange import Json
from corrigible.schema.printable import without_unseen

Place = tuple[str, ...]
"""`("query", "api_key")`: the part of a request, and the names and indexes that lead to a value."""
Leaf = tuple[Place, str]
"""A place and the text there."""

_DESCRIBING: Final = frozenset({"type", "kind", "method", "scheme", "scope", "scopes", "provider", "algorithm"})
"""Members of an object with the name of a credential that describe it, where their value is a word."""
_NAMING: Final = frozenset({"name", "namespace"})
"""Those that name it: `imagePullSecrets: [{name: ...}]`."""
_WORD: Final = re.compile(r"[A-Za-z]{1,20}(?:[ _./:-]?[A-Za-z]{1,20}){0,5}[-_]?\d{0,3}")
_PAIRED: Final = frozenset(
    {"name", "key", "kind", "type", "field", "header", "variable", "property", "label", "id", "k"}
)
"""Members whose value names what stands beside it: `{"name": "DB_PASSWORD", "value": ...}`."""
_VALUES: Final = re.compile(
    r"(binary|current|default|new|secure|string)?(contents?|data|text|values?)|default|plaintext|secret|string|val|v"
)
_KEYED: Final = frozenset({"api", "auth", "authentication"})
"""Objects whose `key` is a credential."""
_IDENTIFIER: Final = re.compile(r"[^\s=<>]{1,80}")
"""A value that can be a name: `Forgot password` is a title."""
_NAME: Final = re.compile(r"[\w.\-]+")
_SIGN: Final = re.compile(r"[\"'\\\s]{0,80}[=:>]")
"""What gives a value to the name before it: `password = `, `"password":`, `<password>`."""
_USERINFO: Final = re.compile(r"(?:://[^/@\s]{0,500}|//[^/@\s:]{1,200}:[^/@\s]{1,500})@")
_MATRIX: Final = re.compile(r";([^;/=]+)=([^;/]*)")
_OF_PATHS: Final = re.compile(r"(access|api|auth|bearer|csrf|refresh|session)?token|(access|api|auth)key|password|jwt")
"""A segment that says that the next one is a credential, without separators."""
_OPAQUE: Final = re.compile(r"(?=\D*\d).{8,}|.{20,}")
_BOT: Final = re.compile(r"[A-Za-z]*\d+:[\w-]{16,}")
"""A segment that is a credential: `bot123456:...`."""
_SHORTEST: Final = 6
"""Characters of a value that is looked for inside of other texts: a shorter one is part of other words."""
_SHORTEST_ALONE: Final = 3
"""Characters of a value that is looked for as a whole text: `x` is no password."""
_LONG: Final = 16
"""Characters of a cookie's value that identifies somebody, whatever its name."""
_MOST_TEXT: Final = 1 << 20
_ENDING: Final = re.compile(r"\.[A-Za-z0-9]{0,5}$")


class Parts(NamedTuple):
    """The leaves of a request."""

    credentials: list[Leaf]
    others: list[Leaf]
    overrides: list[tuple[str, str]]
    """What has the request handled by another method, path or host, or as somebody else's."""


@dataclass(frozen=True, slots=True)
class Written:
    """The parts of a request as they are written on the wire."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: Json
    names: frozenset[str]
    """Names of credentials that the caller gave, in lower case."""
    form: bool = False
    """Whether the body is a form."""

    def credentials(self) -> list[Leaf]:
        """Return each credential with its place, in an order that tells nothing."""
        return self.parted().credentials

    def parted(self) -> Parts:
        """Return what a guard compares."""
        leaves = list(self._leaves())
        secret = sorted((leaf for leaf, is_secret in leaves if is_secret), key=repr)
        return Parts(secret, [leaf for leaf, is_secret in leaves if not is_secret], self._overrides(leaves))

    def _overrides(self, leaves: Iterable[tuple[Leaf, bool]]) -> list[tuple[str, str]]:
        found = [(name.lower(), value) for name, value in self.headers if overrides_header(name)]
        found += [(name, value) for name, value in self._query() if names_method(name) or names_method_in_form(name)]
        for (place, value), _ in leaves:
            names = place[1:] if place[0] == "body" else ()
            if any(names_method(name) or (self.form and names_method_in_form(name)) for name in names):
                found.append((to_pointer(names)[1:], value))
        return sorted(found)

    def _query(self) -> list[tuple[str, str]]:
        return fields(urlsplit(self.url).query)

    def _leaves(self) -> Iterator[tuple[Leaf, bool]]:
        parts = urlsplit(self.url)
        if "@" in parts.netloc:
            yield (("address",), parts.netloc.rpartition("@")[0]), True
        yield (("path",), unquote(parts.path)), _tells_secret(unquote(parts.path), self.names)
        yield from ((leaf, True) for leaf in _in_path(parts.path, self.names))
        for name, value in self.headers:
            low = name.lower()
            is_secret = is_given(name, self.names) or is_secret_header(name) or _tells_secret(value, self.names)
            yield (("headers", low), value), is_secret
        for name, value in self._query():
            is_secret = is_secret_parameter(name, self.names) or _tells_secret(value, self.names)
            yield (("query", name), value), is_secret
        yield from self._in(self.body, ("body",), is_secret=False)

    def _in(self, value: Json, at: Place, *, is_secret: bool) -> Iterator[tuple[Leaf, bool]]:
        waiting = [(value, at, is_secret)]
        while waiting:
            value, at, is_secret = waiting.pop()
            if isinstance(value, Mapping) and value:
                is_named = any(self._names_one(inner) for name, inner in value.items() if str(name).lower() in _PAIRED)
                for name, inner in value.items():
                    low = str(name).lower()
                    secret = self._is_secret(str(name), inner) or (is_named and _VALUES.fullmatch(low) is not None)
                    secret = secret or (low == "key" and at[-1].lower() in _KEYED)
                    waiting.append((inner, (*at, str(name)), secret or (is_secret and not _describes(low, inner))))
            elif isinstance(value, list | tuple) and value:
                for index, inner in enumerate(value):
                    secret = is_secret or self._follows_name(value, index, is_entry=at[-1].isdecimal())
                    waiting.append((inner, (*at, str(index)), secret))
            elif isinstance(value, str):
                yield (at, value), is_secret or _tells_secret(value, self.names)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                yield (at, scalar_text(value)), is_secret
            else:  # whether there is one is no credential
                yield (at, ""), False

    def _is_secret(self, name: str, value: Json) -> bool:
        is_other = (isinstance(value, int | float) and counts(name)) or (
            isinstance(value, Mapping) and is_of_parts(name)
        )
        return (is_secret_name(name) and not is_other) or is_given(name, self.names)

    def _names_one(self, value: Json) -> bool:
        is_name = isinstance(value, str) and _IDENTIFIER.fullmatch(value) is not None
        return is_name and (is_secret_name(value) or is_given(value, self.names))

    def _follows_name(self, values: Sequence[Json], index: int, *, is_entry: bool) -> bool:
        """Whether an element is the value of the one before: `["--password", ...]`, `[["Authorization", ...]]`."""
        before = values[index - 1] if index else None
        is_pair = is_entry and len(values) == 2
        return isinstance(before, str) and (is_pair or before.startswith("-")) and self._names_one(before)


def _describes(name: str, value: Json) -> bool:
    """Whether a member of a credential is none itself: it names it, or says in a word of which kind it is."""
    values = value if isinstance(value, list | tuple) else (value,)
    is_word = all(_WORD.fullmatch(one) is not None for one in values if isinstance(one, str))
    return name in _NAMING or (name in _DESCRIBING and is_word)


def _in_path(path: str, names: frozenset[str]) -> Iterator[Leaf]:
    """Yield the credentials of a path: `;jsessionid=...`, `/token/...`, `/bot123:...`."""
    before = ""
    for segment in path.split("/"):
        for match in _MATRIX.finditer(unquote(segment)):
            if is_secret_parameter(match[1], names):
                yield ("path", match[1].lower()), match[2]
        here = unquote(segment).partition(";")[0]
        if _OF_PATHS.fullmatch(before) and _OPAQUE.fullmatch(here):
            yield ("path", before), here
        elif _BOT.fullmatch(here):
            yield ("path", "bot"), here
        before = alike(segment)


def problem(before: Written, after: Written, given: Mapping[Place, Json] | None = None) -> str:
    """Return what a correction does that none does; empty if it does nothing of the kind.

    `given` are values that the caller itself gave, when it was asked for them: one in the body may be a new password.
    """
    mine = frozenset((at, scalar_text(value)) for at, value in (given or {}).items() if at[:1] == ("body",))
    anew = {place for place, _ in mine}
    old, new = before.parted(), after.parted()
    kept = [one for one in old.credentials if one[0] not in anew]
    now = [one for one in new.credentials if one not in mine]
    if kept != now:
        places = sorted({to_pointer(place) for place, _ in {*kept} ^ {*now} or kept})
        return f"the correction changes a credential, which is the caller's own ({', '.join(places[:3])})"
    if copied := _copied(old.credentials, {*old.others, *mine}, new.others):
        return f"the correction copies a credential to {copied}"
    if old.overrides != new.overrides:
        names = sorted({name for name, _ in {*old.overrides} ^ {*new.overrides}})
        return f"the correction changes {', '.join(names[:3])}, by which a server does something else than it shows"
    return ""


def secret_texts(request: Written) -> frozenset[str]:
    """Return the values of credentials that are long enough to be looked for in texts."""
    found = (one for one in request.credentials() if one[0][0] != "headers")
    return frozenset(part for one in found for part in _parts(*one) if len(part) >= _SHORTEST)


def step_problem(step: Written, caller: Written) -> str:
    """Return what a request that comes first has that only the caller gives; empty if there is nothing."""
    there, credentials = step.parted(), caller.credentials()
    own = [one for one in credentials if one[0][0] == "path" and one in there.credentials]  # `/bot123:.../getMe`
    if new := [one for one in there.credentials if one not in own]:
        return f"a request that has to come first sets a credential ({to_pointer(new[0][0])})"
    if there.overrides:
        return f"a request that has to come first has {there.overrides[0][0]}, which is another call than it shows"
    if copied := _copied([one for one in credentials if one not in own], set(), there.others):
        return f"a request that has to come first copies a credential to {copied}"
    return ""


def _copied(credentials: Iterable[Leaf], known: set[Leaf], after: Iterable[Leaf]) -> str:
    """Return where a credential stands that did not stand there before; empty if there is no such place."""
    values = {part for one in credentials for part in _parts(*one) if len(part) >= _SHORTEST_ALONE}
    new = [(place, text) for place, text in after if (place, text) not in known] if values else []
    old: dict[Place, str] = dict(known)
    everything = "\n".join(view for place, text in new for one in (text, *place[1:]) for view in _views(one))
    found = [written for value in values if _count(written := _written(value), (everything,))]
    for place, text in new:
        views, views_before = _views(text), _views(old.get(place, ""))
        names = () if place in old else place[1:]
        for written in found:
            if len(written) == 1:
                is_there = written[0] in views and written[0] not in views_before
            else:
                is_there = _count(written, views) > _count(written, views_before)
                is_there = is_there or any(_count(written, _views(name)) for name in names)
            if is_there:
                return to_pointer(place)
    return ""


def _count(written: Sequence[str], views: Iterable[str]) -> int:
    return max(sum(map(view.count, written)) for view in views)


def _views(text: str) -> tuple[str, ...]:
    """Return a text as it is and as a lenient reader has it, in lower case."""
    if text.isascii() and not any(sign in text for sign in "%&\\"):
        return (text.strip().lower(),)
    return _folded(text), _folded(plain(text))


def _folded(text: str) -> str:
    return without_unseen(unicodedata.normalize("NFKC", text)).strip().casefold()


@lru_cache(1024)
def _written(value: str) -> tuple[str, ...]:
    """Return how a credential is written: as it is; a longer one also in hexadecimal, and in base64 at three places."""
    if len(value) < _SHORTEST:
        return (_folded(value),)
    data = value.encode("utf-8", "surrogatepass")
    written = [_folded(value), _folded(plain(value)), data.hex()]
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + data)
        # Characters that hold bits of what stands before or after say nothing for certain.
        sure = encoded[(shift * 8 + 5) // 6 : (shift + len(data)) * 8 // 6].decode().lower()
        written += [sure, sure.replace("+", "-").replace("/", "_")]
    return tuple(dict.fromkeys(filter(None, written)))


def _parts(place: Place, credential: str) -> Iterator[str]:
    """Yield a credential, without its scheme, and what Basic, a cookie or an address holds."""
    yield credential
    if place == ("headers", "cookie"):
        for name, _, value in (pair.strip().partition("=") for pair in credential.split(";")):
            if is_secret_parameter(name) or len(value) >= _LONG:  # `theme=default` is none
                yield value
    elif place[0] == "headers":
        scheme, _, rest = credential.partition(" ")
        yield rest.strip()
        if scheme.lower() == "basic":
            try:
                decoded = base64.b64decode(rest.strip(), validate=True).decode()
            except ValueError:
                decoded = ""
            yield from (decoded, decoded.partition(":")[2])
    elif place == ("address",):
        yield unquote(credential.partition(":")[2])


def _tells_secret(text: str, names: frozenset[str]) -> bool:
    """Whether a text holds a credential in a form of its own: a form, XML, JSON in text, an address with a password."""
    if len(text) > _MOST_TEXT or not any(sign in text for sign in "=:>@%&\\-"):
        return False
    return any(_assigns_secret(one, names) for one in {text, plain(text)})


def _assigns_secret(text: str, names: frozenset[str]) -> bool:
    if "@" in text and _USERINFO.search(text) is not None:
        return True
    assigned = {match[0] for match in _NAME.finditer(text) if _is_assigned(text, match)}
    return any(not counts(name) and (is_secret_name(name) or is_given(name, names)) for name in assigned)


def _is_assigned(text: str, name: re.Match[str]) -> bool:
    end = name.end()
    return _SIGN.match(text, end) is not None or (name[0].startswith("--") and text[end : end + 1].isspace())


def decodings(path: str) -> tuple[str, ...]:
    """Return a path as each server on the way may read it; empty if it is unclear what one makes of it.

    Unclear are, beside what no corrected path has, parameters of segments, and what ends a path.
    """
    found = readings(path)
    if any(sign in one for one in found for sign in ";?#"):
        return ()
    return tuple(dict.fromkeys((*found, *(unicodedata.normalize("NFKC", one) for one in found))))


def spellings(path: str) -> tuple[str, ...]:
    """Return the decodings, and what they are for a server that folds case or leaves out an ending (`export.json`)."""
    found = decodings(path)
    found = (*found, *(one.lower() for one in found))
    return tuple(dict.fromkeys((*found, *(_ENDING.sub("", one.rstrip()) for one in found))))


def same_place(one: str, other: str) -> bool:
    """Whether two paths are spellings of one: escapes, and a slash at the end."""
    return _bytes(one) == _bytes(other)


def _bytes(path: str) -> list[bytes]:
    """Return the segments as bytes: what is no UTF-8 is no other text."""
    return [unquote_to_bytes(part.encode("utf-8", "surrogatepass")) for part in path.rstrip("/").split("/")]


__all__ = [
    "Place",
    "Written",
    "decodings",
    "is_secret_header",
    "is_secret_name",
    "is_secret_parameter",
    "overrides_header",
    "problem",
    "same_place",
    "secret_texts",
    "spellings",
    "step_problem",
]
