"""How values are spelled: dates, identifiers, numbers and truth, and the same value as a type or a format wants it.

Every respelling keeps the value. What a respelling adds or loses (a time zone, a scheme, a time of day) it says.

Whether a text that is near another one may be a word of its own: `clone` and `close`, `county` and `country`.

Who writes a word that there is means it. Knows: how words are spelt, and which words there are.
"""

from __future__ import annotations

import base64
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache
from importlib.resources import files
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import orjson

from corrigible.schema.cache import cached
from corrigible.schema.exchange import Json

from .nearness import is_plural, is_same, letters, slips, split_words

LONGEST: Final = 9
"""Letters of the longest word in the list."""
_FILE: Final = "known_words.txt"
_SHORT: Final = 3
"""Letters of what may be somebody's abbreviation, unless they are those of the other word without some: `nme`."""
_MOST_SLIPS: Final = 2
"""What is farther away is found in other ways than by its letters."""
_CUT_SHORT: Final = 7
"""Letters of a word that is none without its last one. (`local` and `locale` have fewer.)"""
_SHORTEST_STEM: Final = 3
_SHORTEST_DOUBLED: Final = 6
"""Letters of a word in which a letter is written once or twice: `off` is none of `of`."""
_ENDING: Final = re.compile(r"e?(?:s|d|ing)|ly")
_VOWEL: Final = re.compile(r"[aeiouy]")
_DOUBLED: Final = re.compile(r"(.)\1+")
_BRITISH: Final = (
    (re.compile(r"(?<=[a-z]{3})our(?!t|s[ei])"), "or"),
    (re.compile(r"(?<=[a-z]{3})[iy]s(?=[eai])"), "iz"),
    (re.compile(r"(?<=[a-z]{3})yz"), "iz"),
    (re.compile(r"logue(?=s?$)"), "log"),
    (re.compile(r"ence(?=s?$)"), "ense"),
    (re.compile(r"^grey"), "gray"),
)


@cached(4096)
def may_be_other_word(text: str, near: str) -> bool:
    """Whether a text of which another one is a slip or two away may be meant as it is written.

    Not where they are one but for case, separators, the number or the form of a word, two letters in turn, a letter
    written twice, British and American spelling; nor where it is no known word. (In long words nobody errs by meaning
    another one, as a rule: The list of known words has none over nine letters.)
    """
    if is_same(text, near) or is_plural(text, near):
        return False
    one, two = split_words(text), split_words(near)
    if len(one) != len(two):
        one, two = ("".join(one),), ("".join(two),)
    elif len(one) > 1 and any(map(_is_another, one, two)):
        return True  # names are near by their other words: `limitEuros` and `limitCents`
    return any(_may_be_other(first, second) for first, second in zip(one, two, strict=True) if first != second)


def _is_another(word: str, other: str) -> bool:
    """Whether two words are neither slips nor forms nor shorter ways of each other."""
    shorter, longer = sorted((word, other), key=len)
    is_far = slips(word, other, _MOST_SLIPS) > _MOST_SLIPS and not is_form(shorter, longer)
    return is_far and not _is_shortened(shorter, longer) and (is_known(word) or len(word) < _CUT_SHORT)


def _may_be_other(word: str, other: str) -> bool:
    found = slips(word, other, _MOST_SLIPS)
    shorter, longer = sorted((word, other), key=len)
    if found > _MOST_SLIPS or is_plural(word, other) or is_form(shorter, longer):
        return False
    if len(longer) >= _SHORTEST_DOUBLED and _DOUBLED.sub(r"\1", word) == _DOUBLED.sub(r"\1", other):
        return False
    if _american(word) == _american(other) or (found == 1 and sorted(word) == sorted(other)):
        return False
    if not word.isalpha():
        return True  # a version or a code: another digit is another thing
    if found == 1 and longer.startswith(shorter):
        return is_known(word) and len(shorter) < _CUT_SHORT
    return is_known(word) or (len(word) <= _SHORT and not _is_shortened(word, other))


