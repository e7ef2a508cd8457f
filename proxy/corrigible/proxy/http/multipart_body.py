"""A multipart/form-data body (RFC 7578) as a form: fields as texts, files by their names.

Knows: the grammar of multipart bodies. Does not know: descriptions, errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from corrigible.schema.exchange import Json

MEDIA_TYPE: Final = "multipart/form-data"
_BOUNDARY: Final = re.compile(r"(?i)(?:^|;)\s*boundary=(?:\"([^\"\r\n]{1,70})\"|([^\s;\"]{1,70}))")
_FIELDS: Final = re.compile(rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]{1,80}:[^\r\n]{0,2000}\r\n){1,16}\r\n")
_DISPOSITION: Final = re.compile(r"(?im)^content-disposition:[ \t]*form-data[ \t]*(?P<parameters>;.*)$")
_PARAMETER: Final = re.compile(
    r";\s*(?P<name>[\w*]{1,20})=(?:\"(?P<quoted>(?:[^\"\\\r\n]|\\.)*)\"|(?P<token>[^\s;\"]*))"
)
_TYPE: Final = re.compile(r"(?im)^content-type:[ \t]*(?P<media>[\w.+/-]{1,100})")
_MOST_PARTS: Final = 1000
_LONGEST_NAME: Final = 200


class Multipart(NamedTuple):
    """The parts of a body."""

    fields: list[tuple[str, Json]]
    """Each with its name: a text, JSON where a part says that it is, the name of a file."""
    files: frozenset[str]
    """The names of the parts that are files: their content is not at hand."""


def read_multipart(body: bytes, parameters: str) -> Multipart:
    """Read a body by the parameters of its media type. Raises ValueError where it is none."""
    boundary = boundary_of(parameters)
    delimiter = b"--" + boundary.encode()
    if not boundary or not body.startswith(delimiter):
        raise ValueError("not a multipart body of this boundary")
    parts = body.split(b"\r\n" + delimiter, _MOST_PARTS + 1)
    first, *others = parts[0].removeprefix(delimiter), *parts[1:]
    if len(others) > _MOST_PARTS or not others or not others[-1].startswith(b"--"):
        raise ValueError("no end of a multipart body")
    fields: list[tuple[str, Json]] = []
    files: set[str] = set()
    for part in (first, *others[:-1]):
        name, value, is_file = _part(part)
        fields.append((name, value))
        if is_file:
            files.add(name)
    return Multipart(fields, frozenset(files))


def boundary_of(parameters: str) -> str:
    """Return the boundary that the parameters of a media type name, empty where they name none."""
    match = _BOUNDARY.search(parameters)
    return "" if match is None else match[1] or match[2]


def _part(part: bytes) -> tuple[str, Json, bool]:
    line, _, part = part.partition(b"\r\n")
    head = _FIELDS.match(part)
    if line.strip(b" \t") or head is None:
        raise ValueError("a part without fields")
    text = head[0].decode("utf-8", "replace").replace("\r\n", "\n")
    disposition, media = _DISPOSITION.search(text), _TYPE.search(text)
    parameters: Mapping[str, str] = {}
    if disposition is not None:
        matches = _PARAMETER.finditer(disposition["parameters"])
        parameters = {one["name"].lower(): one["quoted"] if one["token"] is None else one["token"] for one in matches}
    if "name" not in parameters or len(parameters["name"]) > _LONGEST_NAME:
        raise ValueError("a part without a name")
    name, content = parameters["name"], part[head.end() :]
    kind = "text/plain" if media is None else media["media"].lower()
    if "filename" in parameters or "filename*" in parameters:
        return name, parameters.get("filename", ""), True
    try:
        if kind == "application/json" or kind.endswith("+json"):
            return name, orjson.loads(content), False
        return name, content.decode(), not kind.startswith("text/")
    except ValueError:  # neither JSON nor text
        return name, "", True


def as_members(fields: list[tuple[str, Json]]) -> dict[str, Any]:
    """Return fields as members; of a name that was sent several times a list."""
    out: dict[str, Any] = {}
    several: set[str] = set()
    for name, value in fields:
        if name in several:
            out[name].append(value)
        elif name in out:
            out[name] = [out[name], value]
            several.add(name)
        else:
            out[name] = value
    return out
