"""The caller's credentials in a request that was sent, by their names, and texts without their values.

Knows: names of headers, of parameters of the query, of cookies. Does not know: feedback, policies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from corrigible.schema.document import CREDENTIALS, is_credential_name
from corrigible.schema.form import fields

HIDDEN: Final = "(hidden)"
_SHORTEST: Final = 6
"""Characters of a value that is looked for in texts: a shorter one is part of other words."""
_LONG: Final = 16
"""Characters of a cookie's value that identifies somebody, whatever its name."""


def credential_values(
    headers: Iterable[tuple[str, str]], query: str, names: frozenset[str] = frozenset()
) -> frozenset[str]:
    """Return the texts that no text shows. `names` are names of credentials, in lower case, besides the usual ones."""
    try:
        parameters = fields(query)
    except ValueError:  # too many fields
        parameters = []
    values = [*_in_headers(headers, names), *(value for name, value in parameters if _is_one(name, names))]
    return frozenset(value for value in values if len(value) >= _SHORTEST)


def without(values: frozenset[str], text: str) -> str:
    """Return a text without these values."""
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return text


def _in_headers(headers: Iterable[tuple[str, str]], names: frozenset[str]) -> Iterator[str]:
    for name, value in headers:
        if name.lower() == "cookie":
            yield from _in_cookies(value, names)
        elif name.lower() in CREDENTIALS:
            yield value.partition(" ")[2].strip() or value.strip()  # the scheme is no secret
        elif _is_one(name, names):
            yield value.strip()


def _in_cookies(cookies: str, names: frozenset[str]) -> Iterator[str]:
    for pair in cookies.split(";"):
        name, _, value = pair.partition("=")
        if _is_one(name.strip(), names) or len(value.strip()) >= _LONG:  # `theme=default` is none
            yield value.strip()


def _is_one(name: str, names: frozenset[str]) -> bool:
    return name.lower() in names or is_credential_name(name)
