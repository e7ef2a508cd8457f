"""The caller's credentials in a request that was sent, and texts without their values.

What the guard protects is hidden, and so is all that a caller gives for every request, but for ordinary values. Knows:
how credentials are written in headers, cookies, addresses and texts. Does not know: names of credentials, feedback.
"""

from __future__ import annotations

import base64
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from corrigible.schema.document import CREDENTIALS, SENDERS_OWN
from corrigible.schema.printable import without_unseen

from .guard import Written, is_secret_name, is_secret_parameter

HIDDEN: Final = "(hidden)"
CUT: Final = "... (cut"
"""Where a text says that it was cut: the start of a credential may stand before it."""
_SHORTEST: Final = 6
"""Characters of a value that is looked for in texts: a shorter one is part of other words."""
_SHORTEST_PASSWORD: Final = 3
"""Of a password, which is looked for as a word of its own where it is shorter than other values."""
_LONG: Final = 16
"""Characters of a cookie's value that identifies somebody, whatever its name."""
_LONG_LETTERS: Final = 12
"""Letters and digits of a value that is found whatever stands between them: `["Sk9Zq-li", "ve-77AbCd"]`, `53:6b:39`."""
_LEAST_PART: Final = 4
"""Characters of the start of a credential that is hidden where a text was cut."""
_BEFORE_CUT: Final = 2048
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,30}[ \t]+(?=\S)")
_BETWEEN_PARTS: Final = re.compile(r"[\s,;:=&\"']+")
_BETWEEN_WORDS: Final = re.compile(r"[\s/.,;:=*+_()\"'-]+")
_VERSION: Final = r"v?[0-9]{1,8}|v[0-9]{1,4}(?:(?:alpha|beta|p|preview|rc)[0-9]{0,3}){1,2}"
_NUMBER: Final = re.compile(_VERSION)
_ORDINARY_WORD: Final = re.compile(
    rf"{_VERSION}|[A-Z]?[a-z]{{1,15}}[0-9]{{0,2}}|[A-Za-z][a-z]{{1,14}}(?:[A-Z][a-z]{{2,14}}){{1,2}}[0-9]{{0,2}}"
    r"|[A-Z]{1,3}|[0-9]{1,2}T[0-9]{2}|[0-9]{1,3}Z"
)
_LONGEST_ORDINARY: Final = 80
_ORDINARY_HEADERS: Final = SENDERS_OWN | frozenset(
    {
        *("accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "content-encoding"),
        *("content-language", "content-type", "date", "expect", "from", "if-match", "if-modified-since"),
        *("if-none-match", "if-range", "if-unmodified-since", "max-forwards", "origin", "pragma", "prefer", "range"),
        *("referer", "te", "user-agent", "via"),
    }
)
"""Headers of RFC 9110, 9111 and 7240 that say nothing about who sends them, or are no secret."""
_ROUNDS: Final = 5
"""How often escapes are undone: JSON inside JSON inside JSON."""
_KINDS: Final = (
    r"\\u\{[0-9A-Fa-f]{1,6}\}|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\x[0-9A-Fa-f]{2}|\\[0-7]{3}|\\[nrt]|\\[^\w\s]",
    r"(?:%[0-9A-Fa-f]{2})+|%u[0-9A-Fa-f]{4}",
    r"&(?:#[0-9]{1,8};?|#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z]{2,8};)",
)
_OTHER_KINDS: Final = (r"=[0-9A-Fa-f]{2}", r"0x[0-9A-Fa-f]{2}", r"<[^<>]{1,200}>")
"""Quoted-printable, bytes in a list, tags. They are part of too much that is no escape to stand in others."""
_ESCAPES: Final = (re.compile("|".join(_KINDS)), *map(re.compile, (*_KINDS, *_OTHER_KINDS)))
"""Of all kinds, which stand in one another, and of each kind alone: what escapes in one is plain in another."""
_BROKEN_ESCAPE: Final = re.compile(r"(?:\\(?:[uU][0-9A-Fa-f]{0,7}|x[0-9A-Fa-f]?)?|%[0-9A-Fa-f]?|&#?[0-9A-Za-z]{0,8})\Z")
_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def credential_values(
    headers: Iterable[tuple[str, str]], query: str, names: frozenset[str] = frozenset()
) -> frozenset[str]:
    """Return the texts that no text shows: all that the guard protects in headers and in a query.

    `names` are names of credentials, in lower case, besides the usual ones. The value of `Basic` is one in itself, and
    so is each part of what it encodes.
    """
    headers = tuple(headers)
    try:
        found = Written(f"?{query}", headers, None, names).credentials()
    except ValueError:  # a query of too many fields
        found = Written("", headers, None, names).credentials()
        pairs = parse_qsl(query)
        found += [(("query", name), value) for name, value in pairs if is_secret_parameter(name, names)]
    values = (part for place, value in found for part in _parts_of(place, value, names))
    return frozenset(value for value in values if len(value) >= _SHORTEST) | frozenset(_in_basic(headers))


def given_values(
    headers: Mapping[str, str], query: Mapping[str, str], url: str, names: frozenset[str]
) -> frozenset[str]:
    """Return the texts that no text shows of what a caller gives for every request, and of the address given for all.

    Whatever the name, a value is hidden unless it is an ordinary one (`is_ordinary`).
    """
    values = credential_values(headers.items(), urlencode(query), names) | values_in_address(url)
    others = [value for name, value in headers.items() if name.lower() not in _ORDINARY_HEADERS]
    others += query.values()
    with suppress(ValueError):  # no address
        parts = urlsplit(url)
        others += [f"/{unquote(part)}" for part in parts.path.split("/")]
        others += [value for _, value in parse_qsl(parts.query)]
    more = (part for value in others if not is_ordinary(value) for part in _parts_of(("query",), value, names))
    return values | frozenset(plain for part in more if len(plain := part.lstrip("/")) >= _SHORTEST)


def is_ordinary(value: str) -> bool:
    """Whether a value is made of short words and numbers, as media types, versions, dates, hosts and languages are.

    A credential has no such form: it mixes cases or digits within a word, or is one long word. What reads as the name
    of a credential (`my-secret-2`) is none either.
    """
    words = _BETWEEN_WORDS.split(value.strip())
    if len(value) > _LONGEST_ORDINARY or is_secret_name(value):
        return False
    return all(_ORDINARY_WORD.fullmatch(one) for one in words if one) and (
        len(words) > 1 or words[0].isalpha() or _NUMBER.fullmatch(words[0]) is not None
    )


def values_in_address(url: str) -> frozenset[str]:
    """Return the texts before the host of an address that no text shows: `https://user:password@host`."""
    try:
        user_info, at, _ = urlsplit(url).netloc.rpartition("@")
    except ValueError:
        return frozenset()
    return frozenset(_parts(user_info)) | frozenset(_parts(unquote(user_info))) if at else frozenset()


def without(values: frozenset[str], text: str) -> str:
    """Return a text without these values: as they are, escaped, in base64 or hexadecimal, cut off at a cut.

    The work is linear in the text: escapes are undone a few times, and each spelling is looked for.
    """
    if not values or not text:
        return text
    spellings, spans = _spellings(values), set[tuple[int, int]]()
    for view in _views(text):
        spans.update(view.spans(spellings))
    out, at = list[str](), 0
    for start, end in sorted(spans):
        if end > at:
            out += [text[at:start], HIDDEN] if start >= at else []
            at = end
    return "".join([*out, text[at:]])


class _View(NamedTuple):
    """A text as somebody reads it, and where each of its characters comes from."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def spans(self, spellings: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield where the text that is shown has one of the spellings, or the start of one before a cut."""
        plain = self._plain()
        yield from plain._spans(spellings)
        letters = {one: "".join(filter(str.isalnum, one)) for one in spellings}
        if long := [one for one in letters.values() if len(one) >= _LONG_LETTERS]:
            yield from plain._kept(str.isalnum)._spans(long)

    def unescaped(self, escape: re.Pattern[str]) -> _View:
        """Return the text with its escapes undone once; itself if it has none."""
        parts, starts, ends, at = list[str](), list[int](), list[int](), 0
        for match in escape.finditer(self.text):
            first, last, plain = match.start(), match.end(), _unescaped(match)
            parts += [self.text[at:first], plain]
            starts += [*self.starts[at:first], *[self.starts[first]] * len(plain)]
            ends += [*self.ends[at:first], *[self.ends[last - 1]] * len(plain)]
            at = last
        if not parts:
            return self
        parts.append(self.text[at:])
        return _View("".join(parts), [*starts, *self.starts[at:]], [*ends, *self.ends[at:]])

    def _plain(self) -> _View:
        """Return the text without what is invisible, with letters of other forms (fullwidth, bold) as plain ones."""
        if self.text.isascii():
            return self._kept(lambda one: bool(without_unseen(one)))
        forms = {one: _plain_form(one) for one in set(self.text)}
        parts = [(forms[one], self.starts[at], self.ends[at]) for at, one in enumerate(self.text)]
        starts = [start for form, start, _ in parts for _ in form]
        return _View("".join(form for form, _, _ in parts), starts, [end for form, _, end in parts for _ in form])

    def _kept(self, keeps: Callable[[str], bool]) -> _View:
        kept = {one for one in set(self.text) if keeps(one)}
        at = [index for index, one in enumerate(self.text) if one in kept]
        if len(at) == len(self.text):
            return self
        return _View("".join(self.text[i] for i in at), [self.starts[i] for i in at], [self.ends[i] for i in at])

    def _spans(self, spellings: Sequence[str]) -> Iterator[tuple[int, int]]:
        text = self.text.translate(_LOWER)
        cuts = [match.start() for match in re.finditer(re.escape(CUT), text)]
        for spelling in spellings:
            start = text.find(spelling)
            while start >= 0:
                end = start + len(spelling)
                if len(spelling) >= _SHORTEST or not (
                    text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()
                ):
                    yield self.starts[start], self.ends[end - 1]
                start = text.find(spelling, end)
        for cut in cuts:
            whole = text[max(0, cut - _BEFORE_CUT) : cut]
            left = _BROKEN_ESCAPE.sub("", whole)
            for before in {whole, left, left[:-1]}:  # a number that was cut is another character's
                begin = cut - len(whole) + len(before)
                tail = before[-_LEAST_PART:]
                for spelling in (one for one in spellings if tail in one):
                    longest = min(len(spelling) - 1, len(before))
                    sizes = (one for one in range(longest, _LEAST_PART - 1, -1) if before.endswith(spelling[:one]))
                    if size := next(sizes, 0):
                        yield self.starts[begin - size], self.ends[cut - 1]


def _views(text: str) -> Iterator[_View]:
    """Yield the text as it is, and with its escapes undone once, twice, and so on."""
    plain = _View(text, range(len(text)), range(1, len(text) + 1))
    yield plain
    for escape in _ESCAPES:
        view = plain
        for _ in range(_ROUNDS):
            following = view.unescaped(escape)
            if following is view:
                break
            view = following
            yield view


def _unescaped(match: re.Match[str]) -> str:
    escape = match[0]
    if escape[0] == "<":
        return ""
    if escape[0] == "&":
        from html import unescape  # 1 MB, which few texts need

        return unescape(escape)
    if escape[0] == "%" and escape[1] != "u":
        return unquote(escape)
    if escape[0] in "=0":
        return chr(int(escape[-2:], 16))
    if escape[1].isdecimal():
        return chr(int(escape[1:], 8))
    if len(escape) == 2:
        return "\n" if escape[1] in "nrt" else escape[1]
    code = int(escape[2:].strip("{}"), 16)
    return chr(code) if code <= sys.maxunicode else ""


def _plain_form(character: str) -> str:
    if not without_unseen(character):
        return ""
    return "".join(one for one in unicodedata.normalize("NFKD", character) if unicodedata.category(one) != "Mn")


@lru_cache(16)
def _spellings(values: frozenset[str]) -> tuple[str, ...]:
    """Return how values are written, in lower case: themselves, in hexadecimal, in base64 and in base32."""
    written = set(values)
    for value in values:
        data = value.encode("utf-8", "surrogatepass")
        if len(data) < _SHORTEST:
            continue
        written |= {data.hex(), value.replace(" ", "+"), *_encoded(data, 5, 5, base64.b32encode)}
        wide = (value.encode(kind, "surrogatepass") for kind in ("utf-16-le", "utf-16-be"))
        for one in (data, base64.b64encode(data), *wide):
            for sure in _encoded(one, 3, 6, base64.b64encode):
                written |= {sure, sure.replace("+", "-").replace("/", "_")}
    forms = {"".join(map(_plain_form, one)).translate(_LOWER) for one in written}
    return tuple(sorted(filter(None, forms), key=len, reverse=True))


def _encoded(data: bytes, places: int, bits: int, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    """Yield what data is at each place of a group of bytes, without what holds bits of what stands before or after."""
    for shift in range(places):
        encoded = encode(b"\0" * shift + data).decode()
        yield encoded[(shift * 8 + bits - 1) // bits : (shift + len(data)) * 8 // bits]


def _parts_of(place: tuple[str, ...], value: str, names: frozenset[str]) -> Iterator[str]:
    """Yield what identifies the caller in the value of a header or a parameter."""
    value = value.strip()
    if place == ("headers", "cookie"):
        yield from _in_cookies(value, names)
        return
    scheme = _SCHEME.match(value)
    rest = value[scheme.end() :] if scheme is not None else value
    is_whole = place[-1].lower() not in CREDENTIALS
    if scheme is None or is_whole:
        yield value
    yield rest
    # A signature stands beside what is no secret: `t=1700000000,v1=...`, `Credential=..., Signature=...`
    shortest = _LONG if is_whole else _SHORTEST
    yield from (one for one in _BETWEEN_PARTS.split(rest) if len(one) >= shortest and not is_ordinary(one))


def _in_basic(headers: Iterable[tuple[str, str]]) -> Iterator[str]:
    """RFC 7617 section 2: the user's name and the password."""
    for name, value in headers:
        scheme, _, encoded = value.strip().partition(" ")
        if name.lower() in CREDENTIALS and scheme.lower() == "basic":
            with suppress(ValueError):  # neither base64 nor Unicode
                yield from _parts(base64.b64decode(encoded.strip() + "==").decode())


def _parts(user_info: str) -> Iterator[str]:
    user, _, password = user_info.partition(":")
    yield from (one for one in (user_info, user) if len(one) >= _SHORTEST)
    if len(password) >= _SHORTEST_PASSWORD:
        yield password


def _in_cookies(cookies: str, names: frozenset[str]) -> Iterator[str]:
    for pair in cookies.split(";"):
        name, _, value = pair.partition("=")
        if is_secret_parameter(name.strip(), names) or len(value.strip()) >= _LONG:  # `theme=default` is none
            yield value.strip()
