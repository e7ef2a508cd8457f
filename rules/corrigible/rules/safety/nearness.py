"""Which names or values are near a text, and whether one of them is so alone. The only notion of nearness there is.

One element means that nothing else is as near; more are a choice that is not ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from typing import Any, Final

from corrigible.rules.budget import spend
from corrigible.schema.cache import cached

MOST: Final = 5
"""Candidates that are worth to be read: where more are as near, the list of all that is allowed says more."""

LONGEST: Final = 256
"""A longer text is no misspelling, and nothing is a misspelling of it."""


def nearest(text: str, candidates: Sequence[Any]) -> list[str]:
    """Return up to five candidates near a text, nearest first; none if nothing is near.

    Case, `-`, `_` and spaces do not count. Near is a misspelling, a beginning or an ending more or less, or a candidate
    in which every word of the text is found. What begins with another letter is never near by itself, in no word of it:
    a prefix turns a meaning around (`unmetered`, `biweekly`, `no_prorations`, `max_` for `min_`), also one that begins
    alike (`prepaid`). Nor is one with other numbers in the same places: `v1.1` is not `v1.0`.

    One element means that nothing else is as near: whatever is as few typing errors away is in the list too, with any
    first letter, and so is every candidate that begins with the text (`TIMESTAMP`: `TIMESTAMP_ASC`, `TIMESTAMP_DESC`).
    """
    return all_near(text, candidates)[:MOST]


def all_near(text: str, candidates: Sequence[Any]) -> list[str]:
    """Return what `nearest` does, however many they are."""
    wanted = _plain(text) if len(str(text)) <= LONGEST else ""
    if not wanted:
        return []
    known = [one for one in dict.fromkeys(map(str, candidates)) if len(one) <= LONGEST]
    spend(3 * len(known))
    if text in known:
        return [text]
    scores = {candidate: _nearness(wanted, _plain(candidate)) for candidate in known}
    near = [candidate for candidate in known if scores[candidate] >= _NEAR]
    if not near:
        return []
    best = max(scores.values())
    if best == _SAME:
        return [candidate for candidate in near if scores[candidate] == _SAME]
    least = min(distance(text, candidate) for candidate in near)
    # Of abbreviations and words in another order the slips say little: there the likeness decides, with a margin.
    alike = max(_NEAR, best - _MARGIN) if least > _AFFIX else math.inf
    goes_on = least == 1 and _is_prefix(wanted, near)
    kept = [
        one
        for one in known
        if scores[one] >= alike
        or _is_as_near(wanted, one, least, scores[one] >= _NEAR)
        or (goes_on and _plain(one).startswith(wanted + "_"))
    ]
    inflected = [one for one in known if _is_inflected(text, one)]
    if len(inflected) > 1 and set(kept) <= set(inflected):
        return sorted(inflected, key=lambda candidate: -scores[candidate])
    return sorted(kept, key=lambda candidate: -scores[candidate])


_SAME = 2.0
_NEAR = 0.6
_MARGIN = 0.08
_SHORTEST: Final = 3
"""Letters of a beginning that says something."""
_NUMBER = re.compile(r"[0-9]+")


def last_word(name: str) -> str:
    """Return the last word of a name: `id` of `flow_id` and of `flowId`."""
    return re.split(r"[_-]|(?<=[a-z])(?=[A-Z])", name)[-1]


def split_words(name: str) -> tuple[str, ...]:
    """Return the words of a name, in lower case: `defaultBranch_name` is three."""
    return tuple(re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", re.sub(r"[\W_]+", " ", name)).casefold().split())


def in_brackets(name: str, declared: Sequence[str]) -> str:
    """Return the only declared name that ends with another one in brackets (`pagination[page]`), where none is that."""
    inside = [one for one in declared if one.endswith(f"[{name}]")] if name and "[" not in name else []
    return inside[0] if len(inside) == 1 and not any(is_same(name, one) for one in declared) else ""


@cached(4096)
def letters(text: str) -> str:
    """Return a text without what separates its words, in lower case."""
    return re.sub(r"[\W_]", "", text).casefold()


def is_same(first: str, other: str) -> bool:
    """Whether two texts are one but for case and separators: that is a spelling and no guess."""
    return letters(first) == letters(other)


@cached(4096)
def spelled(text: str) -> str:
    """Return a value without what merely separates its words, in lower case: `utf_8`, `UTF-8` and `utf 8` are one.

    Unlike in a name, a sign in a value may be its meaning: `C++` is not `C`, `-name` sorts the other way around, `A-`
    is another blood group than `A`, `v1.1` another version than `v11`.
    """
    out = _BETWEEN_NUMBERS.sub("-", _QUOTE_OR_BLANK.sub(" ", text.casefold()).strip())
    out = _BLANK_BESIDE_A_SIGN.sub("", _BETWEEN_WORDS.sub("", out))
    return _AROUND.sub("", out)


def signs(text: str) -> str:
    """Return the signs of a value that may be its meaning."""
    return "".join(sign for sign in spelled(text) if not sign.isalnum())


def is_same_spelling(first: str, other: str) -> bool:
    """Whether two values are one but for case and what separates their words."""
    return spelled(first) == spelled(other) != ""


def is_relisted(first: str, other: str) -> bool:
    """Whether two texts list the same, each with separators of its own."""
    items = _SEPARATORS.split(first.strip())
    return len(items) > 1 and items == _SEPARATORS.split(other.strip())


_SEPARATORS: Final = re.compile(r"\s*[,;|\s]\s*")
_QUOTE_OR_BLANK: Final = re.compile(r"[\s_'\"`]+")
_JOINING: Final = " ./:,;\u2010-\u2015-"
_BETWEEN_WORDS: Final = re.compile(rf"(?<=[^\W\d])[{_JOINING}]+(?=\w)|(?<=\d)[{_JOINING}]+(?=[^\W\d])")
_BETWEEN_NUMBERS: Final = re.compile(r"(?<=\d)[ \u2010-\u2015-](?=\d)")
_BLANK_BESIDE_A_SIGN: Final = re.compile(r"(?<!\w) | (?!\w)")
_AROUND: Final = re.compile(r"^[./]+(?=[^\W\d])|(?<=\w)[./,;:]+$")


def distance(text: str, candidate: str) -> int:
    """Return how many slips (a letter more, less, other, or two in turn) a candidate is away.

    What goes on from one of the two, or leads to it, is two away at most, however long: an ending was left out.
    """
    first, other = letters(text), letters(candidate)
    shorter, longer = (first, other) if len(first) <= len(other) else (other, first)
    if len(shorter) >= _SHORTEST and (longer.startswith(shorter) or longer.endswith(shorter)):
        return min(_AFFIX, slips(first, other, _AFFIX))
    return slips(first, other)


_AFFIX: Final = 2


def slips(one: str, other: str, most: int | None = None) -> int:
    """Return how many letters are more, less, other, or two in turn, none of them twice; over `most` any such number.

    All cells of a column are computed as the bits of a number: H. Hyyro, "A bit-vector algorithm for computing
    Levenshtein and Damerau edit distances", 2003. It takes some microseconds for words.
    """
    shorter, longer = (one, other) if len(one) <= len(other) else (other, one)
    most = len(longer) if most is None else most
    if not shorter or len(longer) - len(shorter) > most:
        return len(longer)
    places = _places(shorter)
    last = 1 << len(shorter) - 1
    every = 2 * last - 1
    more, less, same, before, found = every, 0, 0, 0, len(shorter)
    for left, letter in zip(range(len(longer) - 1, -1, -1), longer, strict=True):
        here = places.get(letter, 0)
        turned = (~same & here) << 1 & before
        same = ((here & more) + more ^ more | here | less | turned) & every
        up, down = less | ~(same | more), same & more
        found += bool(up & last) - bool(down & last)
        if found - left > most:  # each letter that is left makes one less of it at most
            return found - left
        up = up << 1 | 1
        more, less, before = (down << 1 | ~(same | up)) & every, up & same & every, here
    return found


def common_length(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Return the length of the longest common subsequence. (The same way: H. Hyyro, "Bit-parallel LCS", 2004.)"""
    places, every = _places(one), (1 << len(one)) - 1
    rest = every
    for element in other:
        kept = rest & places.get(element, 0)
        rest = (rest + kept | rest - kept) & every
    return (every ^ rest).bit_count()


