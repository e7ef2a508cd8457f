"""Feedback between two proxies of ours with an API server between them: one seals it, the other checks the seal.

SPEC.md 1.15. Knows: keys, calls, the times it is given. Does not know: clocks, where an answer holds the seal.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from corrigible.adapters.base import Call

SECONDS: Final = 60
"""How old a seal may be: an API server waits 30 seconds for a webhook at most."""
_VERSION: Final = "v1"
_DOMAIN: Final = "corrigible-relay-v1"
_MOST_SEEN: Final = 100_000


@dataclass(slots=True)
class Relay:
    """The key that two proxies share, and the seals that have been used."""

    key: bytes
    _seen: OrderedDict[str, float] = field(default_factory=OrderedDict)

    def seal(self, text: str, call: Call, uid: str, now: float) -> str:
        """Return the seal of a text that answers this call."""
        time = str(int(now))
        return f"{_VERSION} {time} {uid} {self._mac(text, call, uid, time)}"

    def valid_seal(self, text: str, seals: Iterable[str], calls: Sequence[Call], now: float) -> str | None:
        """Return the seal that is valid for a text as the answer to one of these calls; None if none is."""
        for seal in seals:
            parts = seal.split(" ")
            if len(parts) != 4 or parts[0] != _VERSION:
                continue
            _, time, uid, mac = parts
            if not (time.isascii() and time.isdecimal() and len(time) <= 12 and abs(now - int(time)) <= SECONDS):
                continue
            given = mac.encode("utf-8", "replace")
            if any(hmac.compare_digest(self._mac(text, call, uid, time).encode(), given) for call in calls):
                return seal
        return None

    def is_first_use(self, seal: str, now: float) -> bool:
        """Whether a valid seal is used for the first time. One that cannot be remembered counts as used."""
        while self._seen and next(iter(self._seen.values())) < now - 2 * SECONDS:
            self._seen.popitem(last=False)
        if seal in self._seen or len(self._seen) >= _MOST_SEEN:
            return False
        self._seen[seal] = now
        return True

    def _mac(self, text: str, call: Call, uid: str, time: str) -> str:
        sealed = json.dumps([_DOMAIN, time, uid, *call, text], ensure_ascii=False, separators=(",", ":"))
        digest = hmac.digest(self.key, sealed.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
