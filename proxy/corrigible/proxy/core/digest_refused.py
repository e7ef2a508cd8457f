"""The header with a digest of the content, where a text says that the content is not what it says.

`Content hash did not match expected.` is about `Content-MD5`, if that is the only digest that was sent. Which of the
two is wrong, the content or the digest, only the caller knows: the digest is asked for.

Knows: a refusal, names of headers (RFC 1864, RFC 9530). Does not know: how a digest is made.
"""

from __future__ import annotations

import re
from typing import Final

from corrigible.rules.pointer import escape
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Protocol

from .api_profile import RefusalCase

_STATUSES: Final = frozenset({400, 412, 422})
_READ: Final = 300
_DIGEST: Final = r"(?:hash(?:es)?|check ?sums?|digests?|md5|sha-?\d{1,3}|content-md5|crc-?\d{0,2}c?)"
_DIFFERS: Final = (
    r"(?:(?:did|do|does)(?: not|n't) match|mismatch(?:es|ed)?|not match(?:ing)?|differs?|is (?:invalid|wrong|incorrect)"
    r"|verification failed)"
)
_REFUSED: Final = re.compile(
    rf"(?i)\b{_DIGEST}\b.{{0,60}}\b{_DIFFERS}\b"
    rf"|\b(?:invalid|wrong|incorrect|bad|mismatch(?:ed|ing)?) (?:content[ -])?{_DIGEST}\b"
)
_HEADER: Final = re.compile(
    r"(?i)content-md5|(?:content-|repr-)?digest|x-(?:[a-z]+-)*(?:check-?sum|digest|md5|sha-?\d{1,3}|hash)(?:-[a-z0-9]+)*"
    r"|x-amz-content-sha256"
)


def digest_refused(case: RefusalCase, error: Violation) -> SchemaViolation | None:
    """Return the only digest among the headers, if the text is about one; None else."""
    request = case.request
    if case.exchange.status not in _STATUSES or error.pointer or request.protocol is not Protocol.HTTP:
        return None
    if len(case.errors) > 1 or _REFUSED.search(error.message[:_READ]) is None:
        return None
    sent = [(name, value) for name, value in request.headers.items() if _HEADER.fullmatch(name)]
    if len(sent) != 1:
        return None
    ((name, value),) = sent
    return SchemaViolation(
        f"/headers/{escape(name.lower())}", "value", {"type": "string", "not": {"const": value}}, value
    )
