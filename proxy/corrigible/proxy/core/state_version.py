"""A change under a version that the resource no longer has: the version that it has now, or the question for it.

Knows: what a request changes, how that is read. Does not know: rules, which API it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.pointer import segments
from corrigible.rules.safety.decisive import words
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.rules.schema_repair.suggestion import Proposal, edit, guarded_edit, is_secret
from corrigible.rules.wordings import Kind, read
from corrigible.schema.exchange import Json

from .state_reader import STALE, Results, StateReader, shown, unwrapped, values_in

_VERSIONS: Final = frozenset(
    {"version", "lock_version", "lockVersion", "revision", "rev", "_rev", "etag", "resourceVersion", "row_version"}
)
_READ_AGAIN: Final = "It was changed in between. Read it again, and "


class Versions(StateReader):
    """Compares the version that a request names with the one that the resource has."""

    def _stale(self) -> Results:
        """Offer the version that the resource has now, where a request changes it under another one."""
        request = self._request
        path = self._reads.own(request.method, request.path) if request.method in ("PUT", "PATCH") else ""
        versions = [
            (place, sent)
            for place, sent in values_in(request.body, "/body")
            if segments(place)[-1] in _VERSIONS or words(segments(place)[-1])[-1:] == ("version",)
        ]
        if len(versions) != 1:
            return None
        ((place, sent),) = versions
        if not path:
            return self._version_asked(place, sent)
        member = segments(place)[-1]
        answer = yield from self._answered(path)
        current = unwrapped(answer, member).get(member) if isinstance(answer, Mapping) else None
        if not isinstance(current, str | int) or isinstance(current, bool):
            return self._version_asked(place, sent)
        if current == sent:
            return None
        if isinstance(current, str) and not shown([current]):
            return None
        ops = guarded_edit(request, place, sent, {"op": "replace", "path": place, "value": current})
        message = f"{_READ_AGAIN}send the version that it has now if your change still fits."
        proposed = edit(
            SchemaViolation(place, "version", {}, sent),
            request,
            ops,
            message,
            changes_intent=True,
            requires_confirmation=True,
        )
        proposed["steps"] = [{"method": "GET", "path": path}]
        return self._done(Proposal([proposed]), STALE)

    def _version_asked(self, place: str, sent: Json) -> RuleResult | None:
        """Ask for the version that the resource has now, where the message says that it has changed."""
        if is_secret(place, sent) or not read(self._message).of(Kind.STALE):
            return None
        message = f"{_READ_AGAIN}give the version that it has now if your change still fits."
        return self._done(self._other_asked(place, sent, message, keyword="version"), STALE)
