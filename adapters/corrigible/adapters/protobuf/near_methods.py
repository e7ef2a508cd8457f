"""The methods of a gRPC service that another name may mean.

| sent                                    | may mean                                                     |
|-----------------------------------------|--------------------------------------------------------------|
| `GetCluter`                             | `GetCluster`: nearly the same letters                        |
| `ListMembers`                           | `MemberList`: the same words, in another order or number     |
| `ClusterState`, `GetClusterHealth`      | `GetClusterState`, `ClusterHealth`: a verb of reading apart  |
| `Grant` of the service `Lease`          | `LeaseGrant`: the service's own words apart                  |
| `GetLog`, where nothing of these is     | `DescribeLog`: another verb of reading                       |

Knows: names. Does not know: messages, what a method does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from corrigible.rules.budget import spend
from corrigible.rules.safety.decisive import word_set, words
from corrigible.rules.safety.nearness import LONGEST, is_plural, nearest

_OF_MANY: Final = "list"
_READING: Final = word_set("get list describe read")
"""First words of methods that change nothing."""
_WRITING: Final = word_set(
    "accept acquire activate add allocate apply approve assign attach begin bind book build cancel charge clear"
    " clone close commit compact configure confirm convert copy create deactivate defragment delete deploy detach"
    " disable drain drop edit emit enable enqueue erase exec execute expire extend fail finish flush force"
    " generate grant import increment init insert install invite invoke join kick kill leave lock make mark merge"
    " migrate modify mount move open order patch pause pay persist post prepare provision prune publish purge push"
    " put queue reboot rebuild record refresh refund register reject release reload remove rename renew repair"
    " replace report reserve reset resize restart restore resume revert revoke rollback rotate run save scale"
    " schedule seal send set shutdown sign snapshot split start stop store submit subscribe suspend swap sync"
    " terminate toggle transfer trigger trim truncate uninstall unlock unregister unset unsubscribe update upgrade"
    " upload upsert withdraw write"
)
"""First words of methods that change something, or may."""


def near_names(name: str, service: str, names: Sequence[str]) -> list[str]:
    """Return the methods of a service that a name may mean, the nearest first; the one where it alone is as near."""
    if name in names:
        return [name]
    own = words(name) if len(name) <= LONGEST else ()
    if not own:
        return []
    spend(6 * len(names))
    near = nearest(name, names)
    other_words = {other: words(other) for other in names if other not in near}
    same = sorted(own)
    near += [other for other, parts in other_words.items() if sorted(parts) == same]
    if any(sorted(words(other)) == same for other in near):
        return near
    beside = (_is_alike(own, parts, words(service)) for parts in other_words.values())
    near += [other for other, is_alike in zip(other_words, beside, strict=True) if is_alike]
    return near or [other for other, parts in other_words.items() if _has_other_reading_verb(own, parts)]


def may_write(name: str, meant: str) -> bool:
    """Whether a method is what a name has behind a verb of reading: what is left may be a verb of writing."""
    own = words(name)
    return own[:1] != () and own[0] in _READING and words(meant) == own[1:]


def _is_alike(own: Sequence[str], other: Sequence[str], service: Sequence[str]) -> bool:
    return (
        _has_same_words(own, other)
        or _lacks_verb(own, other)
        or _lacks_verb(other, own)
        or _has_service(own, other, service)
    )


def _has_same_words(own: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two names have the same words, in any order and number."""
    if len(own) != len(other):
        return False
    return all(one == two or is_plural(one, two) for one, two in zip(sorted(own), sorted(other), strict=True))


def _lacks_verb(shorter: Sequence[str], longer: Sequence[str]) -> bool:
    """Whether a name is another one without its verb of reading, and begins with none of its own."""
    is_rest = bool(shorter) and longer[:1] != () and longer[0] in _READING and tuple(longer[1:]) == tuple(shorter)
    return is_rest and shorter[0] not in _WRITING and shorter[0] not in _READING


def _has_service(own: Sequence[str], other: Sequence[str], service: Sequence[str]) -> bool:
    """Whether one of two names is the other behind the first words of the service's name."""
    shorter, longer = sorted((tuple(own), tuple(other)), key=len)
    more = len(longer) - len(shorter)
    return 0 < more <= len(service) and bool(shorter) and longer == (*service[:more], *shorter)


def _has_other_reading_verb(own: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two names differ in their verb of reading; a list is of several, as the name has to say."""
    if len(own) < 2 or len(own) != len(other) or own[1:] != other[1:]:
        return False
    verbs = {own[0], other[0]}
    return verbs <= _READING and (_OF_MANY not in verbs or own[-1].endswith("s"))
