"""The sentence of an error that has several texts: the first that names something, else the first.

Many servers have a general text for each kind of error, the same for all requests, and beside it what is wrong with
this one: `{"Message": "Bad file format", "Details": "Missing field Resources in the JSON body"}`.

Knows: the texts of one error, the names of the request. Does not know: where errors are in an answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from corrigible.rules.budget import spend
from corrigible.schema.exchange import Json

from .members import text

_READ: Final = 500
_STATUS: Final = re.compile(
    r"\W*(?:(?:http|status|error|code)[ :/-]*)*[45]\d\d\b\W*|\b(?:JSON|HTTP|API|URL)s?\b", re.IGNORECASE
)
"""A status before its phrase, and words of any message, are no names."""
_QUOTED: Final = re.compile(r"""['"`“\[{][^'"`”\]}\n]""")
_NAMING: Final = re.compile(r"\d|\w_\w|[a-z][A-Z]|(?<=\w )[A-Z]\w|: ?\S")
"""Numbers, names that are no words, capitals inside the sentence, a value behind a colon."""
_WORD: Final = re.compile(r"[A-Za-z_][\w.-]*")
_ADVICE: Final = re.compile(
    r"(?i)\W*(?:(?:please )?(?:see|visit|refer|check|read|contact|try|consult|ensure|make sure)|for (?:more|further)"
    r"|https?:|more info|at |traceback|caused by:? (?:java|system|org)\.)"
)
"""What is said about the documentation or the server's code, and what to do, besides what is wrong."""
_FEWEST_WORDS: Final = 2


def sentence(
    members: Mapping[str, Json], texts: Sequence[str], beside: Mapping[str, int], sent: Collection[str]
) -> str:
    """Return the sentence of an error, empty where it has none.

    `texts` are the names of the members that may hold it, the most telling first; `beside` are those that say more
    than a general text, with their ranks; `sent` are names of the request.
    """
    first = text(members, *texts)
    names = members.keys() & beside.keys()
    if len(names) < 2 and all(members[name] == first for name in names):
        return first
    others = (members[name] for name in sorted(names, key=beside.__getitem__))
    particular = [one for one in others if isinstance(one, str) and one != first and _is_sentence(one)]
    if not particular or names_something(first, sent):
        return first
    longer = [one for one in particular if len(one.split()) > len(first.split())] if first else particular
    return next((one for one in particular if names_something(one, sent)), next(iter(longer), first))


def names_something(message: str, sent: Collection[str]) -> bool:
    """Whether a text is about this very request: it has a name of it, a quoted word, a number, a name of its own."""
    spend()
    if _QUOTED.search(message, 0, _READ) is not None:
        return True
    told = _STATUS.sub(" ", message[:_READ]).strip(" .!")
    return _NAMING.search(told) is not None or not set(_WORD.findall(told)).isdisjoint(sent)


def _is_sentence(message: str) -> bool:
    """Whether a text tells what is wrong in words: no code, no address, no trace of the server's program."""
    if " " not in message or "\n" in message:
        return False
    parts = message[:_READ].split()
    is_title = all(word[:1].isupper() for word in parts)  # `Bad Request`, `Unprocessable Entity`
    return len(parts) >= _FEWEST_WORDS and not is_title and _ADVICE.match(message) is None
