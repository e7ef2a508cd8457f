"""How much an answer says, and how a caller asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple
from urllib.parse import unquote_plus

PREFERENCE = "recovery-feedback"
CALLER = "recovery-feedback-caller"
"""Where gRPC callers name themselves."""


class Mode(StrEnum):
    """A pure formatting switch: it never changes what is accepted."""

    NONE = "none"
    TRADITIONAL = "traditional"
    VERBOSE = "verbose"
    REFLECTIVE = "reflective"


class ModeChoice(NamedTuple):
    """The mode of one exchange: read once, where it begins."""

    mode: Mode
    is_preferred: bool = False
    """Whether a `Prefer` header asked for it: then the answer says that it was applied."""
    is_compact: bool = False
    """Whether the caller asked for feedback with nothing but what its next request needs (`format=compact`)."""


_NAMES = {mode.value: mode for mode in Mode} | {"traditional_verbose": Mode.VERBOSE}

# RFC 7240 section 2: preference = token [ BWS "=" BWS word ] *( OWS ";" [ OWS parameter ] )
_PREFERENCE = re.compile(rf'^\s*{PREFERENCE}\s*=\s*(?:"([^"]*)"|([^\s;"]+))\s*(?:;|$)', re.IGNORECASE)


def parse_mode(text: str) -> Mode | None:
    """Return the mode of that name (`traditional_verbose` is `verbose`), or None for any other text."""
    return _NAMES.get(text.strip().lower())


def preferred(values: Iterable[str]) -> Mode | None:
    """Read `Prefer` header values. An unknown value is ignored; the first known one counts (RFC 7240 section 2)."""
    for value in values:
        for preference in _split(value):
            match = _PREFERENCE.match(preference)
            if match is not None:
                mode = parse_mode(match[1] or match[2] or "")
                if mode is not None:
                    return mode
    return None


_NAMED = re.compile(rf'\s*{PREFERENCE}\s*(?:=\s*(?:"[^"]*"|[^\s;"]+)\s*)?(?=;)', re.IGNORECASE)
_PARAMETER = re.compile(r';\s*([^\s=;"]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*)))?\s*')
_LONGEST_NAME = 200


def named_caller(values: Iterable[str]) -> str:
    """Read from `Prefer` how the caller calls itself: `recovery-feedback=reflective; caller="episode-7"`."""
    return next((text for name, text in _parameters(values) if name == "caller"), "")


def is_compact(values: Iterable[str]) -> bool:
    """Read from `Prefer` whether the caller asks for short feedback: `recovery-feedback=reflective; format=compact`."""
    return next((text for name, text in _parameters(values) if name == "format"), "").lower() == "compact"


def _parameters(values: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the parameters of our preference: names in lower case, texts without quotes."""
    for value in values:
        for preference in _split(value) if ";" in value else ():
            named = _NAMED.match(preference)
            for parameter in _PARAMETER.finditer(preference, named.end()) if named is not None else ():
                text = re.sub(r"\\(.)", r"\1", parameter[2] or parameter[3] or "")
                yield parameter[1].lower(), text[:_LONGEST_NAME]


_LONGEST: Final = 4096
"""Letters of a header that are read: a preference of ours stands within them, or is none."""


def _split(value: str) -> list[str]:
    """Split a header value at the commas outside quotes."""
    if len(value) > _LONGEST:
        return []
    return re.findall(r'(?:[^,"]|"[^"]*")+', value)


def queried(target: str) -> Mode | None:
    """Return the mode that a target's `?mode=` names, if it names one of ours."""
    for part in target.partition("?")[2].split("&"):
        name, _, value = part.partition("=")
        if name == "mode" and (mode := parse_mode(unquote_plus(value))) is not None:
            return mode
    return None


def without_mode(target: str) -> str:
    """Return the target without a `mode` that is ours; every other byte stays."""
    path, mark, query = target.partition("?")
    if not mark:
        return target
    parts = query.split("&")
    remaining = [p for p in parts if not (p.startswith("mode=") and parse_mode(unquote_plus(p[5:])) is not None)]
    if len(remaining) == len(parts):
        return target
    return f"{path}?{'&'.join(remaining)}" if remaining else path
