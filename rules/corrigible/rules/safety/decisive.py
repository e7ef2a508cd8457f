"""What a guess may not decide: money, identity, permission, deletion and visibility.

Where one of these hangs on a name or a value that is merely near, the caller is asked, even where it is the only one.
Another spelling of the same (`USD` for `usd`, `userId` for `user_id`) is no guess.

Known by the words of a member's name, and by what the operation does. A pack adds names with `decisive` in pack.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from corrigible.rules.pointer import MISSING, resolve, segments
from corrigible.schema.cache import cached
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
    if not WORDS.isdisjoint(name_words):
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
            elif _is_another(old, new) and is_decisive(_name(path), request, more):
                return True
    return False


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


def called_words(request: Request) -> tuple[str, ...]:
    """Return the words of what is called: of the literal end of a path, or of a gRPC method."""
    called = request.method if request.protocol is Protocol.GRPC else request.path
    if _RPC.fullmatch(called):
        return words(called.rpartition("/")[2])
    parts = [part for part in called.split("/") if part.replace("_", "").replace("-", "").isalpha()]
    return tuple(word for part in parts[-2:] for word in words(part))


_RPC = re.compile(r"(?:/twirp)?/(?:[A-Za-z_]\w*\.)*[A-Z]\w*/[A-Za-z_]\w*")