def _places(elements: Sequence[Hashable]) -> dict[Hashable, int]:
    places: dict[Hashable, int] = {}
    for number, element in enumerate(elements):
        places[element] = places.get(element, 0) | 1 << number
    return places


def _similarity(one: str, other: str) -> float:
    """Return the share of the letters that both have, in their order."""
    return 2 * common_length(one, other) / (len(one) + len(other))


def is_slip(name: str, other: str) -> bool:
    """Whether a name is another but for a slip of the fingers (one letter in four), separators, or a plural."""
    shorter, two = sorted((letters(name), letters(other)), key=len)
    most = max(1, len(shorter) // 4)
    return is_plural(shorter, two) or slips(shorter, two, most) <= most


def is_plural(name: str, other: str) -> bool:
    """Whether one of two names is the other's plural."""
    shorter, two = sorted((letters(name), letters(other)), key=len)
    return len(shorter) > 1 and two in (shorter + "s", shorter + "es", shorter.removesuffix("y") + "ies")


def is_short_form(short: str, name: str) -> bool:
    """Whether a name is one that everybody writes for another one: `qty`, `msg`."""
    return letters(name) in _SHORT_FORMS.get(letters(short), ())


def abbreviates(short: str, name: str) -> bool:
    """Whether a name is a common short form of another one: the beginning of its only word, or one such as `qty`."""
    one, other = letters(short), letters(name)
    if is_short_form(short, name):
        return True
    is_beginning = _SHORTEST <= len(one) < len(other) and other.startswith(one) and not is_plural(one, other)
    return is_beginning and last_word(name) == name


_SHORT_FORMS: Final[dict[str, tuple[str, ...]]] = {
    "acct": ("account",),
    "addr": ("address",),
    "amt": ("amount",),
    "cfg": ("config", "configuration"),
    "dept": ("department",),
    "dst": ("destination",),
    "fname": ("firstname",),
    "img": ("image",),
    "lname": ("lastname",),
    "lng": ("longitude",),
    "mgr": ("manager",),
    "msg": ("message",),
    "passwd": ("password",),
    "pkg": ("package",),
    "q": ("query",),
    "pwd": ("password",),
    "qty": ("quantity",),
    "src": ("source",),
    "tel": ("phone", "phonenumber", "telephone"),
    "txt": ("text",),
    "usr": ("user", "username"),
}
"""Short forms that are no beginnings."""


def _is_prefix(name: str, near: Sequence[str]) -> bool:
    """Whether all that is one letter away is the text with an ending, no plural.

    `create` is then no slip for `created`: it may as well be the first word of `create_pending`.
    """
    plain = [letters(candidate) for candidate in near if distance(name, candidate) == 1]
    text = letters(name)
    return len(text) >= _SHORTEST and all(
        candidate.startswith(text) and not is_plural(candidate, text) for candidate in plain
    )


_ENDINGS: Final = frozenset({"s", "es", "d", "ed", "ing", "r", "er"})


def _is_inflected(text: str, candidate: str) -> bool:
    """Whether a candidate is a form of the word that the text is: which of several is meant, the word does not say."""
    word, other = text.casefold(), candidate.casefold()
    stem = word if other.startswith(word) else word.removesuffix("e")
    return len(stem) >= _SHORTEST and other.startswith(stem) and other[len(stem) :] in _ENDINGS


def _is_as_near(name: str, candidate: str, least: int, near: bool) -> bool:
    """Whether a candidate is not farther away than the best, whatever letter it begins with."""
    first, other = letters(name), letters(candidate)
    shorter, longer = (first, other) if len(first) <= len(other) else (other, first)
    if len(longer) - len(shorter) > least and shorter not in longer:
        return False
    away = distance(name, candidate)
    if away > least or near:
        return away <= least
    same = away <= 1 or 2 * away < len(shorter) or longer.startswith(shorter)
    return same and not _other_numbers(name, _plain(candidate))


def _other_numbers(name: str, shape: str) -> bool:
    numbers = _NUMBER.findall(name)
    others = _NUMBER.findall(shape) if numbers else []
    return len(numbers) == len(others) and numbers != others


def _nearness(name: str, shape: str) -> float:
    """Return 2 for the same but for separators, down to 0 for nothing in common."""
    joined, whole = name.replace("_", ""), shape.replace("_", "")
    if not joined or not whole:
        return 0.0
    if joined == whole:
        return _SAME
    if not joined.isalpha() and _other_numbers(name, shape):
        return 0.0
    words, shape_words = name.split("_"), shape.split("_")
    if len(words) == len(shape_words):
        return min(_word_nearness(word, other) for word, other in zip(words, shape_words, strict=True))
    if len(words) > 1 and all(
        any((word == other or (len(word) >= 4 and other.startswith(word))) for other in shape_words) for word in words
    ):
        return 0.85
    score = _similarity(joined, whole) if joined[0] == whole[0] else 0.0
    return score if score >= 0.85 else 0.0


_LEAST_SHARE: Final = 0.6
"""Of the letters of a word that is another form of a longer one, unless that begins with it."""


def _word_nearness(word: str, other: str) -> float:
    if word == other:
        return 1.5
    if word[:1] != other[:1]:
        return 0.0
    shorter, longer = sorted((word, other), key=len)
    if longer.endswith(shorter) and len(longer) > len(shorter) + 1 and longer != f"is{shorter}":
        return 0.0  # `paid` and `postpaid` begin alike by chance: a prefix turns a meaning around
    is_short = len(shorter) <= _SHORTEST and len(shorter) < _LEAST_SHARE * len(longer)
    if is_short and not longer.startswith(shorter):
        return 0.0  # `MIN` has letters of `MEDIAN`, and is none of its forms
    score = _similarity(word, other)
    if score >= _NEAR:
        score += 0.1 * min(3, _shared_beginning(word, other))
    if min(len(word), len(other)) >= _SHORTEST and (word.startswith(other) or other.startswith(word)):
        score = max(score, 0.9)
    return score


def _shared_beginning(first: str, other: str) -> int:
    return next((i for i, (a, b) in enumerate(zip(first, other, strict=False)) if a != b), min(len(first), len(other)))


@cached(4096)
def _plain(text: str) -> str:
    return text.casefold().replace("-", "_").replace(" ", "_")