@cached(4096)
def is_other_meaning(name: str, meant: str) -> bool:
    """Whether a name has another unit than one that is near, or none, or is its opposite.

    `weight_g`, `weightKg` and `weight` are three, `onlyUnavailable` is not `onlyAvailable`.
    """
    one, two = split_words(name), split_words(meant)
    if is_same(name, meant) or not one or not two:
        return False
    if len(one) == len(two) and any(map(_is_opposite, one, two)):
        return True
    last, other = one[-1], two[-1]
    if last == other or _units().isdisjoint((last, other)):
        return False
    return min(len(last), len(other)) <= _SHORT or not (is_plural(last, other) or slips(last, other, 1) <= 1)


def _is_opposite(word: str, other: str) -> bool:
    shorter, longer = sorted((word, other), key=len)
    return len(shorter) > _SHORT and longer.endswith(shorter) and longer.removesuffix(shorter) in _OPPOSITES


_OPPOSITES: Final = ("un", "in", "im", "ir", "il", "dis", "de", "non", "not", "no", "anti", "mis", "re", "pre", "post")


@cache
def _units() -> frozenset[str]:
    """Return the words for units of mass, length, time, money, data and the like."""
    text = files(__package__).joinpath("units.txt").read_text("utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def may_be_other_value(text: str, value: str) -> bool:
    """Whether a text is the first of two words of a value, or one of both is a code and the other has a letter more.

    `USDT`, `https` and `ftps` are codes.

    Codes have up to three letters, or no vowel. A letter more is an ending only where that makes a word (`gets`).
    """
    shorter, longer = sorted((text.casefold(), value.casefold()), key=len)
    is_code = len(shorter) <= _SHORT or _VOWEL.search(shorter) is None
    rest = letters(value).removeprefix(letters(text))
    if len(rest) >= _SHORTEST_STEM and rest != letters(value) and is_known(letters(text)) and is_known(rest):
        return True  # `dark` is one of two words of `darkgreen`
    return is_code and len(longer) == len(shorter) + 1 and longer.startswith(shorter) and not is_known(longer)


def _is_shortened(word: str, other: str) -> bool:
    """Whether a word has the letters of another one, but for some: `nme` of `name`."""
    letters = iter(other)
    return word[:1] == other[:1] and all(letter in letters for letter in word)


def is_form(shorter: str, longer: str) -> bool:
    """Whether a word is another one in another form: `closed` of `close`, `weekly` of `week`."""
    stem = shorter.removesuffix("e")
    return len(stem) >= _SHORTEST_STEM and longer.startswith(stem) and bool(_ENDING.fullmatch(longer[len(stem) :]))


def _american(word: str) -> str:
    """Return a word as Americans spell it: `color` for `colour`."""
    for pattern, plain in _BRITISH:
        word = pattern.sub(plain, word)
    return word


def is_known(word: str) -> bool:
    """Whether people write a word on purpose: it is one of English, or of names in APIs."""
    words, searched = known_words(), word.encode(errors="replace")

    def at(index: int) -> bytes:
        return words[index * LONGEST : (index + 1) * LONGEST]

    return at(bisect_left(range(len(words) // LONGEST), searched.ljust(LONGEST), key=at)).rstrip() == searched


@cache
def known_words() -> bytes:
    """Return the words of 2 to `LONGEST` letters in order, each as long as the longest: a set of them takes 5 MB.

    The file says where they come from.
    """
    lines = files(__package__).joinpath(_FILE).read_bytes().splitlines()
    return b"".join(sorted(line.ljust(LONGEST) for line in lines if not line.startswith(b"#")))


class Spelling(NamedTuple):
    """A value in another spelling."""

    value: Json
    assumption: str = ""
    """What had to be assumed or was lost, in words; empty where the spelling means exactly the same."""


_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,17})?(?:[eE][+-]?\d{1,2})?")


def typed(text: str, kind: str) -> Json:
    """Return what a text on the wire is when it is read as a type; the text itself where it cannot be."""
    match kind:
        case "integer" if _INTEGER.fullmatch(text):
            return int(text)
        case "number" if _NUMBER.fullmatch(text):
            return float(text)
        case "boolean" if text in ("true", "false"):
            return text == "true"
        case "null" if text == "":
            return None
        case _:
            return text


_TRUTH: Final = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


def truth(value: Json) -> bool | None:
    """Return the boolean that a value spells, None where it spells none."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return bool(value) if value in (0, 1) else None
    return _TRUTH.get(value.strip().casefold()) if isinstance(value, str) else None


def integer(value: Json) -> int | None:
    """Return the integer that a value spells without loss: `"500"`, `" 7 "`, `5.0`, `"5.0"`; never `"007"`.

    Nor `"1.000"`, which is a thousand in much of the world.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        value = value.strip()
        if _INTEGER.fullmatch(value):
            return int(value)
        value = float(value) if re.fullmatch(r"-?(?:0|[1-9]\d{0,14})\.(?!000$)0+", value) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else None
    return value if isinstance(value, int) else None


_WITH_COMMA = re.compile(r"-?\d{1,15},(?:\d{1,2}|\d{4,15})", re.ASCII)
"""With a comma before the decimals, as much of the world writes them. Three digits after it may be thousands."""


def number(value: Json) -> int | float | None:
    """Return the number that a value spells without loss. With three noughts behind the point it may be thousands."""
    whole = integer(value)
    if whole is not None:
        return whole
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) and not value.strip().endswith(".000"):
        return float(value)
    if isinstance(value, str) and _WITH_COMMA.fullmatch(value.strip()):
        return float(value.replace(",", "."))
    return value if isinstance(value, float) else None


def document(value: Json, kind: type) -> Json:
    """Return the array or object that a text holds as JSON, None where it holds none."""
    if not isinstance(value, str) or value.strip()[:1] not in ("[", "{"):
        return None
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, kind) else None


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MOMENT = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})[Tt](?P<time>\d{2}:\d{2}:\d{2}(?:\.\d+)?)(?P<zone>[Zz]|[+-]\d{2}:\d{2})", re.ASCII
)
_LOOSE_MOMENT = re.compile(
    r"(?P<day>.+?)(?:[Tt]|,?\s+(?:at\s+)?)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<part>\.\d+)?)?"
    r"\s*(?P<half>[AaPp]\.?[Mm]\.?)?\s*(?P<zone>[Zz]|UTC|GMT|[+-]\d{2}:?\d{2}|[+-]\d{2})?",
    re.ASCII,
)
_WEEKDAY = re.compile(r"^(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+", re.IGNORECASE)
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


