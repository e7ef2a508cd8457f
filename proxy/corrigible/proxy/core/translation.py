"""What a refusal says that is known, however often it came.

Knows: the refusal, feedback. Does not know: callers, loops, how an answer takes feedback in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

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
