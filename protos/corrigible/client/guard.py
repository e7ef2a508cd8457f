"""What no correction does, whoever agreed: touch a credential, or send by another method or path than it shows.

Knows: names of credentials, overrides of methods and paths, requests before and after a correction as they are
written. Does not know: policies, feedback. Names are compared as lenient servers read them: in any case, with `-`, `_`
and `.` alike, with brackets, and with their escapes undone.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from corrigible.schema.cache import cached
from corrigible.schema.document import CREDENTIALS, is_credential_name, scalar_text
from corrigible.schema.exchange import Json
from corrigible.schema.form import fields, parameter_segments

Place = tuple[str, ...]
"""`("query", "api_key")`: the part of a request, and the names and indexes that lead to a value."""

_DECODINGS: Final = 3
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET: Final = re.compile(
    r"passw(or)?d|pwd|pass|passphrase|passcode|secrets?|credentials?|authorization|jwt|bearer|assertion|signature|sig|hmac|t?otp|pin"
    r"|[cx]srf|api(key|token|secret)|access(key|token)|(auth|bearer|client|csrf|id|private|refresh|session|signing)token"
    r"|(auth|private|secret|signing)key|clientsecret"
)
"""Last word of the name of a credential, in any part of a request; or its last two in one."""
_JOINED: Final = re.compile(
    r"(password|passwd|passphrase|passcode|secret|credentials?|authorization|signature|api(key|token)|access(key|token)"
    r"|(auth|bearer|csrf|refresh|session)token|(auth|private|secret|signing)key)$"
)
"""How a name ends that is written as one word: `dbpassword`."""
_OF_KEYS: Final = re.compile(
    r"api|app|application|access|account|admin|auth|client|consumer|encryption|functions|license|master|private|secret"
    r"|security|server|service|session|shared|signing|ssh|storage|subscription|vault"
)
"""What stands before `key` in the name of a credential. A `key` alone is one in a query and a header: in a body it is
the common name of an entry (`{"key": ..., "value": ...}`)."""
_OF_TOKENS: Final = re.compile(r"access|api|auth|bearer|id|refresh|secret|session")
"""What stands before `tokens` in the name of several credentials. `max_tokens` counts words."""
_OF_PAGES: Final = re.compile(
    r"(page|paging|pagination|next|prev|previous|cursor|continuation|continue|sync|start|starting|end|resume|scroll|max"
    r"|min|eos|bos|pad|stop|idempotency)$"
)
"""What stands before `token` in the name of no credential."""
_QUALIFIER: Final = re.compile(
    r"\d+|confirm|confirmation|confirmed|again|repeat|repeated|new|old|current|value|hash|hashed|digest|plain|plaintext"
    r"|text|string|b64|base|encoded|encrypted|verify|header|v"
)
"""What may follow in the name of a credential: `password_confirmation`."""
_OF_QUERIES: Final = re.compile(r"key|sid|(php|j)?sess(ion)?id|session(id|key)")
"""Names of credentials in a query: in a body they have another meaning as a rule."""
_DESCRIBING: Final = frozenset(
    {"type", "kind", "method", "scheme", "scope", "scopes", "provider", "algorithm", "name", "ref", "namespace"}
)
"""Members of an object with the name of a credential that describe it: `imagePullSecrets: [{name: ...}]`."""
_ASSIGNED: Final = re.compile(r"[\w.\-]+")
_USERINFO: Final = re.compile(r"://[^/@\s]{0,500}@")
_SHORTEST: Final = 6
"""Characters of a value that is looked for inside of other texts: a shorter one is part of other words."""
_SHORTEST_ALONE: Final = 3
"""Characters of a value that is looked for as a whole text: `x` is no password."""
_LONG: Final = 16
"""Characters of a cookie's value that identifies somebody, whatever its name."""
_MOST_TEXT: Final = 1 << 20
_OVERRIDING: Final = frozenset({"method", "override", "rewrite", "forwarded", "impersonate", "destination"})
"""Words in the names of headers that send a request elsewhere, or as somebody else."""
_ORIGINAL: Final = frozenset({"url", "uri", "path", "host"})
_OVERRIDES: Final = frozenset({"xhttpmethodoverride", "xhttpmethod", "xmethodoverride", "httpmethodoverride"})
_OVERRIDES_OF_FORMS: Final = _OVERRIDES | {"httpmethod", "methodoverride"}
_ENDING: Final = re.compile(r"\.[A-Za-z0-9]{0,5}$")


