"""The form of a date or a time that a text shows: by an example of it, or by its letters.

`Correct format should follow example: '2023-08-21 23:38:51.110+0200'`, `expected format: YYYY-MM-DD`, `use HH:MM`.

Knows: one text. Does not know: requests, what was sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from corrigible.rules.safety.written_moment import written
from corrigible.schema.exchange import Json

_READ: Final = 1000
_MOST: Final = 3
_EXAMPLE: Final = re.compile(
    r"(?i)(?:\b(?:examples?|e\.g\.?|eg|for instance|such as|like|as in)"
    r"|\bform(?:at)?(?::| is| of| should be| must be| has to be))[:,]? ?['\"`(\[]?"
    r"(?P<shown>\d{4}[-/.]\d{2}(?:[-/.]\d{2})?(?:[T ]\d{2}:\d{2}[\d:.,]{0,14}(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|\d{2}:\d{2}(?::\d{2})?)"
    r"(?![\w:/+-]|\.\d)"
)
_LETTERS: Final = re.compile(
    r"(?<![\w%/-])(?P<form>(?:(?:%Y|YYYY|yyyy)(?P<mark>[-/.])(?:%m|MM|mm)(?:(?P=mark)(?:%d|DD|dd))?"
    r"(?:(?:'?T'?| )(?:%H|HH|hh):(?:%M|MM|mm)(?::(?:%S|SS|ss)(?:[.](?:S{1,9}|s{1,9}|f{1,9}|%f))?)?(?:Z|XXX|%z)?)?"
    r"|(?:%H|HH|hh):(?:%M|MM|mm)(?::(?:%S|SS|ss))?))(?![\w:/%-]|[.,][A-Za-z%]| ?(?:%|[hH]{1,2}:|(?:a|A|am|AM|tt)\b))"
)
_OF_LETTERS: Final = re.compile(r"%Y|%z|XXX|%[a-zA-Z]|[Yy]{4}|'?T'?|Z|(?<=[.])[Ssf]+|[A-Za-z]{2}|.")
_ABOUT_TIME: Final = re.compile(r"(?i)date|time|month|day|hour|moment|format")
_OFFSET: Final = re.compile(r"(?<=\d)[+-]\d{2}:?\d{2}$")
_RUNS: Final = re.compile(r"\d+|\D")
_ZONE: Final = r"(?:Z|[+-]\d{2}:?\d{2})"


def shown_form(message: str) -> str:
    """Return a pattern for the whole value where a text shows how a date or a time is written; empty where it does not.

    Of several forms each is good.
    """
    text = message[:_READ]
    examples = _EXAMPLE.finditer(text) if _ABOUT_TIME.search(text) is not None else ()
    shown = [one["shown"].rstrip(".,") for one in examples]
    forms = [_of_example(one) for one in shown if written(one) is not None]
    forms = list(dict.fromkeys([*forms, *(_of_letters(one["form"]) for one in _LETTERS.finditer(text))]))
    if not forms or len(forms) > _MOST:
        return ""
    return f"^{forms[0]}$" if len(forms) == 1 else f"^(?:{'|'.join(forms)})$"


def is_of_moment(stated: Mapping[str, Json]) -> bool:
    """Whether all that is stated is a pattern of digits, and of what stands between those of a date or a time."""
    pattern = stated.get("pattern")
    return len(stated) == 1 and isinstance(pattern, str) and _OF_MOMENT.fullmatch(pattern) is not None


_OF_MOMENT: Final = re.compile(r"\^(?:\\d\{\d(?:,\d)?\}|\\x20|\\\.|[-+/:TZ()?|\[\]])+\$")


def _of_example(shown: str) -> str:
    zone = _OFFSET.search(shown) if ":" in shown else None  # of a date by itself nothing is an offset
    start = len(shown) if zone is None else zone.start()
    return "".join(
        _digits(len(run[0])) if run[0].isdecimal() else "[+-]" if run.start() == start else _plain(run[0])
        for run in _RUNS.finditer(shown)
    )


def _digits(count: int) -> str:
    return rf"\d{{{count}}}"


def _of_letters(form: str) -> str:
    out = []
    for part in _OF_LETTERS.findall(form):
        if part in ("Z", "XXX", "%z"):
            out.append(_ZONE)
        elif part.strip("'") == "T":
            out.append("T")
        elif part == "%f":
            out.append(r"\d{1,6}")
        elif part[0] == "%":
            out.append(_digits(4 if part == "%Y" else 2))
        else:
            out.append(_digits(len(part)) if part[0].isalpha() else _plain(part))
    return "".join(out)


def _plain(mark: str) -> str:
    """Return a character as a pattern has it: a blank is not written as one, which only prose has."""
    return {" ": r"\x20", ".": r"\."}.get(mark, mark)