def dates(value: str) -> list[date]:
    """Return the days that a text may mean: none, one, or both readings of 03/04/2026."""
    text = _WEEKDAY.sub("", value.strip())
    if match := re.fullmatch(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})", text, re.ASCII):
        return _days([(match[1], match[3], match[4])])
    if match := re.fullmatch(r"(\d{4})(\d{2})(\d{2})", text, re.ASCII):
        return _days([(match[1], match[2], match[3])])
    if match := re.fullmatch(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})", text, re.ASCII):
        return _days([(match[4], match[3], match[1]), (match[4], match[1], match[3])])
    if match := re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?[\s-]+([A-Za-z]{3,9})\.?,?[\s-]+(\d{4})", text, re.ASCII):
        return _days([(match[3], _month(match[2]), match[1])])
    if match := re.fullmatch(r"([A-Za-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})", text, re.ASCII):
        return _days([(match[3], _month(match[1]), match[2])])
    return []


def _month(name: str) -> str:
    """Return the number of a month by its name or its first three letters, 0 where there is no such month."""
    spelled = name.casefold()
    numbers = [n for n, month in enumerate(_MONTHS, start=1) if spelled == month or spelled in (month[:3], month[:4])]
    return str(numbers[0] if numbers else 0)


def _days(readings: list[tuple[str, str, str]]) -> list[date]:
    out: list[date] = []
    for year, month, day in readings:
        try:
            read = date(int(year), int(month), int(day))
        except ValueError:
            continue
        if read not in out:
            out.append(read)
    return out


