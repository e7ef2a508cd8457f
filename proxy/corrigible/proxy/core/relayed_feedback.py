"""Feedback that an answer of an API server carries in a cause: made by a proxy of ours behind it, or by anybody.

SPEC.md 1.15. Feedback with a valid seal is ours and comes unchanged. Any other is used only where nothing else is
known, and without what nobody need believe.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import orjson

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
from .relay_seal import Relay

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
