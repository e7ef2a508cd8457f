"""Personal data and credentials of recorded exchanges, and their replacements in a case.

A value is personal by its form (a mail address, a UUID, a phone number), or by the name of its member (`last_name`,
`account_id`). It has the same replacement wherever it stands, however it is encoded there. A replacement has the form
of the value: its kind, its length but for mail addresses, its capitals and signs.

Knows: JSON values, names of members. Does not know: rules, cases, files.
"""

from __future__ import annotations

import base64
import binascii
import html
import ipaddress
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final
from urllib.parse import unquote, unquote_plus

import orjson

from corrigible.client.credentials import HIDDEN, without
from corrigible.proxy.access_log.entry import REDACTED, redact
from corrigible.rules.pointer import escape, is_among
from corrigible.rules.schema_repair.suggestion import is_secret
from corrigible.schema.document import parameter_segments
from corrigible.schema.exchange import Json
from corrigible.schema.printable import without_unseen

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NAMES: Final = re.compile(
    "name|names|surname|firstname|lastname|fullname|username|nickname|displayname|givenname|familyname|login|"
    "author|assignee|assignees|reviewer|reviewers|owner|holder|cardholder|payee|payer|recipient|recipients|"
    "sender|person|contact|handle|street|address|city|zip|postcode|zipcode|postal|company|employer|patient|"
    "guest|passenger|customer|user|member|employee|birthplace|line1|line2|vorname|nachname|prenom|nombre|apellido"
)
"""Last words of members whose texts are about a person."""
_TECHNICAL: Final = re.compile(
    "file|host|type|class|event|field|fields|param|params|parameter|parameters|method|tool|tools|function|"
    "functions|property|properties|header|headers|column|table|attribute|attributes|operation|metric|queue|"
    "topic|bucket|index|schema|model|code|error|errors|status|scope|role|constraint|argument|arguments|"
    "database|service|domain|server|display|key|variable|resource|kind|group|image|container|package|branch|"
    "format|plan|product|price|coupon|label|tag|repo|repository|project|workflow|release|milestone|pod|namespace"
)
"""What stands before `name`, or is the object that has it, where a single word is the name of no person."""
_MAILS: Final = re.compile("mail|email|emails|mails")
_PHONES: Final = re.compile("phone|phones|mobile|tel|telephone|fax|msisdn|cell|cellphone|whatsapp")
_BIRTHS: Final = re.compile("birth|birthday|birthdate|dob")
_IDS: Final = re.compile(
    "id|ids|uuid|guid|identifier|number|no|nr|account|acct|iban|bic|ssn|tin|vat|passport|plate|reference|ip|imei|serial"
)
_OF_PERSONS: Final = re.compile(
    "user|owner|customer|account|member|person|author|login|client|patient|employee|subscriber|payer|payee"
)
_MEASURED: Final = re.compile(
    "time|timestamp|at|date|expires|expiry|created|updated|since|until|start|end|amount|price|total|size|limit|"
    "bytes|count|offset|sum|balance|value|quantity|max|min|seconds"
)
"""Last words of members whose digits are a moment or an amount."""
_LEAST_ID: Final = 4
"""Characters of an id that says whose it is: a shorter one is a number of something."""
_WHOLE_ONLY: Final = 2
"""Characters of a value that is replaced where it is the whole text only."""
_LONG: Final = 6
"""Characters of a value that is found inside of other words."""

