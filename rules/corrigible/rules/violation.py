"""One native complaint, normalised."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from corrigible.schema.exchange import Json

_EVIDENCE: Final = frozenset({"members", "told_place", "relative_place"})
"""Native members that are no API's."""


class LikelyPlace(NamedTuple):
    """A place of the request that a complaint may be about."""

    pointer: str
    probability: float
    """Its share of the probability of all places."""
    confidence: float
    """How often such a place is right."""
    value: Json = None
    """Of a place in the path its segment, else what was sent there; None where nothing was."""
    is_absent: bool = False
    is_told: bool = False
    """Whether the text of the answer has its name or its value."""
    why: tuple[str, ...] = ()
    """The names of what speaks for it, or against."""


class Violation(NamedTuple):
    """What one part of a refusal says, whatever dialect it was said in.

    `pointer` is RFC 6901 into the request document, empty where the upstream named no place.
    `native` holds the dialect's further members (decline_code, advice_code, ...), and three of our own: `members`, what
    stands beside the text by name; `told_place`, the steps of a place that a member tells, or a text in a form of its
    own; `relative_place`, the same where the request has no such place: it may be one of an object inside the body.
    """

    code: str = ""
    message: str = ""
    pointer: str = ""
    constraint: str = ""
    type: str = ""
    param: str = ""
    native: Mapping[str, Json] = MappingProxyType({})
    stated: Mapping[str, Json] = MappingProxyType({})
    """JSON Schema keywords that the answer itself gives for the place: `{"enum": ["a", "b"]}`, `{"maximum": 200}`."""

    printed: str = ""
    """The text as the API wrote it, where `message` has other words for the same; empty where they are equal."""

    likely: tuple[LikelyPlace, ...] = ()
    """The places that it may be about, where no format tells one, the likeliest first."""

    @property
    def written_text(self) -> str:
        """The text as the API wrote it."""
        return self.printed or self.message

    @property
    def written_code(self) -> str:
        """The code as the API writes it, where `code` is another spelling of it: `not_found` for NOT_FOUND."""
        return str(self.native.get("written_code", ""))

    @property
    def types(self) -> tuple[str, ...]:
        """The type, and the code of google.rpc that came, where the text stands for another type.

        Rules of a priority below 0 listen for the first alone: they say what a code means that nothing else explains.
        """
        return self.type, str(self.native.get("status_code", ""))

    def at(self, pointer: str, constraint: str, stated: Mapping[str, Json]) -> Violation:
        """Return the same error at a place, with what it says of it. (`_replace` takes four times as long.)"""
        code, message, _, _, type, param, native, _, printed, likely = self
        return Violation(code, message, pointer, constraint, type, param, native, stated, printed, likely)

    def scope(self) -> dict[str, Json]:
        """Return the map that expressions see as `error`: the seven names always there, native extras beside them."""
        beside = self.native.get("members")
        api = {"members": beside["members"]} if isinstance(beside, dict) and "members" in beside else {}
        return {
            **{name: value for name, value in self.native.items() if name not in _EVIDENCE},
            **api,
            "code": self.code,
            "message": self.written_text,
            "pointer": self.pointer,
            "constraint": self.constraint,
            "stated": dict(self.stated),
            "type": self.type,
            "param": self.param,
        }
