"""Which headers of a request go with the look-ups that are made for it: who asks, for whom, in which version.

Knows: names. Does not know: values, who sends. A list of what may travel: what nobody knows may lead a look-up astray.
"""

from __future__ import annotations

import re
from typing import Final


def _tokens(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORDS: Final = re.compile(r"[-_.]+")
_ALWAYS: Final = frozenset({"authorization", "cookie", "dpop", "accept-language"})
_WHO: Final = _tokens(
    """
    access account api apikey apitoken app application auth authentication authorization bearer beta business
    caller client clientid company consumer context credential credentials csrf customer database email env
    environment extra group groups id identity impersonate key login member merchant namespace org organisation
    organization orgid owner partition partner pass passwd password pin principal profile project projectid
    realm region role scope secret seller session sessionid shop sid site space store subaccount subject
    subscription team tenant tenantid token uid user userid username version workspace xsrf
    """
)
"""A name that has one of these words says who asks, for which account and in which version of the API."""
_WHERE: Final = _tokens(
    """
    accept agent attempt cache callback connection content correlation count dest destination digest encoding
    etag expect expires feedback forward forwarded host http http2 idempotency idempotent if ip length match
    method methods modified nonce origin original override path port prefer prefix proto protocol proxy query
    range ratelimit redirect referer referrer remote request retry rewrite rewritten route routing scheme sec
    server signature target te timeout timestamp trace traceparent tracestate trailer transfer upgrade uri url
    verb via websocket
    """
)
"""One of these: it is about that one request, its body or its way, or would make a look-up another one."""
_BEHIND_A_GATE: Final = re.compile(
    r"x-(forwarded|auth-request)-(user|email|groups|roles?|preferred-username|access-token|id-token|tenant)|(x-)?remote-user"
    r"|x-ms-client-principal(-\w+)?|x-goog-authenticated-user-\w+"
)
"""What gateways that log people in add for the servers behind them."""


def is_forwarded(name: str) -> bool:
    """Whether a header of this name, in lower case, goes with look-ups."""
    if name in _ALWAYS or _BEHIND_A_GATE.fullmatch(name):
        return True
    tokens = {token for token in _WORDS.split(name) if token}
    return not tokens & _WHERE and bool(tokens & _WHO)