_HEX: Final = "[0-9A-Fa-f]"
_FORMS: Final[Mapping[str, re.Pattern[str]]] = {
    "mail": re.compile(r"""[^\s@<>()\[\]{},;:"'=/?&%\\|]{1,64}@[\w-]+(?:\.[\w-]+)+"""),
    "uuid": re.compile(rf"(?<![\w-]){_HEX}{{8}}-?(?:{_HEX}{{4}}-?){{3}}{_HEX}{{12}}(?![\w-])"),
    "ip": re.compile(
        rf"(?<![\w.])(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?!\w|\.\d)"
        rf"|(?<![\w:.])(?={_HEX}{{0,4}}:[:0-9A-Fa-f.]*:){_HEX}[:0-9A-Fa-f.]{{2,44}}(?![\w:])"
    ),
    "mac": re.compile(rf"(?<![\w:-])(?:{_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}(?![\w:-])"),
    "iban": re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?(?!\w)"),
    "phone": re.compile(
        r"(?<![\w.+-])\+\d[\d ().\-/]{5,20}\d(?!\w)|(?<![\w.+-])\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}(?!\w|[.-]\d)"
        r"|(?<![\w.+-])\(?0\d{2,5}\)?(?:[ /-]\d{2,8}){1,4}(?!\w|[.-]\d)|(?<![\w.-])\d{3}-\d{2}-\d{4}(?!\w|[.-]\d)"
    ),
    "number": re.compile(r"(?<![\w.,-])\d{8,19}(?!\w|[.,-]\d)"),
    "token": re.compile(
        r"(?<![A-Za-z0-9])(?:[a-z]{1,6}_(?=[A-Za-z0-9]*\d)(?=[A-Za-z0-9]*[A-Za-z])[A-Za-z0-9]{10,}"
        r"|(?!\d{8}T\d{6})(?=(?:[A-Za-z]*\d){2})(?=\d*[A-Za-z])[A-Za-z0-9]{16,}"
        r"|(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)[A-Za-z0-9_-]{20,})(?![A-Za-z0-9])",
        re.ASCII,
    ),
}
"""Kinds of values that are personal wherever they stand, in the order in which they are looked for."""
_PERSON: Final = re.compile(r"[^\W\d_][\w'.]*(?:[ -][^\W\d_][\w'.]*){1,3}")
_FULL_NAME: Final = re.compile(r"[^\W\d_a-z][\w'.]*(?:[ -][^\W\d_a-z][\w'.]*){1,3}")
"""Two words or more with a capital each: whatever has it is called after a person, or might be."""
_PREFIX: Final = re.compile(r"([a-z]{1,6})_(?=[A-Za-z0-9]*\d)[A-Za-z0-9]+")
"""An id that begins with its kind: `cus_9s6XKzkNRiz8i3`."""
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_XML: Final = re.compile(r"<([A-Za-z][\w.:-]*)[^<>]*>([^<>]+)</\1>")
_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/]{8,}|[A-Za-z0-9_-]{8,})={0,2}(?![A-Za-z0-9+/_=-])")
_RUN: Final = re.compile(r"[A-Za-z0-9+/_]{16,}")
"""What may have a value in base64 or hexadecimal inside, between what is no text."""
_JSON_ESCAPE: Final = re.compile(r"\\u([0-9A-Fa-f]{4})|\\(.)")
_PIECE: Final = 2048
"""`redact` cuts longer texts, which a log needs and a case does not."""
_DEEPEST: Final = 3
_MOST_TRIED: Final = 10_000


