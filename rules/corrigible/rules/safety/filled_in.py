"""What a value that nobody sent may not decide, though the description has it: a default, the only one that is allowed.

That there is no other value says what the call needs, and not that the caller wants it: `confirm` must be true, so that
somebody says it. Knows: names, values, what is called. Does not know: schemas.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Final

from corrigible.rules.pointer import escape, segments
from corrigible.schema.exchange import Json, Request

from .decisive import DELETION, PERMISSION, READS, VISIBILITY, called_words, is_decisive, pays, word_set, words

_CONSENT: Final = word_set(
    "confirm confirms confirmed confirmation accept accepts accepted acceptance agree agrees agreed agreement terms tos"
    " eula consent consents consented acknowledge acknowledged acknowledges acknowledgement acknowledgment approve"
    " approved approves approval authorize authorized authorise authorised waive waived waiver understand understood"
    " attest attestation certify disclaimer optin sure"
)
"""Words of a member by which somebody agrees to something, also where it is sent to read."""
_PROTECTING: Final = word_set(
    "override bypass skip ignore unsafe insecure dangerous dangerously verify verification validate protect protected"
    " protection secure secured tls ssl mfa encrypt encrypted encryption readonly retain retention backup"
)
"""Words of a member that switches a protection on or off."""
_TRYING: Final = word_set("dry dryrun preview simulate simulation validateonly draft sandbox live livemode production")
"""Words of a member by which a call does nothing yet, or does it in earnest."""
_TO_WHOM: Final = word_set(
    "to from cc bcc sender receiver receivers reply notify notification notifications send audience members member"
    " contact contacts iban bic card wallet"
)
"""Words of a member that says who gets something, or in whose name it is sent."""
_HOW_MUCH: Final = word_set("quantity qty units seats shares number nights days months licenses budget bid limit")
"""Words of a member that says, where something is bought, how much of it."""
_PRICED: Final = word_set("plan tier edition subscription")
"""Words of a member that has a price."""
_BUYING: Final = word_set(
    "order orders purchase purchases buy checkout subscribe subscription subscriptions invoice invoices bid bids trade"
    " trades booking bookings reservation reservations cart carts basket baskets"
)
_GRANTING: Final = PERMISSION | word_set("invite invites invitation invitations share sharing collaborators promote")
_HARMLESS: Final = word_set("scope scopes verb verbs secret")
_FAR: Final = word_set("owner root superuser everyone anyone live production prod")
_FAR_REACHING: Final = (PERMISSION | VISIBILITY | DELETION | _FAR) - _HARMLESS
"""Words of a value that decides, whatever its member is called: `admin`, `public`."""
_NEGOTIATING: Final = re.compile(
    r"(?i)(?:x-)?accept(?:-(?:charset|datetime|encoding|format|language|patch|post|profile|ranges|version))?"
)
"""Headers that say how the answer is to be written."""
_MOST_MEMBERS: Final = 64


def is_for_the_caller(pointer: str, value: Json, request: Request, *, is_only: bool) -> bool:
    """Whether a value that is missing at a place is not filled in unasked.

    `is_only`: no other value is allowed there, so that it is no choice, but may still be somebody's consent.
    """
    inside = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in islice(inside, _MOST_MEMBERS):
        if is_for_the_caller(f"{pointer}/{escape(str(key))}", inner, request, is_only=is_only):
            return True
    part, *names = [one for one in segments(pointer) if not one.isdecimal()]
    name = names[-1] if names else ""
    own = frozenset(words(name))
    if part == "headers" and _NEGOTIATING.fullmatch(name):
        return False
    if not own.isdisjoint(_CONSENT) and not _is_media_type(value):
        return True
    if request.method in READS:
        return False
    if is_decisive(name, request):
        return True
    said = frozenset(words(value)) if isinstance(value, str) else frozenset[str]()
    if not said.isdisjoint(_FAR_REACHING) or not own.isdisjoint(_PROTECTING | _TRYING):
        return True
    if is_only:
        return False
    called = frozenset(called_words(request))
    if not own.isdisjoint(_TO_WHOM | _PRICED) or pays(request) or not called.isdisjoint(_GRANTING):
        return True
    return not called.isdisjoint(_BUYING) and not own.isdisjoint(_HOW_MUCH)


def _is_media_type(value: Json) -> bool:
    return isinstance(value, str) and "/" in value