@dataclass(frozen=True, slots=True)
class Written:
    """The parts of a request as they are written on the wire."""

    url: str
    headers: tuple[tuple[str, str], ...]
    body: Json
    names: frozenset[str]
    """Names of credentials that the caller gave, in lower case."""

    def credentials(self) -> list[tuple[Place, str]]:
        """Return each credential with its place, in an order that tells nothing."""
        return sorted((leaf for leaf, is_secret in self._leaves() if is_secret), key=repr)

    def others(self) -> Iterator[tuple[Place, str]]:
        """Yield all texts that are no credential, with their places."""
        return (leaf for leaf, is_secret in self._leaves() if not is_secret)

    def overrides(self) -> list[tuple[str, str]]:
        """Return what has the request handled by another method, path or host, or as somebody else's."""
        found = [(name.lower(), value) for name, value in self.headers if overrides_header(name)]
        found += [(name, value) for name, value in self._query() if _overrides(name, is_text=True)]
        body = self.body if isinstance(self.body, Mapping) else {}
        found += [(name, scalar_text(value)) for name, value in body.items() if _overrides(name, is_text=False)]
        return sorted(found)

    def _query(self) -> list[tuple[str, str]]:
        return fields(urlsplit(self.url).query)

    def _leaves(self) -> Iterator[tuple[tuple[Place, str], bool]]:
        parts = urlsplit(self.url)
        if "@" in parts.netloc:
            yield (("address",), parts.netloc.rpartition("@")[0]), True
        yield (("path",), unquote(parts.path)), _tells_secret(unquote(parts.path), self.names)
        for name, value in self.headers:
            low = name.lower()
            is_secret = low in self.names or is_secret_header(name) or _tells_secret(value, self.names)
            yield (("headers", low), value), is_secret
        for name, value in self._query():
            segments = parameter_segments(name)
            is_secret = any(is_secret_parameter(part, self.names) for part in (name, *segments))
            yield (("query", name), value), is_secret or _tells_secret(value, self.names)
        yield from self._in(self.body, ("body",), is_secret=False)

    def _in(self, value: Json, at: Place, *, is_secret: bool) -> Iterator[tuple[tuple[Place, str], bool]]:
        waiting = [(value, at, is_secret)]
        while waiting:
            value, at, is_secret = waiting.pop()
            if isinstance(value, Mapping) and value:
                for name, inner in value.items():
                    secret = is_secret_name(str(name)) or str(name).lower() in self.names
                    describes = is_secret and str(name).lower() in _DESCRIBING
                    waiting.append((inner, (*at, str(name)), secret or (is_secret and not describes)))
            elif isinstance(value, list | tuple) and value:
                waiting += [(inner, (*at, str(index)), is_secret) for index, inner in enumerate(value)]
            elif isinstance(value, str):
                yield (at, value), is_secret or _tells_secret(value, self.names)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                yield (at, scalar_text(value)), is_secret
            else:  # whether there is one is no credential
                yield (at, ""), False


def problem(before: Written, after: Written, given: Mapping[Place, Json] | None = None) -> str:
    """Return what a correction does that none does; empty if it does nothing of the kind.

    `given` are values that the caller itself gave, when it was asked for them: one in the body may be a new password.
    """
    mine = frozenset((at, scalar_text(value)) for at, value in (given or {}).items() if at[:1] == ("body",))
    anew = {place for place, _ in mine}
    kept = [one for one in before.credentials() if one[0] not in anew]
    now = [one for one in after.credentials() if one not in mine]
    if kept != now:
        places = sorted({_spelled(place) for place, _ in {*kept} ^ {*now}} or {_spelled(place) for place, _ in kept})
        return f"the correction changes a credential, which is the caller's own ({', '.join(places[:3])})"
    if copied := _copied(before.credentials(), before.others(), after.others(), mine):
        return f"the correction copies a credential to {copied}"
    if before.overrides() != after.overrides():
        names = sorted({name for name, _ in {*before.overrides()} ^ {*after.overrides()}})
        return f"the correction changes {', '.join(names[:3])}, by which a server does something else than it shows"
    return ""


def secret_texts(request: Written) -> frozenset[str]:
    """Return the values of credentials that are long enough to be looked for in texts."""
    found = (one for one in request.credentials() if one[0][0] != "headers")
    return frozenset(part for one in found for part in _parts(*one) if len(part) >= _SHORTEST)


def step_problem(step: Written, caller: Written) -> str:
    """Return what a request that comes first has that only the caller gives; empty if there is nothing."""
    if step.credentials():
        return f"a request that has to come first sets a credential ({_spelled(step.credentials()[0][0])})"
    if step.overrides():
        return f"a request that has to come first has {step.overrides()[0][0]}, which is another call than it shows"
    if copied := _copied(caller.credentials(), iter(()), step.others(), frozenset()):
        return f"a request that has to come first copies a credential to {copied}"
    return ""


def _copied(
    credentials: Iterable[tuple[Place, str]],
    before: Iterator[tuple[Place, str]],
    after: Iterator[tuple[Place, str]],
    given: frozenset[tuple[Place, str]],
) -> str:
    """Return where a credential stands that did not stand there before; empty if there is no such place."""
    values = {part for one in credentials for part in _parts(*one) if len(part) >= _SHORTEST_ALONE}
    known = {*before, *given}
    new = [(place, text) for place, text in after if (place, text) not in known] if values else []
    old: dict[Place, str] = dict(known)
    for place, text in new:
        for value in values:
            if len(value) < _SHORTEST:
                is_there = text == value and old.get(place) != value
            else:
                is_there = value in text and text.count(value) > old.get(place, "").count(value)
                is_there = is_there or any(value in name for name in place[1:])
            if is_there:
                return _spelled(place)
    return ""


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


