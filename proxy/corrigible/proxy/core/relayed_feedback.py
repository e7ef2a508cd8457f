"""Feedback that an answer of an API server carries in a cause: made by a proxy of ours behind it, or by anybody.

SPEC.md 1.15. One proxy seals it, the other checks the seal. Feedback with a valid seal is ours and comes unchanged. Any
other is used only where nothing else is known, and without what nobody need believe.

Knows: keys, calls, the times it is given. Does not know: clocks.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

import orjson

from corrigible.adapters.base import Call
from corrigible.rules.errors import CorrigibleError
from corrigible.schema.carrier import carried, seals, stripped
from corrigible.schema.error import ContractError
from corrigible.schema.exchange import Exchange, Json
from corrigible.schema.feedback import parse
from corrigible.schema.writer import validate

from .api_profile import MatchedOperation, RefusalCase
from .decision import Annotate, Decision, PassThrough
from .feedback import drop_stray_paths, encode
from .intent import with_losses
from .limits import Limits

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


_CAUSE = b'"RecoveryFeedback"'
_MOST = 4
_LONGEST = 16 * 1024
"""A writer of ours keeps to 4 KiB."""


class Relayed(NamedTuple):
    """What the carried feedback amounts to."""

    decision: Decision
    is_final: bool
    """Whether it was sealed: then nothing else is asked."""


def relayed_feedback(
    exchange: Exchange, match: MatchedOperation, relay: Relay | None, limits: Limits
) -> Relayed | None:
    """Return the feedback that an answer carries; None where it carries none.

    A seal is good for one answer: whoever saw it could show it again.
    """
    adapter = match.profile.adapter
    if adapter.placement != "kubernetes" or _CAUSE not in exchange.body:
        return None
    try:
        body = orjson.loads(exchange.body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(body, dict) or "recovery_feedback" in body:
        return None
    case = RefusalCase(exchange, match, body, body, ())
    unsealed: Annotate | None = None
    for feedback, text in islice((one for one in carried(body) if len(one.text) <= _LONGEST), _MOST):
        this_unsealed = _annotation(case, stripped(feedback), limits)
        unsealed = unsealed or this_unsealed
        if relay is not None and adapter.calls is not None:
            now = exchange.started + exchange.elapsed
            seal = relay.valid_seal(text, seals(body), adapter.calls(exchange.request).calls, now)
            if seal is not None and (sealed := _annotation(case, feedback, limits)) is not None:
                if relay.is_first_use(seal, now):
                    return Relayed(sealed._replace(seal=seal), is_final=True)
                return Relayed(this_unsealed or PassThrough("seen before"), is_final=True)
    return None if unsealed is None else Relayed(unsealed, is_final=False)


def _annotation(case: RefusalCase, feedback: Json, limits: Limits) -> Annotate | None:
    """Return feedback that somebody else made, with its losses; None where it is not valid."""
    try:
        validate(parse(feedback))
        feedback = with_losses(dict(feedback), case.request, case.pack)
        drop_stray_paths(feedback, case.request)
        encoded = encode(feedback, case.request, case.pack.settings.secrets, limits)
    except (ContractError, CorrigibleError):
        return None
    return Annotate(case, feedback, encoded, placement="relayed")
