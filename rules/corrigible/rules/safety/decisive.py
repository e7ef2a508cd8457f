"""What a guess may not decide: money, identity, permission, deletion, visibility and secrets.

Where one of these hangs on a name or a value that is merely near, the caller is asked, even where it is the only one.
Another spelling of the same (`USD` for `usd`, `userId` for `user_id`) is no guess.

Known by the words of a member's name, and by what the operation does. A pack adds names with `decisive` in pack.yaml.

What a value that nobody sent may not decide, though the description has it: a default, the only one that is allowed.

That there is no other value says what the call needs, and not that the caller wants it: `confirm` must be true, so that
somebody says it.

Parts of a request that say which request it is, or who makes it: no repair puts a value there by itself.

What an error says is somebody's text, and not always the server's: "Plan '%s' is invalid" has what a stranger chose.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Final

from corrigible.rules.lookup_headers import makes_another_request, says_form
from corrigible.rules.pointer import MISSING, escape, resolve, segments
from corrigible.schema.cache import cached
from corrigible.schema.credential_name import is_secret_name
from corrigible.schema.document import CREDENTIALS, SENDERS_OWN, is_credential_name
from corrigible.schema.exchange import Json, Protocol, Request

from .nearness import is_same, is_same_spelling, split_words


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text that has blanks between them."""
    return frozenset(text.split())


MONEY: Final = word_set(
    "currency currencies amount amounts price cost fee fees total subtotal balance tax discount payment charge"
    " refund payout"
)
IDENTITY: Final = word_set(
    "account accounts customer customers user users username login email emails owner owners tenant"
    " organization organisation recipient recipients"
    " assignee assignees reviewer reviewers payee beneficiary destination principal merchant"
)
PERMISSION: Final = word_set(
    "role roles scope scopes permission permissions privilege privileges privileged access admin administrator"
    " grant grants verb verbs policy acl allow deny"
)
DELETION: Final = word_set(
    "delete deleted deletion remove removed force purge destroy prune overwrite wipe cascade propagation"
)
VISIBILITY: Final = word_set("visibility visible private public publish published secret hidden shared share sharing")
WORDS: Final = MONEY | IDENTITY | PERMISSION | DELETION | VISIBILITY
"""The vocabulary: a name of which one word is among these decides."""

_DESCRIBING: Final = word_set(
    "type types kind reason description behavior behaviour format interval label labels note comment mode url"
    " count options metadata"
)
"""Last words of names that say something about it and decide nothing: `payment_method_types`, `refund_reason`."""

_DELETING: Final = DELETION | word_set("revoke drop erase terminate")
"""Words of an operation that takes something away."""

_PAYING: Final = word_set(
    "pay payment payments charge charges refund refunds transfer transfers payout payouts capture withdraw"
    " withdrawal withdrawals topup topups"
)
_DECISIVE_CALLS: Final = _PAYING | PERMISSION | VISIBILITY
_PARTIES: Final = word_set("id ids to from source target destination plan customer card bank")
"""Words of names that say, where money moves, whose it is and where it goes."""

READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@cached(4096)
def words(name: str) -> tuple[str, ...]:
    """Return the words of a name, in lower case: `defaultBranch_name` is three."""
    return split_words(name)


def is_decisive(name: str, request: Request, more: Collection[str] = ()) -> bool:
    """Whether something of this name decides what must not be guessed. Who only reads decides nothing."""
    if request.method in READS:
        return False
    if name in more or deletes(request):
        return True
    name_words = words(name)
    if not name_words or name_words[-1] in _DESCRIBING:
        return False
    if name_words[-1] == "policy" and len(name_words) > 1:
        name_words = name_words[:-1]  # a restartPolicy is none of access
    if not WORDS.isdisjoint(name_words) or is_secret_name(name):
        return True
    return not _PARTIES.isdisjoint(name_words) and pays(request)