def _spelled(place: Place) -> str:
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in place)


def _words(name: str) -> list[str]:
    for _ in range(_DECODINGS):
        name = unquote(name) if "%" in name else name
    name = unicodedata.normalize("NFKC", name).partition("\0")[0]
    words = [word.lower() for word in _WORDS.findall(name)]
    while len(words) > 1 and _QUALIFIER.fullmatch(words[-1]):
        words.pop()
    return words


@cached(4096)
def is_secret_name(name: str) -> bool:
    """Whether a member of a body has the name of a credential."""
    words = _words(name)
    if not words:
        return False
    before, last = ["", *words][-2:]
    if _SECRET.fullmatch(last) or _SECRET.fullmatch(f"{before}{last}") or _JOINED.search("".join(words)):
        return True
    if last.endswith("token"):
        return _OF_PAGES.search(before if last == "token" else last[:-5]) is None
    if last == "tokens":
        return _OF_TOKENS.fullmatch(before) is not None
    holder = ["", *words][-3] if (before, last) == ("key", "id") and len(words) > 1 else before if last == "key" else ""
    return _OF_KEYS.fullmatch(holder) is not None


def is_secret_header(name: str) -> bool:
    """Whether a header is a credential. A `Key` or `Token` of any kind is one here, but for those of pages."""
    words = _words(name)
    if name.lower() in CREDENTIALS or is_credential_name(name) or is_secret_name(name):
        return True
    if words[-1:] in (["auth"], ["session"]):
        return True
    return words[-1:] == ["key"] and words[-2:-1] not in (["idempotency"], ["cache"], ["surrogate"])


def is_secret_parameter(name: str, names: frozenset[str] = frozenset()) -> bool:
    """Whether a parameter of the query is a credential."""
    words = _words(name)
    low = name.lower()
    if low in names or low.startswith(("x-amz-", "x-goog-")):
        return True
    if _OF_QUERIES.fullmatch("".join(words)):
        return True
    return is_secret_name(name) or is_credential_name(name)


def _tells_secret(text: str, names: frozenset[str]) -> bool:
    """Whether a text holds a credential in a form of its own: a form, XML, JSON in text, an address with a password."""
    if len(text) > _MOST_TEXT or not any(sign in text for sign in "=:>@"):
        return False
    if "@" in text and _USERINFO.search(text) is not None:
        return True
    for match in _ASSIGNED.finditer(text):
        following = text[match.end() : match.end() + 4].lstrip("\"' \\")
        if following[:1] in ("=", ":", ">") and following[:1]:
            name = match[0]
            if name.lower() in names or is_secret_name(name):
                return True
    return False


def overrides_header(name: str) -> bool:
    """Whether a header has the request handled as another one: by method, path, host or caller."""
    words = set(re.split(r"[-_.]", name.lower()))
    return not words.isdisjoint(_OVERRIDING) or ("original" in words and not words.isdisjoint(_ORIGINAL))


def _overrides(name: str, *, is_text: bool) -> bool:
    for _ in range(_DECODINGS):
        name = unquote(name) if "%" in name else name
    name = parameter_segments(name.strip())[0].strip().lower()
    letters = re.sub(r"[^a-z]", "", name)
    if letters in ("method", "methodoverride", "httpmethod") and not name[:1].isalpha():
        return True
    return letters in (_OVERRIDES_OF_FORMS if is_text else _OVERRIDES)


def decodings(path: str) -> tuple[str, ...]:
    """Return a path with its escapes undone never, once, and so on; empty if it is unclear what a server makes of it.

    Unclear are dot segments, empty segments, parameters of segments, backslashes, controls, and escapes without an end.
    """
    found = [path]
    for _ in range(_DECODINGS):
        found.append(unicodedata.normalize("NFKC", unquote(found[-1])))
    if unquote(found[-1]) != found[-1] or any(_STRANGE.search(one) for one in found):
        return ()
    return tuple(dict.fromkeys(found))


def spellings(path: str) -> tuple[str, ...]:
    """Return the decodings, and what they are for a server that folds case or leaves out an ending (`export.json`)."""
    found = decodings(path)
    found = (*found, *(one.lower() for one in found))
    return tuple(dict.fromkeys((*found, *(_ENDING.sub("", one.rstrip()) for one in found))))


_STRANGE: Final = re.compile(r"//|[\x00-\x1f\x7f\\;?#]|(?:^|/)\.{1,2}(?:/|$)")


def same_place(one: str, other: str) -> bool:
    """Whether two paths are spellings of one: escapes, and a slash at the end."""
    return _plain(one) == _plain(other)


def _plain(path: str) -> list[str]:
    return [unquote(part) for part in path.rstrip("/").split("/")]