class PersonalData:
    """What was learned of the exchanges, and the replacement of each value."""

    def __init__(self, kept: Collection[str], secrets: frozenset[str]) -> None:
        """`kept` are words of the rule, of the API's codes, of operations. `secrets` are names of members."""
        self._kept, self._secrets = set(kept), secrets
        self._kinds: dict[str, str] = {}
        self._credentials: set[str] = set()
        self._replacements: dict[str, str] = {}
        self._words: dict[str, str] = {}
        self._parts: dict[str, str] = {}
        """Words of the names of persons, which stand alone elsewhere."""
        self._counts: dict[str, int] = {}
        self._texts: list[str] = []
        self._ordered: list[str] | None = None
        self._all = frozenset[str]()
        self._joined = ""

    def _values(self) -> list[str]:
        """Return the personal values, the longest first: one may be part of another."""
        if self._ordered is None:
            self._ordered = sorted(self._kinds, key=lambda one: (-len(one), one))
            self._all, self._joined = frozenset(self._kinds), "\n".join(self._texts)
            for value, kind in self._kinds.items():  # in the order in which they were found
                self._replacement(value)
                words = _PERSON.fullmatch(value) and re.findall(r"[^\W_]{3,}", value)
                if kind == "name" and words:
                    self._parts |= {word: self._word(word) for word in words}
        return self._ordered

    def keep(self, words: Iterable[str]) -> None:
        """Leave words as they are, unless they were found to be personal before."""
        self._kept |= {word for word in words if word not in self._kinds}

    def learn_mentioned(self, elsewhere: PersonalData) -> None:
        """Add the credentials of other exchanges, and those personal values of theirs that stand in these."""
        self.hide(elsewhere._credentials)
        joined = "\n".join(self._texts)
        for value, kind in elsewhere._kinds.items():
            if len(value) > _WHOLE_ONLY and value.casefold() in joined:
                self._add(value, kind)

    def hide(self, values: Collection[str]) -> None:
        """Add credentials: they are taken out of every text."""
        self._credentials |= {one for one in values if one}

    def learn(self, value: Json, names: Sequence[str] = ()) -> None:
        """Find what is personal in a value; `names` are those of the members that lead to it."""
        match value:
            case Mapping():
                for key, inner in value.items():
                    self._learn_forms(str(key))
                    parts = [part for part in parameter_segments(str(key)) if part and not part.isdecimal()]
                    self.learn(inner, (*names, *(parts or [str(key)])))
            case list():
                for inner in value:
                    self.learn(inner, names)
            case str():
                self._texts.append(value.casefold())
                if not self._learn_secret(value, names):
                    self._learn_named(value, names)
                    self._learn_forms(value, is_measured=any(map(_MEASURED.fullmatch, _split("_".join(names[-2:])))))
            case int() if not isinstance(value, bool):
                is_personal = _is_id(names) or _PHONES.fullmatch(_last(names)) is not None
                if not self._learn_secret(value, names) and is_personal and len(str(abs(value))) >= _LEAST_ID:
                    self._add(str(abs(value)), "shaped")

    def replaced(self, value: Json, names: Sequence[str] = ()) -> Json:
        """Return a value with everything replaced, names of members too."""
        match value:
            case Mapping():
                return {
                    self.text(str(key)): self.replaced(inner, (*names, *(parameter_segments(str(key)) or [str(key)])))
                    for key, inner in value.items()
                }
            case list():
                return [self.replaced(inner, names) for inner in value]
            case _ if self._is_secret(value, names):
                return REDACTED
            case str():
                return self.text(value)
            case int() if not isinstance(value, bool):
                digits = str(abs(value))
                if digits in self._kinds:
                    return int(self._replacement(digits)) * (-1 if value < 0 else 1)
                return REDACTED if REDACTED in redact(digits) else value
        return value

    def text(self, text: str, depth: int = 0) -> str:
        """Return a text with its personal values replaced and without credentials, plain or encoded."""
        if not text:
            return text
        text = text.replace(HIDDEN, "[hidden]")
        if self._credentials:
            text = without(frozenset(self._credentials), text).replace(HIDDEN, REDACTED)
        text = "".join(redact(text[start : start + _PIECE]) for start in range(0, len(text), _PIECE))
        if depth < _DEEPEST:
            text = _BASE64.sub(lambda match: self._reencoded(match[0], depth), text)
        for value in self._standing_in(text):
            text = self._without(value, text)
        if _RUN.search(text) and without(self._all, text) != text:
            for value in self._values():
                text = self._without(value, text)
        for word, replacement in self._parts.items():
            if word in text:
                text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", replacement, text)
        return text

    def remaining(self, value: Json) -> str:
        """Return the kind of a personal value that stands in what was replaced; empty where none does."""
        match value:
            case Mapping():
                return next(filter(None, (self.remaining(str(one)) or self.remaining(value[one]) for one in value)), "")
            case list():
                return next(filter(None, map(self.remaining, value)), "")
            case str():
                readings = list(_readings(value))
                standing = self._standing_in(value)
                found = (one for one in standing if any(self._without(one, text) != text for text in readings))
                return next((self._kinds[one] for one in found), "")
        return ""

    def _learn_secret(self, value: Json, names: Sequence[str]) -> bool:
        if not self._is_secret(value, names):
            return False
        if isinstance(value, str) and len(value) >= _LONG:
            self._credentials.add(value)
        return True

    def _is_secret(self, value: Json, names: Sequence[str]) -> bool:
        names = [one for one in names if not one.startswith("/")]
        if value in ("", None) or isinstance(value, bool) or not names:
            return False
        own = any(is_among(name, self._secrets) for name in names)
        pointer = "".join(f"/{escape(name)}" for name in ("body", *names))
        return own or is_secret(pointer, value)

    def _learn_named(self, text: str, names: Sequence[str]) -> None:
        last = _last(names)
        whole = text.strip()
        if not whole or whole in self._kept:
            return
        if (_is_name(names) or _is_id(names)) and _is_prefixed(whole, names[-1]):
            self._add(whole, "prefixed")
            return
        if _MAILS.fullmatch(last) or _PHONES.fullmatch(last):
            self._add(whole, "shaped")
        elif names and any(map(_BIRTHS.fullmatch, _split(names[-1]))):
            self._add(whole, "day" if _DAY.fullmatch(whole) else "shaped")
        elif (_is_name(names) or (last in ("name", "names") and _FULL_NAME.fullmatch(whole))) and not whole.isdecimal():
            for part in whole.split("/"):  # `octocat/demo`: each of the two stands alone elsewhere
                self._add(part, "name")
        elif _is_id(names) and len(whole) >= _LEAST_ID and len(whole) <= 200:
            is_persons = any(map(_OF_PERSONS.fullmatch, _split(names[-1])))
            if is_persons or any(map(str.isdigit, whole)):
                self._add(whole, "shaped")

    def _learn_forms(self, text: str, *, is_measured: bool = False) -> None:
        for reading in _readings(text):
            for kind, form in _FORMS.items():
                for match in form.finditer(reading):
                    value = match[0].strip(".-")
                    if kind == "number" and is_measured and value == text:
                        continue
                    if kind == "ip" and not _is_address(value):
                        continue
                    self._add(value, kind)
                    if kind == "mail":
                        self._add(value.rpartition("@")[2], "domain")
            for name, inner in _XML.findall(reading):
                self._learn_named(html.unescape(inner), (name,))
            if reading[:1] in ("{", "["):
                with suppress(orjson.JSONDecodeError):
                    self.learn(orjson.loads(reading))

    def _add(self, value: str, kind: str) -> None:
        if value in self._kept or not any(map(str.isalnum, value)) or REDACTED in value:
            return
        before = self._kinds.get(value)
        if before is None or before in ("shaped", "name", "prefixed"):
            self._kinds[value] = kind
            self._ordered = None

    def _without(self, value: str, text: str) -> str:
        if len(value) <= _WHOLE_ONLY:
            return self._replacement(value) if text == value else text
        if value.isdecimal() and len(value) < _LONG:  # `2026` is a part of dates
            return re.sub(rf"(?<![\w.:-]){value}(?![\w:-]|\.\d)", lambda _: self._replacement(value), text)
        hidden = without(frozenset({value}), text)
        return text if hidden == text else hidden.replace(HIDDEN, self._replacement(value))

    def _standing_in(self, text: str) -> list[str]:
        """Return the values that may stand in a text: to look for each in every encoding takes much longer."""
        read = "\n".join(_readings(text)).casefold()
        read = f"{read}\n{without_unseen(read)}\n{''.join(read.split())}"
        return [one for one in self._values() if one.casefold() in read]

    def _reencoded(self, encoded: str, depth: int) -> str:
        """Return base64 of a text with the values of that text replaced; as it is where it is of something else."""
        plain = _decoded(encoded)
        if plain is None:
            return encoded
        clean = self.text(plain, depth + 1)
        if clean == plain:
            return encoded
        again = (base64.urlsafe_b64encode if set("-_") & set(encoded) else base64.b64encode)(clean.encode()).decode()
        return again if encoded.endswith("=") or len(encoded) % 4 == 0 else again.rstrip("=")

    def _replacement(self, value: str) -> str:
        if value not in self._replacements:
            self._replacements[value] = self._made(value, self._kinds[value])
        return self._replacements[value]

    def _made(self, value: str, kind: str) -> str:
        match kind:
            case "name":
                return re.sub(r"[^\W_]+", lambda match: self._word(match[0]), value)
            case "mail":
                local, _, domain = value.rpartition("@")
                words = re.sub(r"[^\W_]+", lambda match: self._word(match[0]), local)
                return f"{words}@{self._replacement(domain) if domain in self._kinds else domain}"
            case "domain":
                return self._unused("domain", value, _domain)
            case "uuid":
                return self._unused("uuid", value, lambda number: _uuid(value, number))
            case "ip":
                return self._unused("ip", value, lambda number: _address(value, number))
            case "day":
                return self._unused(
                    "day", value, lambda number: f"1970-{number // 28 % 12 + 1:02}-{number % 28 + 1:02}"
                )
            case "prefixed" | "token" if (prefix := _PREFIX.match(value)) is not None:
                start = prefix.end(1) + 1
                return self._unused(kind, value, lambda number: value[:start] + _shaped(value[start:], number))
        return self._unused("shaped", value, lambda number: _shaped(value, number))

    def _word(self, word: str) -> str:
        """Return what stands for a word of a name, in any name that has it."""
        if word in self._kept:
            return word
        if word not in self._words:
            same = next((one for one in self._words if one.casefold() == word.casefold()), None)
            made = self._words[same] if same else self._unused("word", word, lambda number: _shaped(word, number))
            self._words[word] = made if same is None else _in_case_of(word, made)
        return self._words[word]

    def _unused(self, kind: str, value: str, make: Callable[[int], str]) -> str:
        """Return the next replacement of a kind that is no value of the exchanges, and that stands for no other one."""
        taken = {one.casefold() for one in (*self._kinds, *self._replacements.values(), *self._words.values())}
        parts = [one.casefold() for one in self._kinds if len(one) >= _LEAST_ID]
        number = self._counts.get(kind, 0)
        for _ in range(_MOST_TRIED):
            number += 1
            made = make(number)
            low = made.casefold()
            if low in taken or any(one in low for one in parts) or (len(low) > _WHOLE_ONLY + 1 and low in self._joined):
                continue
            self._counts[kind] = number
            return made
        return f"{_shaped(value, 1)}{number}"


