"""A resource that exists gets the name of another one: the name in the body exists already.

A change of `/tags/7` that is refused as `Tag already exists` cannot be about the tag of the path: that one has to be
there. The new name is asked for. A look-up shows whether the resource exists, and its name: PUT may create the
resource of its path, and then the path exists already.

Knows: what a request changes, how that is read. Does not know: rules, which API it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from corrigible.rules.pointer import escape
from corrigible.rules.safety.stored import is_wrapper
from corrigible.rules.schema_repair.suggestion import is_secret
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json

from .state_reader import TAKEN, Results, StateReader, is_name, unwrapped

NAMING: Final = ("name", "slug", "key", "id", "code", "title", "username", "login", "email")
"""Members that name a resource, in the order in which one is taken for what a conflict is about."""


class Renames(StateReader):
    """Compares what a thing is called with what a request would call it."""

    def _renamed(self) -> Results:
        """Ask for another name, where the only one that is changed has to be what exists already."""
        request = self._request
        path = self._reads.own(request.method, request.path) if request.method in ("PUT", "PATCH") else ""
        body, base = inner(request.body), base_of(request.body)
        naming = [name for name in body if name.lower() in NAMING and is_name(body[name])]
        if not path or not naming:
            return None
        existing = yield from self._answered(path)
        if not isinstance(existing, Mapping):
            return None
        now = {name: unwrapped(existing, name).get(name) for name in naming}
        changed = [name for name in naming if is_name(now[name]) and scalar_text(now[name]) != scalar_text(body[name])]
        if len(changed) != 1 or len(changed) != len([one for one in naming if now[one] != body[one]]):
            return None
        (name,) = changed
        place, sent = f"{base}/{escape(name)}", body[name]
        if is_secret(place, sent):
            return None
        question = self._other_asked(place, sent, "Give a value that is free.")
        return self._done(question, TAKEN)


def inner(body: Json) -> Mapping[str, Json]:
    """Return the object that a body is, or that it wraps."""
    content = next(iter(body.values())) if isinstance(body, Mapping) and is_wrapper(body) else body
    return content if isinstance(content, Mapping) else {}


def base_of(body: Json) -> str:
    """Return the place of the object that a body is, or that it wraps."""
    return f"/body/{escape(next(iter(body)))}" if isinstance(body, Mapping) and is_wrapper(body) else "/body"
