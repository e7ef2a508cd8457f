"""Look-ups as values: a rule yields what it wants to know, a front end performs it and sends the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote


@dataclass(frozen=True, slots=True)
class Lookup:
    """One question to the upstream's own origin, with the caller's own credentials.

    A GET; or a dry run, which the upstream promises not to carry out. Rules ask with GETs alone.
    """

    path: str
    """Path and query."""
    method: str = "GET"
    body: bytes = b""
    content_type: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    """Which form and version the answer is asked for in, names in lower case. Credentials are the front end's."""
    prefetch: tuple[Lookup, ...] = field(default=(), compare=False)
    """Look-ups that will be wanted next whatever this one gives: a front end may make them at the same time."""


@dataclass(frozen=True, slots=True)
class LookupAnswer:
    """What came back. `status` 0 stands for no answer at all (time-out, refused, over the cap)."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Those that say whether it is a page of a listing, names in lower case (`kept_headers`)."""


KEPT: Final = frozenset(
    {"link", "content-range", "x-total-count", "x-total", "x-wp-total", "x-next-page"}
    | {"x-total-pages", "x-wp-totalpages"}
)
_LONGEST_HEADER = 4000


def kept_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the headers of an answer that look-ups keep. What comes twice is joined by a comma."""
    out: dict[str, str] = {}
    for name, value in headers:
        if (lower := name.lower()) in KEPT:
            out[lower] = f"{out[lower]}, {value}"[:_LONGEST_HEADER] if lower in out else value[:_LONGEST_HEADER]
    return out


CALL = "GRPC"
"""The method of a look-up that is a gRPC call: its path is the full name, its body the message in proto-JSON."""

Templates = Sequence[Sequence[str]]
"""Allow-listed path templates, split at `/`; `{...}` stands for one segment, a last `{+...}` for one or more."""

_SAFE_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/?\[\]\-]*")
_TEXTS = re.compile(r"'[^'\\]*'|\"[^\"\\]*\"")
_LITERAL = re.compile(r"""\s*(?:'([^'"\\]*)'|"([^'"\\]*)")\s*(\+|$)""")


def allowed(path: str, templates: Templates) -> str | None:
    """Return the allow-listed template that a path fits, written out, or None.

    A value from the request may stand for one segment, never for several unless the template says so, and never for
    `.` or `..`, however written.
    """
    if not _SAFE_PATH.fullmatch(path):
        return None
    parts = path.partition("?")[0].split("/")[1:]
    if not all(map(_plain_segment, parts)):
        return None
    for template in templates:
        if (len(template) == len(parts) or (len(template) < len(parts) and template[-1].startswith("{+"))) and all(
            want.startswith("{") or want == have for want, have in zip(template, parts, strict=False)
        ):
            return "/" + "/".join(template)
    return None


def brings_query(path: str, text: str) -> bool:
    """Whether a value brought a query, or one more member of it, into a path that an expression of this text made."""
    query = path.partition("?")[1:]
    written = "".join(_TEXTS.findall(text))  # outside of its texts a `?` chooses, and `&&` joins conditions
    return any("".join(query).count(mark) > written.count(mark) for mark in "?&;")


def _plain_segment(part: str) -> bool:
    """Whether a segment stays one segment for every server on the way: `..;x` and `%2e%2e` are `..` for some."""
    decoded = unquote(part) if "%" in part else part
    if decoded.partition(";")[0] in ("", ".", ".."):
        return False
    return decoded == part or (decoded.isprintable() and not any(mark in decoded for mark in "/\\%"))


def uncovered(expression: str, templates: Templates) -> str | None:
    """Return the literal beginning of a look-up's path that no template fits; None where one may.

    Only text that stands at the beginning of the expression is looked at: what is computed shows at run time.
    """
    match = _LITERAL.match(expression)
    if match is None:
        return None
    beginning = match[1] if match[1] is not None else match[2]
    if not match[3] or "?" in beginning:
        return None if allowed(beginning, templates) is not None else beginning
    *whole, last = beginning.split("/")[1:] or [""]
    for template in templates:
        open_ended = template[-1].startswith("{+")
        fits = (open_ended or len(template) > len(whole)) and all(
            want.startswith("{") or want == have for want, have in zip(template, whole, strict=False)
        )
        if fits and (len(template) <= len(whole) or template[len(whole)].startswith(("{", last))):
            return None
    return beginning
