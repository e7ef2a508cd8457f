"""The body of a media type whose form RFC 6902 gives, where a description has another kind of value for it.

Descriptions that are made from code have `type: string` or `type: object` for a JSON patch, because that is what the
framework has. What is sent under the media type is a list of operations all the same.

Knows: media types, translated schemas. Does not know: operations, files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from corrigible.rules.schema_repair.json_schema import parts, types
from corrigible.rules.schema_repair.patch_kind import is_json_patch_media
from corrigible.schema.exchange import Json

_OPERATION: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "op": {"type": "string", "enum": ["add", "remove", "replace", "move", "copy", "test"]},
        "path": {"type": "string", "format": "json-pointer"},
        "from": {"type": "string", "format": "json-pointer"},
        "value": {},
    },
    "required": ["op", "path"],
}


def with_form_of_patch(media: str, schema: Json, definitions: Sequence[Json]) -> Json:
    """Return the schema of the body of a PATCH, which under a media type of JSON patches is a list of operations.

    An object without members may be what a framework calls any JSON: nothing is said of it then. One with members is
    left as it is, since some frameworks list this media type for every body that they read.
    """
    if not is_json_patch_media(media) or not isinstance(schema, Mapping):
        return schema
    root = {"$defs": {f"s{number}": inner for number, inner in enumerate(definitions)}}
    described = [*parts(schema, root)]
    kinds = {kind for part in described for kind in types(part)}
    if kinds == {"string"}:
        return {"type": "array", "items": dict(_OPERATION)}
    is_bare = kinds == {"object"} and not any(name in part for part in described for name in _OF_MEMBERS)
    return {} if is_bare else schema


_OF_MEMBERS: Final = ("properties", "additionalProperties", "patternProperties", "required")
