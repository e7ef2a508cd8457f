"""What the prose of a description tells of a value, and its schema cannot say or does not.

| prose                                      | what is told                                   |
|--------------------------------------------|------------------------------------------------|
| `1 for ascending, -1 for descending`       | which word each number of a closed list means  |
| `none (0), read (1)`                       | the same                                       |
| `When, in the site's timezone`             | that a time has no offset                      |
| "RS256", `ES256`; examples                 | how values of a text without a list look       |

Knows: sentences and examples of descriptions. Does not know: requests, errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from corrigible.rules.schema_repair.json_schema import Schema, choices
from corrigible.rules.schema_repair.values import LOCAL, MEANT
from corrigible.schema.exchange import Json

_READ: Final = 4000
"""Letters of a description that are looked at."""
_SHAPE: Final = re.compile(r"[:/@*]")
_TOLD: Final = re.compile(r"""(?<!\w)(?:"([^\s"]{2,64})"|`([^\s`]{2,64})`|'([^\s']{2,64})'|“([^\s”]{2,64})”)(?!\w)""")
"""A word between quotes."""
_MOST_TOLD: Final = 32
_NUMBER_FIRST: Final = re.compile(
    r"(?<![\w.-])(?P<number>-?\d{1,6})['\"`]?\s{0,2}(?:for|=|means|is|:|->|-|\u2013)\s{0,2}['\"`]?(?P<word>[A-Za-z][\w-]{1,30})"
)
_WORD_FIRST: Final = re.compile(
    r"(?<![\w-])(?P<word>[A-Za-z][\w-]{1,30})['\"`]?\s{0,2}(?:=|:|->|\()\s{0,2}['\"`]?(?P<number>-?\d{1,6})(?![\w.])"
)
_MOST: Final = 32
_LOCAL: Final = re.compile(
    r"(?i)\blocal (?:date|time|date[- ]?time|time ?zone)\b|\bwall[- ]clock\b|\bzone-?less\b"
    r"|\bin the (?:\w{1,30} ){0,2}(?:\w{1,30}(?:'|\u2019)s|site|account|project|server|user|store|shop|tenant"
    r"|organi[sz]ation) (?:local |own |default |configured )?time ?zone\b"
    r"|\bwithout (?:an? )?(?:time ?zone|utc offset|offset)\b"
)
"""Words of a description by which a time is told without its offset."""


def is_shaped(schema: Schema) -> bool:
    """Whether a schema as it is written has only examples of such texts."""
    examples = schema.get("examples")
    shown = [schema.get("example"), *(examples if isinstance(examples, list) else ())]
    texts = [one for one in shown if isinstance(one, str) and one]
    return bool(texts) and all(_SHAPE.search(text) for text in texts)


def told_values(schema: Schema) -> list[str]:
    """Return the texts that a schema as it is written has in its examples, and in quotes in its description."""
    prose, examples = schema.get("description"), schema.get("examples")
    shown = [schema.get("example"), *(examples if isinstance(examples, list) else ())]
    texts = [one for one in shown if isinstance(one, str) and 0 < len(one) <= _LONGEST_TOLD]
    matches = _TOLD.finditer(prose[:_READ]) if isinstance(prose, str) else ()
    return list(dict.fromkeys([*texts, *(next(filter(None, one.groups())) for one in matches)]))[:_MOST_TOLD]


_LONGEST_TOLD: Final = 64


def told_in_prose(prose: Json, schema: Schema) -> dict[str, Json]:
    """Return the annotations of a schema that its description gives."""
    if not isinstance(prose, str):
        return {}
    text = prose[:_READ]
    if (meant := _meanings(text, schema)) is not None:
        return {MEANT: meant}
    if told_local(text, schema):
        return {LOCAL: True}
    return {}


def _meanings(text: str, schema: Schema) -> dict[str, Json] | None:
    """Return the words for the numbers of a closed list, if the text has one for each."""
    numbers = [one for one in choices(schema) if isinstance(one, int) and not isinstance(one, bool)]
    if not 1 < len(numbers) <= _MOST or len(numbers) != len(choices(schema)):
        return None
    told = [_pairs(pattern.finditer(text)) for pattern in (_NUMBER_FIRST, _WORD_FIRST)]
    whole = [one for one in told if sorted(one.values()) == sorted(numbers)]
    return dict(whole[0]) if len(whole) == 1 else None


def _pairs(matches: Iterable[re.Match[str]]) -> dict[str, int]:
    return {match["word"]: int(match["number"]) for match in matches}


_READ_OF_TIMES: Final = 400


def told_local(prose: str, schema: Schema) -> bool:
    """Whether the description of a time says that it has no offset of its own."""
    return schema.get("format") == "date-time" and _LOCAL.search(prose[:_READ_OF_TIMES]) is not None