def resource(path: str) -> str:
    """Return what a path is about, `/plans`: its last segment that is a plain word. (With a slash it is no member.)"""
    words = [part for part in path.partition("?")[0].split("/") if re.fullmatch("[A-Za-z_-]{3,40}", part)]
    return f"/{words[-1]}" if words else "/"


def _split(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


def _last(names: Sequence[str]) -> str:
    words = _split(names[-1]) if names else []
    return words[-1] if words else ""


def _is_name(names: Sequence[str]) -> bool:
    if not names:
        return False
    words = _split(names[-1])
    last, before = ["", *words][-1], ["", *words][-2] if len(words) > 1 else ""
    holder = _last(names[:-1])
    if last in ("name", "names"):
        return not _is_technical(before or holder)
    if any(map(_NAMES.fullmatch, (last, names[-1].lower(), before if last.isdecimal() else ""))):
        return not _is_technical(before)
    return holder == "address" and last not in ("country", "type", "kind", "state")


def _is_technical(word: str) -> bool:
    return any(map(_TECHNICAL.fullmatch, (word, word.removesuffix("s"), word.removesuffix("es"))))


def _is_id(names: Sequence[str]) -> bool:
    return _IDS.fullmatch(_last(names)) is not None


def _is_prefixed(text: str, name: str) -> bool:
    """Whether an id begins with letters of its member's name: `ch_1` under `charge`."""
    match, letters = _PREFIX.fullmatch(text), iter(name.lower())
    return match is not None and all(one in letters for one in match[1])


def _readings(text: str) -> Iterator[str]:
    """Yield a text as it is, with each kind of escapes undone, and what its base64 encodes."""
    seen = {text}
    waiting = [(text, 0)]
    while waiting:
        reading, depth = waiting.pop()
        yield reading
        if depth == _DEEPEST:
            continue
        for other in _unescaped(reading):
            if other not in seen:
                seen.add(other)
                waiting.append((other, depth + 1))


def _unescaped(text: str) -> Iterator[str]:
    if "%" in text:
        yield unquote(text)
        if "+" in text:
            yield unquote_plus(text)
    if "&" in text:
        yield html.unescape(text)
    if "\\" in text:
        yield _JSON_ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2], text)
    for match in _BASE64.finditer(text):
        if (plain := _decoded(match[0])) is not None:
            yield plain
    for match in re.finditer(rf"(?<!\w)(?:{_HEX}{{2}}){{6,}}(?!\w)", text):
        with suppress(ValueError):
            if (plain := bytes.fromhex(match[0]).decode()).isprintable():
                yield plain


