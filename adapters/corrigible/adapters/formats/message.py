"""Members that the sentence of an error names: the missing one, the one too many, the one that it is about.

Only names are taken from it, and only in a few fixed sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple


class Named(NamedTuple):
    """A member that a sentence names."""

    member: str = ""
    constraint: str = ""
    """`required` where it is missing, `additionalProperties` where it is one too many."""
    where: str = ""
    """The part of the request, where the sentence names it."""


_NAME: Final = r"""['"`]?(?P<a>[\w$@:\[\].-]{1,80}?)['"`]?(?:[.,;]?$|[,;\s])"""
_QUOTED: Final = r"""['"`](?P<a>[\w$@:\[\].-]{1,80})['"`]"""
_KIND: Final = (
    r"(?:(?P<where>query|header|path|body|form|cookie) )?(?:(?:string )?param(?:eter)?s?|(?P<header>headers?)"
    r"|propert(?:y|ies)|fields?|arguments?|attributes?|members?|keys?)"
)
_PLAIN_KIND: Final = r"(?:param(?:eter)?s?|propert(?:y|ies)|fields?|arguments?|attributes?|members?|keys?)"


def _compiled(*texts: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(text, re.IGNORECASE) for text in texts)


_MISSING: Final = _compiled(
    rf"\b(?:must have|requires|lacks)(?: an?| the)? (?:required )?{_KIND}:? {_NAME}",
    rf"\bmissing (?:required )?{_KIND}:? {_NAME}",
    rf"^required {_KIND} {_QUOTED} (?:is (?:not present|missing)|was not)\b",
    rf"^{_QUOTED} is (?:a )?required(?: property| field| parameter)?\b",
    rf"""^(?:the )?{_KIND} ['"`]?(?P<a>[\w$@.-]{{1,80}})['"`]? (?:is (?:required|missing)|must be set)\b""",
    rf"""^the ['"`]?(?P<a>[\w$@.-]{{1,80}})['"`]? {_KIND} (?:is (?:required|missing)|must be set)\b""",
    r"^(?P<a>[a-z_$][\w$@.-]{0,79}) is (?:missing|(?:a )?required(?: property| field| parameter)?)"
    r"(?: (?:when|if|unless) .{1,200})?\.?$",
    rf"^{_QUOTED} (?:wasn't|was not|must be) (?:supplied|provided|given|specified)\b",
)
_UNKNOWN: Final = _compiled(
    r"""additional propert(?:y|ies); found ['"`](?P<a>[^'"`]{1,80})['"`]""",
    r"""^additional properties are not allowed \(['"`](?P<a>[^'"`]{1,80})['"`] w(?:as|ere) unexpected\)""",
    r"""unevaluated properties: ['"`](?P<a>[^'"`]{1,80})['"`]""",
    rf"\b(?:unknown|unexpected|unrecogni[sz]ed|unevaluated|undeclared) {_KIND}:? {_NAME}",
    rf"^{_KIND} {_QUOTED} (?:is not allowed|does not exist|is unknown)",
    r"^property (?P<a>[\w$@.-]{1,80}) should not exist$",
    r"^extra (?P<where>query) parameter(?:\(s\))? ['\"`]?(?P<a>[\w$@.-]{1,80})['\"`]? not in spec",
)
_SUBJECT: Final = _compiled(
    rf"\bfor (?P<where>query|path|header) parameter {_QUOTED}",
    rf"^.{{1,80}} - {_QUOTED}$",
    rf"^(?:the )?(?:{_PLAIN_KIND} )?['\"`]?(?P<a>[\w$@.\[\]-]{{1,80}}?)['\"`]? (?:{_PLAIN_KIND} )?"
    r"(?:is|are|must|has|does|should|can(?:not|'t|\b)|may not)\b",
    r"^(?:the )?(?:invalid|unknown|unsupported|bad|wrong) (?:value (?:for|of) )?"
    rf"['\"`]?(?P<a>[\w$@.\[\]-]{{1,80}}?)['\"`]?(?: {_PLAIN_KIND})?(?:[.:,;]|$)",
)
_LONGEST: Final = 500


def named(message: str) -> Named:
    """Return the missing or unknown member that a message names, nothing where it names neither."""
    for constraint, patterns in (("required", _MISSING), ("additionalProperties", _UNKNOWN)):
        if (match := _search(message, patterns)) is not None:
            return Named(match["a"], constraint, _part_of_request(match))
    return Named()


def subject(message: str) -> Named:
    """Return what a message is about in its first words; it may be no member at all."""
    match = _search(message, _SUBJECT)
    return Named() if match is None else Named(match["a"], "", _part_of_request(match))


def missing_member(message: str) -> str:
    """Return the missing member that a message names, empty where it names none."""
    match = _search(message, _MISSING)
    return match["a"] if match is not None else ""


def unknown_member(message: str) -> str:
    """Return the unknown member that a message names, empty where it names none."""
    match = _search(message, _UNKNOWN)
    return match["a"] if match is not None else ""


def _search(message: str, patterns: Sequence[re.Pattern[str]]) -> re.Match[str] | None:
    if len(message) > _LONGEST:
        return None
    return next((match for pattern in patterns if (match := pattern.search(message)) is not None), None)


def _part_of_request(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return "header" if groups.get("header") else (groups.get("where") or "").lower()
