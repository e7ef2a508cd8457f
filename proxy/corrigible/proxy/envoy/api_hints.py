"""What a gateway has to know of an API, so that it asks about refusals only: which successes may be some, for instance.

Knows: profiles of APIs. Does not know: Envoy, what a corrector decides. A hint too many costs a question, no more.
"""

from __future__ import annotations

from collections.abc import Sequence

from corrigible.proxy.core.api_profile import ApiProfile

from .gateway import RefusingOperation

_ANY = "*"


def refusing_operations(profiles: Sequence[ApiProfile]) -> list[RefusingOperation]:
    """Return the operations whose successes may be refusals."""
    found: dict[RefusingOperation, None] = {}
    for profile in profiles:
        if profile.adapter.may_refuse is not None:
            found[RefusingOperation("POST", "")] = None
        names = profile.refuses_with_success
        if not names:
            continue
        if profile.pack.operation is not None:  # the request names it, wherever that stands
            found[RefusingOperation(_ANY, "")] = None
        for key, name in profile.adapter.operations.templates.items():
            if name in names:
                method, _, template = key.partition(" ")
                found[RefusingOperation(method.upper(), lua_pattern(template))] = None
    return list(found)


def media_types(profiles: Sequence[ApiProfile]) -> list[str]:
    """Return the media types of errors that packs name."""
    mappings = [profile.pack.error for profile in profiles]
    return sorted({media for one in mappings if one is not None for media in one.media_types})


def is_asking_for_target(profiles: Sequence[ApiProfile], *, query_mode: bool) -> bool:
    """Whether `?mode=` of a request may be for the proxy: it is described, or the operator says so (`query_mode`)."""
    if any(profile.adapter.native_mode for profile in profiles):
        return False
    return query_mode or any(hasattr(profile.described, "declares") for profile in profiles)


def lua_pattern(template: str) -> str:
    """Return a path template, `/v1/things/{id}`, as a Lua pattern of the whole path."""
    out, variable = ["^"], ""
    for char in template.rstrip("/"):
        if variable or char == "{":
            variable += char
            if char == "}":
                out.append(".+" if variable.startswith("{+") else "[^/]+")
                variable = ""
        else:
            out.append(char if char.isalnum() or char in "/_" else f"%{char}")
    return "".join([*out, "/?$"])
