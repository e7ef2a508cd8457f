"""The two kinds of JSON patches, one as the other where they mean the same: RFC 6902's list, RFC 7396's object."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from corrigible.rules.pointer import escape, segments
from corrigible.schema.exchange import Json

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
_NAMED: Final = re.compile(r"[^/]+/(?:.*[.-])?json-patch(?:\+json)?")


def is_json_patch_media(media: str) -> bool:
    """Whether a media type, without its parameters, is RFC 6902's, or one that an API calls by that name."""
    return media == JSON_PATCH or _NAMED.fullmatch(media) is not None


def is_json_patch(body: Json) -> bool:
    """Whether a body is a list of operations."""
    return (
        isinstance(body, list)
        and bool(body)
        and all(isinstance(one, Mapping) and isinstance(one.get("path"), str) and "op" in one for one in body)
    )


def as_json_patch(merge: Mapping[str, Json]) -> list[dict[str, Json]] | None:
    """Return the operations that set the members of an object; None where it does more.

    `add` of a member that is there replaces it (RFC 6902 section 4.1). What a null or an inner object does to a
    resource depends on what is there.
    """
    if not merge or any(value is None or isinstance(value, Mapping) for value in merge.values()):
        return None
    return [{"op": "add", "path": f"/{escape(name)}", "value": value} for name, value in merge.items()]


def as_merge_patch(operations: Json) -> dict[str, Json] | None:
    """Return the object that sets and removes the same members; None where operations do anything else."""
    out: dict[str, Any] = {}
    for operation in operations if is_json_patch(operations) else ():
        path = operation["path"]
        names = segments(path) if path.startswith("/") else ()
        if len(names) != 1 or names[0] in out or names[0].isdecimal() or names[0] in ("", "-"):
            return None
        value = operation.get("value")
        match operation["op"]:
            case "add" | "replace" if "value" in operation and value is not None and not isinstance(value, Mapping):
                out[names[0]] = value
            case "remove":
                out[names[0]] = None
            case _:
                return None
    return out or None
