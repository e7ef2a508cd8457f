"""What error prose says in the turns that most APIs use: which words are wrong, which are allowed, what is too large.

Knows: English sentences of validators. Does not know: any API, any schema.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_QUOTED: Final = re.compile(r"(?<!\w)[\"'`“]([^\"'`“”\n]{1,120})[\"'`”](?!\w)")
_NUMBER: Final = r"[$€£]?(-?\d[\d,]*(?:\.\d+)?)"
_NOT_MORE: Final = r"(?:more|greater|larger|longer)"
_NOT_LESS: Final = r"(?:less|fewer|smaller)"
_OF: Final = r"(?: value| of| is| length| allowed| amount| charge)*"
_MOST: Final = re.compile(
    rf"(?i)(?:less than or equal to|at most|no {_NOT_MORE} than|not (?:be )?{_NOT_MORE} than|maximum{_OF}|up to|<="
    rf"|not exceed)[:\s]*{_NUMBER}"
)
_BELOW: Final = re.compile(rf"(?i)(?:(?:must|should|has to) be (?:less|smaller|lower) than|<)[:\s]*{_NUMBER}")
_LEAST: Final = re.compile(
    rf"(?i)(?:greater than or equal to|at least|no {_NOT_LESS} than|not (?:be )?{_NOT_LESS} than|minimum{_OF}|>=)"
    rf"[:\s]*{_NUMBER}"
)
_ABOVE: Final = re.compile(rf"(?i)(?:(?:must|should|has to) be (?:greater|larger|more) than|>)[:\s]*{_NUMBER}")
_BETWEEN: Final = re.compile(rf"(?i)between {_NUMBER} and {_NUMBER}")
_LIST: Final = re.compile(
    r"(?i)(?:must be (?:one of|either)|one of|(?:supported|allowed|valid|possible|permitted) values?(?: are)?"
    r"|expected(?: one of)?|either|options(?: are)?)[:\s]+([^\n]{1,400})"
)
_MEANT: Final = re.compile(r"(?i)did you mean[:\s]+[\"'`“]?([\w.\-\[\]/]+)")
_INSTEAD: Final = re.compile(
    r"(?i)(?:use|try|send|replace(?:d)? (?:it )?with)\s+[\"'`“]([^\"'`”]+)[\"'`”]\s+(?:instead|rather)"
)
_UNKNOWN: Final = re.compile(
    r"(?i)\b(?:unknown|unrecogni[sz]ed|unexpected|extraneous|not a member|not allowed|not permitted"
    r"|additional propert\w+|no such field|not supported|(?:may|must) not be (?:set|specified))\b"
)
_MISSING: Final = re.compile(
    r"(?i)\b(?:required|missing|must (?:be (?:set|given|provided|specified)|provide|specify|have)|can't be blank"
    r"|wasn't supplied|not (?:given|supplied|provided))\b"
)


@dataclass(frozen=True, slots=True)
class Prose:
    """What one message says, as far as patterns go."""

    quoted: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    meant: str = ""
    instead: str = ""
    least: float | None = None
    most: float | None = None
    is_unknown: bool = False
    is_missing: bool = False


def read(text: str) -> Prose:
    """Return what a message says."""
    match, instead = _MEANT.search(text), _INSTEAD.search(text)
    between = _BETWEEN.search(text)
    return Prose(
        tuple(_QUOTED.findall(text)),
        _allowed(text),
        match[1].rstrip(".?!") if match else "",
        instead[1] if instead else "",
        _number(between[1]) if between else _bound(text, _LEAST, _ABOVE, 1),
        _number(between[2]) if between else _bound(text, _MOST, _BELOW, -1),
        _UNKNOWN.search(text) is not None,
        _MISSING.search(text) is not None,
    )


def _bound(text: str, reached_pattern: re.Pattern[str], passed: re.Pattern[str], step: int) -> float | None:
    if hit := reached_pattern.search(text):
        return _number(hit[1])
    if hit := passed.search(text):
        return _number(hit[1]) + step
    return None


def _number(text: str) -> float:
    value = float(text.replace(",", ""))
    return int(value) if value.is_integer() else value


def _allowed(text: str) -> tuple[str, ...]:
    """Return the values of a list in prose: quoted ones, else words between commas."""
    hit = _LIST.search(text)
    if hit is None:
        return ()
    if quoted := _QUOTED.findall(hit[1]):
        return tuple(quoted)
    words = [part.strip(" .'\"`[]()") for part in re.split(r",|\bor\b|\band\b|\|", re.split(r"\.\s|;", hit[1])[0])]
    return tuple(words) if len(words) > 1 and all(word and " " not in word for word in words) else ()
