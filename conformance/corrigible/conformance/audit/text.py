"""A text that an agent can see, and the ways in which something may be written in it.

Knows: encodings, punctuation, quotation, a little English grammar. Does not know: where a text comes from.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from urllib.parse import unquote_plus

from .numbers import Number, numbers
from .value import Held, plain, signs

NOTHING_HELD = Held()


@dataclass(frozen=True, slots=True)
class Text:
    """Something that an agent can see besides feedback."""

    text: str
    channel: str
    """diagnosis, verbose, traditional, header, message, prompt, ..."""
    owner: str
    """`ours`, or `upstream` for the native words of a third party, which are not ours to change."""
    where: str
    """The file and line, or the case and the place in its answer."""
    rule: str = ""
    held: Held = field(default=NOTHING_HELD)
    """What whoever sees it has sent."""
    whole: bool = False
    """It is one value of a document, so that being equal to it is being quoted."""


class View:
    """One reading of a text: as it is, or decoded. Places in it are places in `said`."""

    def __init__(self, said: str, how: str = "") -> None:
        self.said = unicodedata.normalize("NFC", said).translate(_QUOTES)
        self.how = how

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(numbers(self.said))

    @cached_property
    def squeezed(self) -> tuple[str, list[int]]:
        """Letters and digits alone, and where each stood. Digits that did not touch keep a dot between them."""
        out: list[str] = []
        places: list[int] = []
        gap = False
        for place, char in enumerate(self.said):
            if not char.isalnum():
                gap = True
                continue
            for folded in plain(char):
                if gap and out and out[-1].isdigit() and folded.isdigit():
                    out.append(".")
                    places.append(place)
                out.append(folded)
                places.append(place)
                gap = False
            gap = False
        return "".join(out), places

    def places(self, value: str) -> Iterator[tuple[int, int]]:
        """Yield where a text stands, whatever its case and punctuation are, in the singular or the plural."""
        if signs(value) and len(value) > 3:
            for found in re.finditer(re.escape(value), self.said, re.IGNORECASE):
                yield found.span()
            return
        wanted = _squeezed(value)
        letters, at = self.squeezed
        if not wanted:
            yield from _bare(self.said, value)
            return
        for form in _forms(wanted):
            start = letters.find(form)
            while start >= 0:
                first, last = at[start], at[start + len(form) - 1]
                if self._alone(first, last + 1):
                    yield first, last + 1
                start = letters.find(form, start + 1)

    def _alone(self, start: int, end: int) -> bool:
        """Whether a place is whole words: of `likeThis` and `like_this` each part is one."""
        said = self.said
        before, after = said[start - 1 : start], said[end : end + 1]
        begins = not before.isalnum() or (said[start].isupper() and before.islower())
        ends = not after.isalnum() or (after.isupper() and said[end - 1].islower())
        return begins and ends and not (before == "_" and _word(said, start - 1)) and after != "_"

    def repeats(self, start: int, end: int, held: Held, *, longer: bool) -> bool:
        """Whether a place is part of something that the request says just so; `longer`: a mere part of it."""
        low = self.said.lower()
        if len(low) != len(self.said):
            return False
        for said in held.said:
            if len(said) < end - start + longer:
                continue
            at = low.find(said, max(0, end - len(said)), start + len(said))
            if at >= 0 and at <= start and at + len(said) >= end:
                return True
        return False

    def marked(self, start: int, end: int, width: int = 60) -> str:
        """Return the text with a place in it marked."""
        head, tail = max(0, start - width), min(len(self.said), end + width)
        left = ("…" if head else "") + self.said[head:start]
        right = self.said[end:tail] + ("…" if tail < len(self.said) else "")
        return " ".join(f"{left}»{self.said[start:end]}«{right}".split())

    def quoted(self, start: int, end: int) -> bool:
        before, after = self.said[start - 1 : start], self.said[end : end + 1]
        return bool(before) and before in _OPENING and bool(after) and after in _CLOSING

    def assigned(self, start: int, name: str = "") -> bool:
        """Whether it stands behind `name=` or `name:`; any name where none is given."""
        who = re.escape(name) if name else r"[\w\])]+"
        return re.search(rf"(?:^|[^\w]){who}[\"'`]?\s?(?:=|:|=>|->|→)\s?[\"'`\[({{]*$", self.said[:start]) is not None

    def prescribed(self, start: int, end: int) -> bool:
        """Whether the sentence tells to use it, or says that it is what is wanted."""
        before = re.split(r"[.;!?]\s", self.said[max(0, start - 80) : start])[-1]
        return _PRESCRIBES.search(before) is not None or _WANTED.match(self.said[end : end + 40]) is not None

    def belongs(self, start: int, end: int, name: str) -> bool:
        """Whether it is told of a member of this name: `set capture to true`, `capture must be true`."""
        words = r"\W*".join(map(re.escape, re.split(r"[_\W]+", plain(name))))
        if not words:
            return False
        before = plain(self.said[max(0, start - 60) : start])
        return (
            re.search(rf"\b{words}\W+(?:to|is|be|(?:must|should) be|has to be|needs? to be|as|=|:)\W*$", before)
            is not None
        )

    def limits(self, start: int) -> bool:
        """Whether a number there is a limit, which is what a clamped value becomes."""
        return _LIMITS.search(self.said[max(0, start - 40) : start]) is not None

    def counts(self, end: int, words: frozenset[str]) -> bool:
        """Whether one of some words comes right after a number."""
        after = [plain(word).removesuffix("s") for word in re.findall(r"[^\W\d_]+", self.said[end : end + 40])[:2]]
        return any(word in after for word in words)


_QUOTES = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u2039\u203a", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013", "-"),
    }
)
_OPENING = "\"'`([{<*"
_CLOSING = "\"'`)]}>*"
_PRESCRIBES = re.compile(
    r"(?:\b(?:use|using|try|write|choose|pick|enter|provide|specify|supply)\b(?:\W+\w+){0,3}\W*"
    r"|\b(?:set|change|rename|switch|replace|correct|adjust|convert|reduce|raise|lower)\w*\b(?:\W+[\w'.-]+){0,5}\W+(?:to|with|by)\W+(?:\w+\W+)?"
    r"|\b(?:must|should|ought to|has to|have to|needs? to|shall|can only|may only)\s+(?:only\s+)?be\W+(?:\w+\W+){0,2}"
    r"|\b(?:did you mean|meant|expect(?:s|ed)?|requires|wants)\W+(?:\w+\W+){0,2}"
    r"|\b(?:such as|for example|e\.g\.|for instance|namely|i\.e\.)\W+(?:\w+\W+){0,2}"
    r"|\b(?:allowed|valid|possible|supported|accepted|permitted)(?: values?)?(?: are| is)?\W+(?:\w+\W+){0,2}"
    r"|\b(?:one of|either|none of|only)\W+(?:\w+\W+){0,3}"
    r")$",
    re.IGNORECASE,
)
_WANTED = re.compile(r"^\W*(?:instead\b|is (?:expected|required|needed|wanted|meant)\b|would (?:do|work|fit)\b)", re.I)
_LIMITS = re.compile(
    r"\b(?:at (?:most|least)|minimum|maximum|max|min|up to|than|above|below|under|over|exceeds?|between|limit"
    r"|longest|shortest|largest|smallest)"
    r"\W+(?:\w+\W+){0,2}$",
    re.IGNORECASE,
)


@lru_cache(maxsize=65536)
def _squeezed(value: str) -> str:
    return View(value).squeezed[0]


def _word(said: str, at: int) -> bool:
    return at > 0 and said[at - 1].isalnum()


def _forms(letters: str) -> Iterator[str]:
    yield letters
    if not letters[-1].isalpha() or len(letters) < 4:
        return
    if letters.endswith("ies"):
        yield letters[:-3] + "y"
    elif letters.endswith("s"):
        yield letters[:-1]
    else:
        yield letters + "s"
        yield letters + "es"
        if letters.endswith("y"):
            yield letters[:-1] + "ies"


def _bare(said: str, value: str) -> Iterator[tuple[int, int]]:
    """Find what has no letter and no digit, such as `*`: quoted, since it is punctuation anywhere else."""
    for found in re.finditer(rf"(?<=[\"'`]){re.escape(value)}(?=[\"'`])", said) if value.strip() else ():
        yield found.span()


_BASE64 = re.compile(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{6,}={0,2}(?![\w+/=-])")
_DEEPEST = 2


def views(text: str, depth: int = 0, how: str = "") -> Iterator[View]:
    """Yield a text as it is, and what comes out where it is decoded."""
    yield View(text, how)
    if depth == _DEEPEST:
        return
    for name, decoded in (
        ("URL-encoded", _unquoted(text)),
        ("escaped", _unescaped(text)),
        ("HTML-escaped", html.unescape(text)),
    ):
        if decoded != text:
            yield from views(decoded, depth + 1, f"{how}, {name}".lstrip(", "))
    for found in _BASE64.finditer(text):
        inside = _from_base64(found[0])
        if inside is not None:
            yield from views(inside, depth + 1, f"{how}, in base64".lstrip(", "))


def _unquoted(text: str) -> str:
    return unquote_plus(text, errors="replace") if re.search("%[0-9A-Fa-f]{2}", text) else text


def _unescaped(text: str) -> str:
    def char(found: re.Match[str]) -> str:
        code = found[1] or found[2]
        return chr(int(code, 16)) if code else {"n": "\n", "t": "\t", "r": "\r"}.get(found[3], found[3])

    return re.sub(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([ntr\"'\\/]))", char, text)


def _from_base64(text: str) -> str | None:
    """Return what a piece says where it is base64 of something printable, None where it is a word like any other."""
    try:
        raw = base64.b64decode(text.translate(str.maketrans("-_", "+/")) + "=" * (-len(text) % 4), validate=True)
        decoded = raw.decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    return decoded if len(decoded) > 2 and decoded.isprintable() and decoded.isascii() else None
