"""Parts of a request that say which request it is, or who makes it: no repair puts a value there by itself.

What an error says is somebody's text, and not always the server's: "Plan '%s' is invalid" has what a stranger chose.

Knows: names of headers and members. Does not know: requests, values.
"""

from __future__ import annotations

import re
from typing import Final

from corrigible.rules.lookup_headers import makes_another_request, says_form
from corrigible.rules.pointer import segments
from corrigible.schema.cache import cached
from corrigible.schema.document import CREDENTIALS, SENDERS_OWN, is_credential_name

_OF_THE_BODY: Final = frozenset({"content-type", "content-encoding", "content-language"})
_PRECONDITIONS: Final = frozenset({"if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range"})
_METHOD: Final = re.compile(r"(?i)_method|(?:x[_-])?(?:http[_-])?method[_-]?override")
"""By this member some frameworks make a POST another method."""


@cached(1024)
def is_protected(pointer: str) -> bool:
    """Whether a value there makes the request another one, or one of somebody else."""
    part, name = _part_and_name(pointer)
    if part == "headers":
        low = name.lower()
        return low not in _OF_THE_BODY and low not in _PRECONDITIONS and makes_another_request(low)
    return part in ("query", "body") and (is_credential_name(name) or _METHOD.fullmatch(name) is not None)


@cached(1024)
def is_the_senders(pointer: str) -> bool:
    """Whether a header is a credential, or routes and frames the message: no suggestion sets it."""
    part, name = _part_and_name(pointer)
    return part == "headers" and name.lower() in CREDENTIALS | SENDERS_OWN


@cached(1024)
def is_plain_header(pointer: str) -> bool:
    """Whether a header only says in which form or version the body is, or the answer is wanted."""
    part, name = _part_and_name(pointer)
    return part == "headers" and (name.lower() in _OF_THE_BODY or says_form(name))


def _part_and_name(pointer: str) -> tuple[str, str]:
    parts = segments(pointer)
    return (parts[0], parts[-1]) if len(parts) > 1 else ("", "")