class Moment(NamedTuple):
    when: datetime
    """Aware; in UTC where no zone was said."""
    zoned: bool
    timed: bool


_EARLIEST, _LATEST = 978_307_200, 4_102_444_800
"""A bare number is a Unix time between the years 2001 and 2100, in seconds or in milliseconds."""

_NUMBERED = re.compile(r"\d{10}|\d{13}")
_SHORTEST_MOMENT, _LONGEST_MOMENT = 8, 64
"""Letters: `1/1/2026`, and a time with its zone written out."""


def moments(value: Json) -> list[Moment]:
    """Return the points in time that a value may mean."""
    if isinstance(value, str):
        if not _SHORTEST_MOMENT <= len(value) <= _LONGEST_MOMENT:
            return []
        if _NUMBERED.fullmatch(value.strip()):
            value = int(value)
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int | float):
        seconds = value / 1000 if value >= _LATEST else value
        if not _EARLIEST <= seconds < _LATEST:
            return []
        return [Moment(datetime.fromtimestamp(seconds, UTC), True, True)]
    if not isinstance(value, str):
        return []
    text = value.strip()
    days = dates(text)
    if days:
        return [Moment(datetime(day.year, day.month, day.day, tzinfo=UTC), False, False) for day in days]
    match = _LOOSE_MOMENT.fullmatch(text)
    return [] if match is None else list(_timed(match))


def _timed(match: re.Match[str]) -> Iterator[Moment]:
    hour, half = int(match["hour"]), (match["half"] or "").casefold().replace(".", "")
    if half and not 1 <= hour <= 12:
        return
    hour = hour % 12 + 12 * (half == "pm") if half else hour
    part = int(float("0" + match["part"]) * 1_000_000) if match["part"] else 0
    for day in dates(match["day"]):
        try:
            when = datetime(day.year, day.month, day.day, hour, int(match["minute"]), int(match["second"] or 0), part)
            yield Moment(when.replace(tzinfo=_zone(match["zone"])), match["zone"] is not None, True)
        except ValueError:
            continue


def _zone(zone: str | None) -> timezone:
    if zone is None or zone.upper() in ("Z", "UTC", "GMT"):
        return UTC
    digits = zone[1:].replace(":", "").ljust(4, "0")
    off = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-off if zone[0] == "-" else off)


def rfc3339(when: datetime) -> str:
    return when.isoformat().replace("+00:00", "Z")


_NO_ZONE = "the time is read as UTC"
_NO_TIME = "the day is read as its first moment in UTC"
_NO_SCHEME = "the scheme is taken to be https"
_TIME_LOST = "the time of day is left out"
TO_AGREE: Final = (_NO_ZONE, _NO_TIME, _NO_SCHEME, _TIME_LOST)
"""Assumptions that add what was not said, or leave out what was: the caller has to agree."""


def as_date(value: Json) -> list[Spelling]:
    if isinstance(value, str) and (days := dates(value)):
        return [Spelling(day.isoformat()) for day in days]
    return [
        Spelling(
            moment.when.date().isoformat(), "" if moment.when.strftime("%H%M%S%f").strip("0") == "" else _TIME_LOST
        )
        for moment in moments(value)
    ]


def as_moment(value: Json) -> list[Spelling]:
    return [Spelling(rfc3339(moment.when), _assumed(moment)) for moment in moments(value)]


