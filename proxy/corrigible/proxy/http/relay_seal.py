"""Feedback between two fronts of ours, with an API server in the middle: sealed by the one, known again by the other.

SPEC.md 1.15. Knows: keys, calls, times that it is told. Does not know: clocks, where the seal stands in an answer.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from corrigible.adapters.base import Call
from corrigible.proxy.tls_files import WrongFile

KEY_VARIABLE: Final = "CORRIGIBLE_RELAY_KEY"
"""The environment's word for the file of the key."""
SECONDS: Final = 60
"""How old a seal may be: an API server waits 30 seconds for a webhook at most."""
_SHORTEST: Final = 32
_VERSION: Final = "v1"
_DOMAIN: Final = "corrigible-relay-v1"
_MOST_SEEN: Final = 100_000


@dataclass(slots=True)
class Relay:
    """A key that two fronts share, and the seals that were taken."""

    key: bytes
    _seen: OrderedDict[str, float] = field(default_factory=OrderedDict)

    def seal(self, text: str, call: Call, uid: str, now: float) -> str:
        """Return what vouches for a text that answers this call."""
        time = str(int(now))
        return f"{_VERSION} {time} {uid} {self._mac(text, call, uid, time)}"

    def vouched(self, text: str, seals: Iterable[str], calls: Sequence[Call], now: float) -> str | None:
        """Return the seal that is right for a text as an answer to one of these calls, None where none is."""
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

    def first(self, seal: str, now: float) -> bool:
        """Whether a right seal comes for the first time. One that cannot be remembered counts as seen."""
        while self._seen and next(iter(self._seen.values())) < now - 2 * SECONDS:
            self._seen.popitem(last=False)
        if seal in self._seen or len(self._seen) >= _MOST_SEEN:
            return False
        self._seen[seal] = now
        return True

    def _mac(self, text: str, call: Call, uid: str, time: str) -> str:
        said = json.dumps([_DOMAIN, time, uid, *call, text], ensure_ascii=False, separators=(",", ":"))
        digest = hmac.digest(self.key, said.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def read_key(file: Path) -> bytes:
    """Return the key that a file holds, line ends around it apart. Raises WrongFile where it is none."""
    try:
        key = file.read_bytes().strip()
    except OSError as problem:
        raise WrongFile(f"--relay-key {file}: {(problem.strerror or str(problem)).lower()}") from None
    if len(key) < _SHORTEST:
        raise WrongFile(f"--relay-key {file}: {len(key)} bytes, and a key has {_SHORTEST} or more")
    return key