def is_decisive_guess(patch: Sequence[Mapping[str, Json]], request: Request, more: Collection[str] = ()) -> bool:
    """Whether a patch puts a text that is merely near, or a value under a name that is, where that decides."""
    document = request.document()
    for op in patch:
        path = str(op["path"])
        if op["op"] == "move":
            if not is_same(_name(str(op["from"])), _name(path)) and is_decisive(_name(path), request, more):
                return True
        elif op["op"] in ("add", "replace"):
            old, new = resolve(document, path), op.get("value")
            if path == "/path":
                if deletes(request) and old != new:
                    return True
            elif _is_another(old, new) and (is_decisive(_name(path), request, more) or _reaches_far(old, new, request)):
                return True
    return False


def _reaches_far(old: Json, new: Json, request: Request) -> bool:
    """Whether a value decides by a word that was not sent, whatever its member is called: `action: delete`."""
    if request.method in READS or not isinstance(old, str) or not isinstance(new, str):
        return False
    return not _FAR_REACHING.isdisjoint({*words(new)} - {*words(old)})


def _is_another(old: Json, new: Json) -> bool:
    if old is MISSING:
        return False
    if isinstance(old, str) and isinstance(new, str):
        return not is_same_spelling(old, new)
    return isinstance(old, list) and isinstance(new, list) and old != new


def _name(pointer: str) -> str:
    """Return the member that a pointer leads to, that of the list where it leads to an element."""
    names = [part for part in segments(pointer)[1:] if not part.isdecimal() and part != "-"]
    return names[-1] if names else ""


def deletes(request: Request) -> bool:
    """Whether what is called takes something away, by its method or its name."""
    return request.method == "DELETE" or not _DELETING.isdisjoint(called_words(request))


def pays(request: Request) -> bool:
    """Whether what is called moves money, by its name."""
    return not _PAYING.isdisjoint(called_words(request))


def calls_what_decides(before: Request, after: Request) -> bool:
    """Whether another call takes something away, or moves money, or gives a right, and the first one did not."""
    first, other = (_DECISIVE_CALLS.isdisjoint(called_words(one)) for one in (before, after))
    return deletes(before) or deletes(after) or (first and not other and after.method not in READS)


def called_words(request: Request) -> tuple[str, ...]:
    """Return the words of what is called: of the literal end of a path, or of a gRPC method."""
    called = request.method if request.protocol is Protocol.GRPC else request.path
    if _RPC.fullmatch(called):
        return words(called.rpartition("/")[2])
    parts = [part for part in called.split("/") if part.replace("_", "").replace("-", "").isalpha()]
    return tuple(word for part in parts[-2:] for word in words(part))


_RPC = re.compile(r"(?:/twirp)?/(?:[A-Za-z_]\w*\.)*[A-Z]\w*/[A-Za-z_]\w*")


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
    if not own.isdisjoint(_CONSENT) and not (isinstance(value, str) and "/" in value):
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


_OF_THE_BODY: Final = frozenset({"content-type", "content-encoding", "content-language"})
_PRECONDITIONS: Final = frozenset({"if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range"})
_METHOD: Final = re.compile(r"(?i)_method|(?:x[_-])?(?:http[_-])?method[_-]?override")
"""By this member some frameworks make a POST another method."""


@cached(1024)
def is_protected(pointer: str) -> bool:
    """Whether a value there makes the request another one, or one of somebody else."""
    part, name = _part_and_name(pointer)
    if part == "headers":
        low = name.lower()
        return low not in _OF_THE_BODY and low not in _PRECONDITIONS and makes_another_request(low)
    return part in ("query", "body") and (is_credential_name(name) or _METHOD.fullmatch(name) is not None)


@cached(1024)
def is_the_senders(pointer: str) -> bool:
    """Whether a header is a credential, or routes and frames the message: no suggestion sets it."""
    part, name = _part_and_name(pointer)
    return part == "headers" and name.lower() in CREDENTIALS | SENDERS_OWN


@cached(1024)
def is_plain_header(pointer: str) -> bool:
    """Whether a header only says in which form or version the body is, or the answer is wanted."""
    part, name = _part_and_name(pointer)
    return part == "headers" and (name.lower() in _OF_THE_BODY or says_form(name))


def _part_and_name(pointer: str) -> tuple[str, str]:
    parts = segments(pointer)
    return (parts[0], parts[-1]) if len(parts) > 1 else ("", "")
