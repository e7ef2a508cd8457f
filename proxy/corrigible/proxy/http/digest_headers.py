"""Headers that vouch for the bytes of an answer: which of them may go with the bytes, and which hold them fast.

RFC 9530 lets whoever changes a message drop its digests. A vendor's checksum is another matter: SDKs look for it, take
an answer without it, or with a wrong one, for broken, and send the call again, writes too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from corrigible.schema.cache import cached

DIGESTS: Final = frozenset({"digest", "content-digest", "repr-digest", "content-md5"})
"""RFC 9530 and its forebears: dropped with the bytes that they are about."""
_OF_A_VENDOR: Final = re.compile(
    r"x-amz-checksum-.+|x-amz-(trailer|sdk-checksum-.+)|x-goog-(hash|stored-content-.+)|x-(amz-)?crc32c?"
    r"|(.+-)?(crc-?32c?|crc-?64\w*|checksum|signature(-\w+)?|hmac(-\w+)?)(-.+)?"
    r"|.+-(content|body|payload|response)-(md5|sha\d*|hash|digest)(-.+)?|x-(md5|sha-?(1|256|384|512))"
)
_OF_THE_BODY: Final = ("digest", "content-", "etag", "vary", "transfer-encoding")
"""What RFC 9421 may sign that changes with the body."""


def covers_body(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether the body of an answer with these headers has to stay as it is."""
    headers = [(name.lower(), value) for name, value in headers]
    covers = " ".join(value.lower() for name, value in headers if name == "signature-input")
    if covers and not any(prefix in covers for prefix in _OF_THE_BODY):
        headers = [prefix for prefix in headers if prefix[0] not in ("signature", "signature-input")]
    return _holds("\n".join([name for name, _ in headers])) or any(
        name == "trailer" and _announces(value) for name, value in headers
    )


@cached(1024)
def _holds(names: str) -> bool:
    """Whether one of the names, a line each, holds a body fast. The answers of an API have the same ones."""
    return any(name not in DIGESTS and _OF_A_VENDOR.fullmatch(name) is not None for name in names.split("\n"))


def _announces(value: str) -> bool:
    return any(_holds(name.strip().lower()) for name in value.split(","))
