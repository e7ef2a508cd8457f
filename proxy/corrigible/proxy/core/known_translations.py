"""What a refusal says that is known, and what was made of refusals lately.

An agent in a loop, or a thousand callers with one mistake, sends the same again. Only what follows from the exchange
alone is kept. A refusal for which live state was looked at is translated each time, and so is one whose translation
looked at when the exchange was, whose it was, or at its id.

Knows: exchanges, feedback. Does not know: loops, look-ups, how an answer takes feedback in.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final, Generic, NamedTuple, TypeVar

import orjson

from corrigible.schema.exchange import Exchange, Json, Request

from .api_profile import RefusalCase

_NO_EXCHANGE: Final = Exchange(Request("", ""), 0, {}, b"")


class Translation(NamedTuple):
    """A refusal, and the feedback about it; None where nothing is known."""

    case: RefusalCase
    feedback: dict[str, Json] | None
    encoded: bytes | None
    """The feedback as compact JSON; None where there is none, or none that can be sent."""
    diagnoses: tuple[Mapping[str, str], ...]
    rules: tuple[str, ...]
    code: str
    """What the first rule that matched calls it."""
    live: bool
    error: str | None
    """A mistake of ours that did not change the feedback."""

    @property
    def is_whole(self) -> bool:
        """Whether it is all that there is to say: nothing of ours went wrong."""
        return self.error is None and (self.feedback is None) is (self.encoded is None)

    def of(self, exchange: Exchange) -> Translation:
        """Return the translation as one of another exchange that says the same."""
        return self._replace(case=self.case._replace(exchange=exchange))

    def kept(self) -> Translation:
        """Return it without what somebody may change meanwhile, and without the exchange."""
        return self._replace(feedback=None).of(_NO_EXCHANGE)

    def restored(self, exchange: Exchange) -> Translation:
        """Return what `kept` gave, whole again, for another exchange that says the same."""
        feedback = None if self.encoded is None else orjson.loads(self.encoded)
        return self.of(exchange)._replace(feedback=feedback)


T = TypeVar("T")

_LARGEST: Final = 8 << 10
"""Bytes of a request, and of an answer."""
_ALL: Final = 2 << 20
"""Bytes of all that is kept."""
_LEAST: Final = 3 << 10
"""Bytes of feedback, and of what is read of an answer without anything in it."""
_OF_A_BYTE: Final = 3
_OF_A_VALUE: Final = 100
_BEFORE_VALUES: Final = (b",", b"[", b"{", b"<")


class WatchedExchange(Exchange):
    """An exchange that notes whether somebody looked at what differs each time: its id, its times, its caller."""

    __slots__ = ("was_looked_at",)

    def __init__(self, *values: Any, **named: Any) -> None:
        """Takes what an exchange takes: `replace` makes another one, and looks at all of this one."""
        self.was_looked_at = False
        super().__init__(*values, **named)

    @classmethod
    def of(cls, exchange: Exchange) -> WatchedExchange:
        """Return the same exchange, watched."""
        return cls(
            exchange.request,
            exchange.status,
            exchange.headers,
            exchange.body,
            exchange.id,
            exchange.started,
            exchange.elapsed,
            exchange.caller,
        )


def _watched(name: str) -> property:
    slot: Any = Exchange.__dict__[name]

    def read(exchange: WatchedExchange) -> Any:
        exchange.was_looked_at = True
        return slot.__get__(exchange)

    return property(read, slot.__set__)


for _name in ("id", "started", "elapsed", "caller"):
    setattr(WatchedExchange, _name, _watched(_name))


class Key(NamedTuple):
    """A digest of all that a translation may depend on: the exchange itself need not be kept."""

    digest: bytes
    size: int
    """Bytes that the translation takes, as they are counted: it holds what was read of the answer."""


def key_of(exchange: Exchange, *, is_wrapped: bool) -> Key | None:
    """Return what an exchange is known by; None where it is too large to be kept.

    `is_wrapped`: another exchange carried this one.
    """
    request = exchange.request
    if len(exchange.body) > _LARGEST:
        return None
    parts = [request.method, request.path, request.query, request.headers, request.body, exchange.headers]
    parts += [request.form, sorted(request.files), request.is_json_text, request.has_other_numbers]
    try:
        document = orjson.dumps([*parts, exchange.status, is_wrapped])
    except TypeError:  # an integer of more than 64 bits, a lone surrogate
        return None
    if len(document) > _LARGEST:
        return None
    values = sum(map(exchange.body.count, _BEFORE_VALUES))
    size = _LEAST + _OF_A_BYTE * len(exchange.body) + _OF_A_VALUE * values
    return Key(blake2b(document + exchange.body, digest_size=32).digest(), size)


class KnownTranslations(Generic[T]):
    """The translations that were asked for last. For one thread, as loops are."""

    def __init__(self, most: int = _ALL) -> None:
        """`most`: bytes of all together."""
        self._most = most
        self._size = 0
        self._kept: OrderedDict[Key, T] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Key | None) -> T | None:
        if key is None or key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key]

    def keep(self, key: Key, translation: T) -> None:
        if key not in self._kept:
            self._size += key.size
        self._kept[key] = translation
        while self._size > self._most:
            oldest, _ = self._kept.popitem(last=False)
            self._size -= oldest.size
