"""The loop breaker: recognises a refusal that comes back.

Structured corrections, repeated, trap an agent. Whoever repeats a refused request, or follows advice to the same
refusal, hears of alternatives next, then only that something is wrong, and the fourth time that a person must act.
What counts is what the caller could see: an answer that shows no suggestions is no part of a loop.

Knows: callers, places, how often a task was refused. Does not know: clocks, dice, transport, what any rule says.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import blake2b
from types import MappingProxyType
from typing import Any, Final

from corrigible.schema.cache import LONGEST, bytes_of, cached
from corrigible.schema.exchange import Json, Request

from .attempt_group import IDLE, AttemptGroup, Feedback, Refusal, answer_repeated, is_progress, is_same_task
from .fingerprint import Advice, gist, leaves_of, sent_words

BYTES: Final = 2 << 20
"""Of all loops that are remembered: those of some 1,000 callers. The oldest are forgotten first."""
_MOST_GROUPS = 16
_MOST_COUNTED = 64
_MOST_WIDER = 64
"""Refusals of one caller at one place among which those of several mistakes are looked for."""

Key = tuple[str, str, tuple[tuple[str, str, str], ...]]
"""Caller, place, and what the refusal complains of: code, pointer and words of each error, no values."""
_NONE: Final[Mapping[str, set[Key]]] = MappingProxyType({})


class Loops:
    """What refusals were met, by whom, and how often."""

    def __init__(self, key: bytes) -> None:
        """`key` is secret and random: without it nobody can tell from a fingerprint what is in it."""
        self._key = key
        self._groups: OrderedDict[Key, list[AttemptGroup]] = OrderedDict()
        self._places: dict[str, dict[str, set[Key]]] = {}
        """Keys by caller and place."""
        self._count = 0
        self.bytes = 0
        """That they take, as they are counted."""
        self._counted: OrderedDict[str, tuple[AttemptGroup, tuple[Advice, ...]]] = OrderedDict()
        """The newest refusals by exchange, with what had been advised before."""
        self._sweep = 0.0
        """When to look next for what is too old."""

    def __len__(self) -> int:
        return self._count

    def caller(self, headers: Iterable[tuple[str, str]], name: str = "", peer: str = "") -> str:
        """Return a digest of who is calling, empty where nothing tells one caller from another.

        That is the credentials and on whose behalf they are used; with them the caller's own name for itself,
        or else the address it calls from. Without credentials a name counts at one address only: anybody may guess it.
        An address alone, or a connection, is nobody's: gateways and proxies call from one for many callers. Neither is
        a tenant, nor a cookie of another name than sessions have: many callers may send the same.
        """
        credentials: list[str] = []
        behalves: list[str] = []
        for header, value in headers:
            low = header.lower()
            if low == "cookie":
                pairs = (pair.strip().partition("=") for pair in value.split(";"))
                credentials += [f"{one}={text}" for one, _, text in pairs if _SESSION.search(one) and _tells(text)]
            elif (role := _role(low)) and _tells(value):
                constant = _VARYING.sub("", value) if "," in value else value
                (credentials if role == "credential" else behalves).append(f"{low}\0{constant}")
        if not (credentials or name):
            return ""
        parts = [*credentials, *behalves]
        if name:
            parts.append(f"name\0{name}" if credentials else f"name\0{name}\0{peer}")
        elif peer:
            parts.append(f"peer\0{peer}")
        return self._digest("\0\0".join(parts))

    def count_refusal(self, refusal: Refusal, feedback: Feedback | None) -> dict[str, Json] | None:
        """Count a refusal. Return the feedback for one that came back, None where what was decided stays.

        `feedback` is what the rules suggest, None where none matches: that counts for a loop that is known already.
        """
        if not refusal.caller:
            return None
        key: Key = (refusal.caller, place_of(refusal.operation, refusal.request), _error_keys(refusal))
        if self.bytes >= BYTES or not 0 <= self._sweep - refusal.started <= IDLE:
            self._expire(refusal.started)
        groups, wider = self._groups.get(key), self._wider(key)
        if groups is None and not wider and feedback is None:
            return None
        leaves = leaves_of(refusal.request)
        group = self._same_task(key, refusal, leaves, feedback) if groups is not None else None
        left = self._left_of(wider, key, refusal, leaves) if group is None else None
        group = group or left
        if group is None and feedback is None:
            return None
        group = group or self._new_group(key)
        if refusal.id:
            self._counted[refusal.id] = group, group.advised
            while len(self._counted) > _MOST_COUNTED:
                self._counted.popitem(last=False)
        if group.attempts:
            group.record_outcome(refusal)
        if left is not None:
            left.keep_advice(refusal)
        group.attempts += 1
        group.code = refusal.code or group.code
        answer: dict[str, Json] | None = None
        if group.attempts > 1:
            answer = answer_repeated(group, refusal, feedback, self._digest(repr(key)))
        self.bytes -= group.size
        group.record_advice(feedback if answer is None else answer, refusal, leaves)
        group.size += bytes_of(key[2])
        self.bytes += group.size
        return answer

    def uncount_refusal(self, id: str) -> None:
        """Uncount a refusal whose answer nobody saw."""
        group, advised = self._counted.pop(id, (None, ()))
        if group is not None:
            group.attempts -= 1
            group.advised = advised

    def succeeded(self, caller: str, place: str) -> None:
        """End the loops of a caller at a place where something went well."""
        for key in self._places.get(caller, {}).pop(place, ()):
            self._uncount(self._groups.pop(key, ()))
        if not self._places.get(caller, True):
            del self._places[caller]

    def clear(self) -> None:
        """End all loops."""
        self._groups.clear()
        self._places.clear()
        self._counted.clear()
        self._count = self.bytes = 0

    def has_loop(self, caller: str) -> bool:
        """Whether a caller has a loop that a success could end."""
        return caller in self._places

    def _digest(self, text: str) -> str:
        return blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=8).hexdigest()

    def _same_task(
        self, key: Key, refusal: Refusal, leaves: Mapping[str, int], feedback: Feedback | None
    ) -> AttemptGroup | None:
        groups = self._groups[key]
        for index, group in enumerate(groups):
            if refusal.started - group.last > IDLE or not is_same_task(refusal, leaves, group):
                continue
            if group.leaves == leaves or not is_progress(refusal, feedback, group):
                groups.append(groups.pop(index))
                self._groups.move_to_end(key)
                return group
        return None

    def _wider(self, key: Key) -> list[Key]:
        """Return the keys of refusals that complained of the same and of more."""
        caller, place, errors = key
        if len(places := self._places.get(caller, _NONE).get(place, ())) > _MOST_WIDER:
            return []
        here = set(errors)
        return [one for one in places if len(one[2]) > len(here) and here.issubset(one[2])]

    def _left_of(
        self, wider: Iterable[Key], key: Key, refusal: Refusal, leaves: Mapping[str, int]
    ) -> AttemptGroup | None:
        """Return a task of several mistakes of which these are left, under its new key. It counts them twice at most.

        They were refused before, and yet something was mended since: that is no loop.
        """
        for before in wider:
            groups = self._groups[before]
            for group in groups:
                if refusal.started - group.last > IDLE or not is_same_task(refusal, leaves, group):
                    continue
                left = self._new_group(key)
                left.take_over(group)
                self.bytes += left.size
                self._forget(before, group)
                return left
        return None

    def _forget(self, key: Key, group: AttemptGroup) -> None:
        groups = self._groups[key]
        groups.remove(group)
        self._uncount([group])
        if not groups:
            self._forget_key(key)

    def _forget_key(self, key: Key) -> None:
        self._groups.pop(key, None)
        keys = self._places[key[0]][key[1]]
        keys.discard(key)
        if not keys:
            del self._places[key[0]][key[1]]
            if not self._places[key[0]]:
                del self._places[key[0]]

    def _new_group(self, key: Key) -> AttemptGroup:
        groups = self._groups.get(key)
        if groups is None:
            groups = self._groups[key] = []
            self._places.setdefault(key[0], {}).setdefault(key[1], set()).add(key)
        self._groups.move_to_end(key)
        group = AttemptGroup()
        groups.append(group)
        self._count += 1
        if len(groups) > _MOST_GROUPS:
            self._uncount([groups.pop(0)])
        return group

    def _expire(self, now: float) -> None:
        """Forget what is too old or too much, the oldest first."""
        self._sweep = now + IDLE / 10
        while self._groups:
            key, groups = next(iter(self._groups.items()))
            if self.bytes < BYTES and now - groups[-1].last <= IDLE:
                return
            self._uncount(groups)
            self._forget_key(key)

    def _uncount(self, groups: Collection[AttemptGroup]) -> None:
        self._count -= len(groups)
        self.bytes -= sum(group.size for group in groups)


def place_of(operation: str, request: Request) -> str:
    """Return what is called: an operation, or the method and path where it has no name."""
    return _short(operation or f"{request.method} {request.path}")


def _short(text: str) -> str:
    """Return a text, of a long one a hash: thousands are kept."""
    return text if len(text) <= LONGEST else f"~{hash(text)}"


_CREDENTIAL = re.compile(
    r"auth(?!or(?!i[sz]))|(?:api|app|application|access|subscription)-?key|token|secret|session|credential|client-?cert"
)
"""Headers of a caller's own: `Authorization`, `X-Api-Key`, `Private-Token`; not `Author` or `Authority`."""
_BEHALF = re.compile(r"account|tenant|organi[sz]ation|project|workspace|impersonate|on-behalf|user-?id")
"""Headers that say for whom somebody calls: `Stripe-Account`, `Impersonate-User`."""
_SESSION = re.compile(r"(?i)sess|sid(?![a-z])|auth(?!or(?!i[sz]))|token|jwt|login")
_NO_CREDENTIAL = re.compile(r"c?[sx]rf|nonce|idempot|request|trace|continuation|page|:authority")
_EMPTY = re.compile(
    r"(?i)\W*(?:(?:basic|bearer|digest|negotiate|token|apikey|key)\b\W*)?(?:null|undefined|none|nil|true|false|yes|no)?\W*"
)
"""What clients send that have no credential: nothing, a scheme alone, the name of nothing, yes or no."""
_VARYING = re.compile(
    r'(?i)\b(?:oauth_)?(?:signature|response|c?nonce|nc|uri|timestamp|created|expires|ts|mac)="?[^",]*"?'
)
"""What differs with every request in credentials that sign it: RFC 7616, RFC 9421, OAuth 1, AWS."""