def as_unix(value: Json) -> list[Spelling]:
    """Spell a point in time as Unix seconds. A bare number is not touched: it is one already."""
    if not isinstance(value, str) or re.fullmatch(r"[\d.]+", value.strip()):
        return []
    return [Spelling(int(moment.when.timestamp()), _assumed(moment)) for moment in moments(value)]


def _assumed(moment: Moment) -> str:
    return "" if moment.zoned else _NO_ZONE if moment.timed else _NO_TIME


_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_EMAIL = re.compile(r"[^@\s<>,;:\"()]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")
_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")
_BARE_URL = re.compile(r"(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24}(?::\d{1,5})?(?:[/?#][^\s<>\"{}|\\^`]*)?")
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")
_STEPS = re.compile(r"[^\s~/#$.\[\]]+(?:/[^\s~/#$.\[\]]+)*")
_INT64 = re.compile(r"-?\d+(?:\.0+)?(?:[eE]\+?\d+)?")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


def _is_date(value: str) -> bool:
    return bool(_DATE.fullmatch(value)) and bool(dates(value))


def _is_moment(value: str) -> bool:
    match = _MOMENT.fullmatch(value)
    return match is not None and bool(moments(value.replace(":60", ":59")))


def _is_address(kind: Callable[[str], object]) -> Callable[[str], bool]:
    def check(value: str) -> bool:
        try:
            kind(value)
        except ValueError:
            return False
        return True

    return check


_CHECKS: Final[dict[str, Callable[[str], object]]] = {
    "date": _is_date,
    "date-time": _is_moment,
    "uuid": _UUID.fullmatch,
    "tuuid": re.compile(r"[0-9a-fA-F]{32}").fullmatch,
    "email": _EMAIL.fullmatch,
    "uri": _URI.fullmatch,
    "url": _URI.fullmatch,
    "hostname": _HOST.fullmatch,
    "ipv4": _is_address(IPv4Address),
    "ipv6": _is_address(IPv6Address),
    "byte": _BASE64.fullmatch,
    "int64": _INT64.fullmatch,  # protobuf's JSON writes them as strings
    "uint64": _INT64.fullmatch,
    "json-pointer": _POINTER.fullmatch,
}
FORMATS: Final = frozenset(_CHECKS)


def is_format(value: str, name: str) -> bool | None:
    """Whether a text is in a format, None where the format is not known here."""
    check = _CHECKS.get(name)
    if check is None:
        return None
    return (len(value) <= _LONGEST_FORMED or name in _OF_ANY_LENGTH) and bool(check(value))


_LONGEST_FORMED: Final = 2048
_OF_ANY_LENGTH: Final = frozenset({"byte", "uri", "url"})


def respelled(value: Json, name: str) -> list[Spelling]:
    """Return how a value may be spelled in a format: one way, several that differ in meaning, or none."""
    out: dict[Json, Spelling] = {}
    for spelled in _CONVERSIONS[name](value) if name in _CONVERSIONS else _trimmed(value):
        if is_format(str(spelled.value), name) is not False or not isinstance(spelled.value, str):
            out.setdefault(spelled.value, spelled)
    return list(out.values())


def _trimmed(value: Json) -> list[Spelling]:
    return [Spelling(value.strip())] if isinstance(value, str) else []


def _as_uuid(value: Json) -> list[Spelling]:
    if not isinstance(value, str):
        return []
    digits = uuid_digits(value).lower()
    return [Spelling(dashed(digits))] if digits else []


def _as_tuuid(value: Json) -> list[Spelling]:
    """Spell a UUID without its dashes."""
    return [Spelling(str(spelling.value).replace("-", "")) for spelling in _as_uuid(value)]


def _as_email(value: Json) -> list[Spelling]:
    if not isinstance(value, str):
        return []
    text = value.strip()
    match = re.fullmatch(r"[^<>]*<\s*([^<>\s]+)\s*>", text)
    return [Spelling((match[1] if match else text).removeprefix("mailto:"))]


