"""Whether a message says no more than the status of its answer.

| status         | says nothing                                            | says that the path leads nowhere         |
|----------------|---------------------------------------------------------|------------------------------------------|
| 404, 410       | `Not found`, `Page not found`, `not_found`, `404`       | `Endpoint not found`, `Cannot GET /x`    |
| any other      | `Bad Request`, `Validation failed`, `HTTP error 422`    | `No matching route for "PUT /x"`         |
|                |                                                         | `Bad HTTP method: PUT`                   |
| none, of gRPC  |                                                         | `Received http2 header with status: 404` |

Knows: statuses, wordings of frameworks. Does not know: requests, what follows.
"""

from __future__ import annotations

import re
from typing import Final

from corrigible.rules.wordings import Kind, read

_READ: Final = 1000
_ABSENT: Final = frozenset({404, 410})
_STATUS: Final = r"\W*+(?:(?:(?:http|error|status|code)\W{0,3}){0,3}4\d\d\W*+)?"
"""The number of the status, before the words that belong to it."""

_SAYS_ABSENT: Final = re.compile(
    rf"(?i){_STATUS}(?:(?:the )?(?:requested )?(?:resource |page |url )?(?:(?:was|is|could) )?not[ _]?(?:be )?found"
    r"|gone|nothing(?: here| found)?)?\W*(?:on (?:the|this) server.{0,160}|404\W*)?"
)
_SAYS_REFUSED: Final = re.compile(
    rf"(?i){_STATUS}(?:bad request|unprocessable (?:entity|content)"
    r"|invalid request (?:payload|query|params|headers|path|body) input"
    r"|(?:invalid|wrong|bad) (?:request|input|data|format|file format)(?: supplied| provided| given)?"
    r"|(?:i |we )?(?:do(?: not|n't)|could(?: not|n't)|can(?:not|'t)) understand(?: (?:you|(?:this|the|your) request))?"
    r"|validation (?:error|failed)|(?:request )?error"
    r"|the browser \(or proxy\) sent a request that this server could not understand)?\W*"  # Werkzeug, of any 400
)
_SAYS_CONFLICT: Final = re.compile(rf"(?i){_STATUS}(?:(?:resource |request )?conflict(?: error)?)?\W*")
_NO_ROUTE_FOR: Final = (
    r"(?:router?|endpoint|handler) (?:(?:was|is|could) )?not (?:be )?found (?:for|at|matching|with)\b"
    r"(?: (?:the )?(?:request|path|url|uri))?:?"
    r" \W?(?:(?-i:GET|HEAD|POST|PUT|PATCH|DELETE)\b\W{0,3})?/\S{0,300}\W*"
)
"""`Route not found for GET /x`, which says what it is not found for."""
_SAYS_NO_PATH: Final = re.compile(
    rf"(?i){_STATUS}(?:(?:the )?(?:requested )?(?:page|path|route|url|endpoint) (?:(?:was|is|could) )?not (?:be )?found"
    r"\W*(?:on (?:the|this) server.{0,160}|404\W*)?"
    r"|(?:cannot (?:get|head|post|put|patch|delete)"
    r"|(?:the )?requested (?:resource|page|path|url|endpoint) (?:is |was |could )?not (?:be )?found"
    r"|no (?:such |matching )?(?:route|handler|endpoint|path|url|page)"
    r"|(?:unknown|invalid|unrecogni[sz]ed) (?:route|endpoint|path|url|page))\b.{0,300}"
    r"|(?:the )?route \S{1,300}(?: \S{1,300})? (?:was |could )?not (?:be )?found\W*"
    rf"|{_NO_ROUTE_FOR}"
    r"|(?:get|head|post|put|patch|delete) /\S{0,300} (?:(?:was|is|could) )?not (?:be )?found\W*)"
)
_SAYS_NO_ROUTE: Final = re.compile(
    r"(?i)\W*(?:cannot (?:get|head|post|put|patch|delete)\b"
    r"|(?:no (?:such |matching )?|unknown )(?:route|endpoint)"
    r"(?:\W*$|:| (?:for|found|match\w*|exists?|at)\b|\W{1,3}[/'\"`])).{0,300}"
    r"|\W*(?:the )?(?:route|endpoint) \S{1,300}(?: \S{1,300})? (?:was |could )?not (?:be )?found\W*"
    rf"|\W*{_NO_ROUTE_FOR}"
    r"|\W*(?:bad|invalid|illegal|unsupported|unknown|unexpected) (?:http |request )(?:method|verb)\b.{0,100}"
    r"|\W*(?:http |request )?method \W?(?-i:GET|HEAD|POST|PUT|PATCH|DELETE)\W? (?:is )?not (?:allowed|supported"
    r"|implemented).{0,100}"
)

_NO_GRPC: Final = re.compile(
    r"(?i)\breceived http2 header with status: (?:404|405|501)\b"
    r"|\bunexpected HTTP status code received from server: (?:404|405|501)\b"
    r"|\breceived unexpected content-type \S"
    r"|\bHTTP(?: response)? status(?: code)?:? (?:404|405|501)\b(?:.{0,200}invalid content-type|\W*$)"
    r"|\bgrpc-status header missing, mapped from HTTP status code (?:404|405|501)\b"
    r"|\bstream removed\b.{0,40}\bdata frame with END_STREAM flag received\b",
    re.DOTALL,
)
"""What clients make of an answer that is no gRPC's: in C and Python, Go, Java and JavaScript, Rust."""


def says_nothing(message: str, status: int) -> bool:
    """Whether a message says no more than that a request was refused with this status."""
    pattern = _SAYS_ABSENT if status in _ABSENT else _SAYS_REFUSED
    return pattern.fullmatch(message[:_READ].strip()) is not None


def says_no_conflict(message: str) -> bool:
    """Whether the message of a 409 does not say what is in conflict: `Conflict`, `HTTP error 409`."""
    return _SAYS_CONFLICT.fullmatch(message[:_READ].strip()) is not None


def says_no_path(message: str) -> bool:
    """Whether all that the message of a 404 says is that nothing is there: what is not there may be the path."""
    text = message[:_READ].strip()
    return _SAYS_ABSENT.fullmatch(text) is not None or _SAYS_NO_PATH.fullmatch(text) is not None


def says_no_route(message: str) -> bool:
    """Whether a message says by itself, under whatever status, that the server has no route for the request.

    What may as well be said of a value, such as `Invalid URL`, does not count.
    """
    return _SAYS_NO_ROUTE.fullmatch(message[:_READ].strip()) is not None


def says_no_grpc(message: str) -> bool:
    """Whether the message of a gRPC call is a client's, about an answer of a server that has no such service.

    Statuses that a server or something before it gives for other reasons, such as 401 or 503, say nothing of the kind.
    """
    return _NO_GRPC.search(message[:_READ]) is not None


def says_no_cause(message: str) -> bool:
    """Whether a text has few words, and they say no more than that a call failed, or that there is no such method."""
    told = read(message).said
    return len(message.split()) <= _FEW_WORDS and all(one.kind in (Kind.FAULT, Kind.ROUTE) for one in told)


_FEW_WORDS: Final = 5