@cached(1024)
def _role(header: str) -> str:
    """Return what a header, in lower case, says about who calls: a credential, for whom, or nothing."""
    if _NO_CREDENTIAL.search(header):
        return ""
    return "credential" if _CREDENTIAL.search(header) else "behalf" if _BEHALF.search(header) else ""


def _tells(value: str) -> bool:
    return _EMPTY.fullmatch(value[:_LONGEST_EMPTY]) is None


_LONGEST_EMPTY: Final = 64


def _error_keys(refusal: Refusal) -> tuple[tuple[str, str, str], ...]:
    sent = sent_words(refusal.request) if any([one.message for one in refusal.errors]) else frozenset()
    keys = [
        (_short(one.code or one.constraint or one.type), _short(one.pointer), _words(one.message, sent))
        for one in refusal.errors
    ]
    return tuple(keys) if len(keys) == 1 else tuple(sorted(set(keys)))


def _words(message: str, sent: frozenset[str]) -> str:
    """Python's own hash of text is another one in every process, and fingerprints are made of this."""
    return blake2b(" ".join(gist(message, sent)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


MOST: Final = 4096
"""Callers who may have loops in a worker."""


class SharedLoops(Loops):
    """The loops of this process, and the names of callers who may have some in a worker."""

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self._remote_callers: OrderedDict[str, None] = OrderedDict()
        self._report: Callable[[str, str], None] | None = None

    def __bool__(self) -> bool:
        """Whether there may be a loop that a success ends, here or in another process."""
        return bool(self._remote_callers) or len(self) > 0

    def report_successes_to(self, report: Callable[[str, str], None]) -> None:
        """Report successes, by caller and place, to whoever has the other loops."""
        self._report = report

    def state(self) -> dict[str, Any]:
        """Return all that is remembered, for `restore` in another process."""
        return {name: value for name, value in vars(self).items() if name != "_report"}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Remember what another process did."""
        vars(self).update(state)

    def mark_remote(self, caller: str) -> None:
        """Note that another process counts the refusals of this caller."""
        self._remote_callers[caller] = None
        self._remote_callers.move_to_end(caller)
        if len(self._remote_callers) > MOST:
            self._remote_callers.popitem(last=False)

    def clear(self) -> None:
        super().clear()
        self._remote_callers.clear()

    def counts_here(self, caller: str) -> bool:
        """Whether this process counts refusals of a caller."""
        return super().has_loop(caller)

    def has_loop(self, caller: str) -> bool:
        return caller in self._remote_callers or super().has_loop(caller)

    def succeeded(self, caller: str, place: str) -> None:
        super().succeeded(caller, place)
        if self._report is not None and caller in self._remote_callers:
            self._report(caller, place)