def _as_uri(value: Json) -> list[Spelling]:
    if not isinstance(value, str):
        return []
    text = value.strip().strip("<>")
    if _BARE_URL.fullmatch(text):
        return [Spelling(f"https://{text}", _NO_SCHEME)]
    if _URI.fullmatch(re.sub(r"[ \t]", "%20", text)):
        return [Spelling(re.sub(r"[ \t]", "%20", text))]
    return []


def _as_host(value: Json) -> list[Spelling]:
    if not isinstance(value, str):
        return []
    text = value.strip()
    if "://" not in text:
        return [Spelling(text.removesuffix("."))]
    split = urlsplit(text)
    loses_parts = bool(split.path.strip("/") or split.query or split.port)
    return (
        [Spelling(split.hostname, "what is not the host is left out" if loses_parts else "")] if split.hostname else []
    )


def _as_base64(value: Json) -> list[Spelling]:
    """Encode a text, or set right the alphabet and the padding of one that is encoded; either where both may be."""
    if not isinstance(value, str) or not value:
        return []
    encoded = Spelling(base64.b64encode(value.encode()).decode())
    text = re.sub(r"[\r\n]", "", value.strip())
    if _BASE64.fullmatch(text) and len(text) >= 24:
        return [Spelling(text)]
    text = text.translate(str.maketrans("-_", "+/")).rstrip("=")
    padded = text + "=" * (-len(text) % 4)
    return [Spelling(padded), encoded] if _BASE64.fullmatch(padded) else [encoded]


def _as_pointer(value: Json) -> list[Spelling]:
    """Put the slash before a pointer that it lacks (RFC 6901): `name` is none, and can be nothing but `/name`."""
    text = value.strip() if isinstance(value, str) else ""
    return [Spelling(text if text.startswith("/") else f"/{text}")] if _STEPS.fullmatch(text.lstrip("/")) else []


_CONVERSIONS: Final[dict[str, Callable[[Json], list[Spelling]]]] = {
    "date": as_date,
    "date-time": as_moment,
    "uuid": _as_uuid,
    "tuuid": _as_tuuid,
    "email": _as_email,
    "uri": _as_uri,
    "url": _as_uri,
    "hostname": _as_host,
    "byte": _as_base64,
    "json-pointer": _as_pointer,
    "unix-time": as_unix,
}


_GROUPS: Final = (8, 12, 16, 20)
_DIGITS: Final = re.compile(r"[0-9a-fA-F]{32}")
_AROUND: Final = "{}()\"'"
_BEGINNING: Final = re.compile(r"(?i)urn:uuid:")


def uuid_digits(text: str) -> str:
    """Return the 32 digits of a UUID in the letters that they were written in, empty where a text is none."""
    inner = _BEGINNING.sub("", text.strip(), count=1).strip(_AROUND)
    digits = re.sub(r"[-_\s]", "", inner)
    return digits if _DIGITS.fullmatch(digits) else ""


def dashed(digits: str) -> str:
    """Return the digits of a UUID with the dashes of RFC 9562."""
    starts, ends = (0, *_GROUPS), (*_GROUPS, len(digits))
    return "-".join(digits[start:end] for start, end in zip(starts, ends, strict=True))


def as_is_taken(text: str, is_taken: Callable[[str], bool]) -> str:
    """Return a UUID as a pattern of UUIDs takes it; empty where it takes none, or takes other texts of these digits.

    A pattern that takes the digits in other groups, or more of them, is one of names, and of no UUID.
    """
    digits = uuid_digits(text)
    for one in dict.fromkeys((digits, digits.lower(), digits.upper())) if digits else ():
        with_dashes, grouped_otherwise = dashed(one), dashed(one[::-1])[::-1]
        if is_taken(with_dashes):
            return with_dashes if not is_taken(one) and not is_taken(grouped_otherwise) else ""
        if is_taken(one):
            return one if not is_taken(one[1:]) and not is_taken(one + one[0]) else ""
    return ""