def _decoded(encoded: str) -> str | None:
    """Return the text that is encoded in base64; None where there is none."""
    bare = encoded.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        plain = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return plain if plain and all(one.isprintable() or one in "\r\n\t" for one in plain) else None


def _is_address(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


def _address(text: str, number: int) -> str:
    """Return an address for documentation (RFC 5737, RFC 3849)."""
    if ":" in text:
        return f"2001:db8::{number:x}"
    return f"{('192.0.2', '198.51.100', '203.0.113')[number // 254 % 3]}.{number % 254 + 1}"


def _domain(number: int) -> str:
    """Return a domain that is nobody's (RFC 2606)."""
    return ("example.com", "example.org", "example.net", f"d{number}.example")[min(number - 1, 3)]


def _uuid(text: str, number: int) -> str:
    """Return a UUID of the same version and variant, written alike."""
    old = text.replace("-", "")
    digits = f"{number:032x}"
    digits = digits[:12] + old[12] + digits[13:16] + old[16] + digits[17:]
    digits = digits.upper() if old.upper() == old and old.lower() != old else digits.lower()
    found = iter(digits)
    return "".join(one if one == "-" else next(found) for one in text)


def _shaped(text: str, number: int) -> str:
    """Return a text of the same form: a letter for each letter, a digit for each digit, capitals and signs as they are.

    `number` is written in its last letters and digits, so that other numbers give other texts.
    """
    letters = 6 if re.fullmatch(rf"{_HEX}{{8,}}", text) else 26
    out: list[str] = []
    for index in range(len(text) - 1, -1, -1):
        one = text[index]
        if one.isascii() and one.isdigit():
            is_leading = not text[:index].rstrip("0")[-1:].isdigit()
            least, radix = (1, 9) if is_leading else (0, 10)
            if is_leading and one == "0":
                least, radix = 0, 1
            number, rest = divmod(number, radix)
            out.append(str(least + rest))
        elif one.isascii() and one.isalpha():
            number, rest = divmod(number, letters)
            out.append(chr(ord("A" if one.isupper() else "a") + rest))
        elif one.isalpha():
            out.append("\u00c9" if one.isupper() else "\u00e9" if one.islower() else "\u67d0")
        else:
            out.append("0" if one.isdigit() else one)
    return "".join(reversed(out)) + (str(number) if number else "")


def _in_case_of(word: str, made: str) -> str:
    return (
        "".join(two.upper() if one.isupper() else two.lower() for one, two in zip(word, made, strict=False))
        + made[len(word) :]
    )
