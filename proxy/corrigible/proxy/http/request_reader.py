"""From HTTP bytes to the request document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import orjson

from corrigible.schema.document import UNDOCUMENTED, by_name, fields, nested, paths
from corrigible.schema.exchange import Json, Request

from .yaml_body import MEDIA_TYPES, read_yaml


def read_request(method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes) -> Request:
    """Build the request document. A body that cannot be decoded is kept as text: nothing may take it for absent.

    Raises ValueError for a form or query of too many fields.
    """
    path, _, query = target.partition("?")
    kept: dict[str, str] = {}
    media = parameters = ""
    for name, value in headers:
        low = name.lower()
        if low == "content-type":
            media, _, parameters = value.partition(";")
            media = media.strip().lower()
        if low not in UNDOCUMENTED:
            kept[low] = f"{kept[low]}, {value}" if low in kept else value
    form, files = media == "application/x-www-form-urlencoded", frozenset[str]()
    decoded: Json = None
    if form and body[:1] in (b"{", b"[") and not isinstance(named_form := _json_or_text(body), str):
        form, decoded = False, named_form  # what clients send who forget to say that it is JSON
    elif form:
        decoded = nested(fields(body.decode("utf-8", "replace")))
    elif media == MULTIPART and (read := _multipart(body, parameters)) is not None:
        form, decoded, files = True, *read
    elif body:
        decoded = _json_or_text(body, parameters)
        if media in MEDIA_TYPES and isinstance(decoded, str):
            decoded = _yaml_or_text(body, decoded)
    return Request(
        method=method.upper(),
        path=path,
        query=by_name(fields(query)) if query else {},
        headers=kept,
        body=decoded,
        form=form,
        files=files,
        is_json_text=isinstance(decoded, str) and _JSON_TEXT.match(body) is not None and _is_json(body, parameters),
        has_other_numbers=not form and isinstance(decoded, dict | list | float) and _has_other_numbers(body),
    )


def _multipart(body: bytes, parameters: str) -> tuple[Json, frozenset[str]] | None:
    try:
        parts, files = read_multipart(body, parameters)
    except ValueError:
        return None
    members = as_members(parts)
    if not any("[" in name for name in members):
        return members, files
    return nested(parts), frozenset(
        path[0] for (name, _), path in zip(parts, paths(parts), strict=True) if name in files
    )


def _has_other_numbers(body: bytes) -> bool:
    """Whether JSON has a number that is read as a fraction, and whose text is another than that of what was read."""
    return len(body) > _MOST_SCANNED or any(map(_is_read_as_another, _NUMBER.findall(body)))


def _is_read_as_another(text: bytes) -> bool:
    if (len(text) <= _SHORT and text.lstrip(b"-").isdigit()) or not text:
        return False
    if text.lstrip(b"-").isdigit():
        return len(text) > _LONG or not -(1 << 63) <= int(text) < 1 << 64
    return repr(float(text)).encode() != text


_MOST_SCANNED = 1 << 16
_SHORT = 18
"""Digits of integers that have room in 64 bits."""
_LONG = 20
"""Of more digits none has."""
_NUMBER = re.compile(rb'"(?:[^"\\]|\\.)*"|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)', re.DOTALL)
_JSON_TEXT = re.compile(rb'[ \t\r\n]*"')


def _is_json(body: bytes, parameters: str) -> bool:
    """Whether a body that begins with a quote is JSON to its end: then reading it gives what the quotes hold."""
    text = _json_or_text(body, parameters)
    return bool(text != body.decode("utf-8", "replace"))


def _json_or_text(body: bytes, parameters: str = "") -> Json:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    charset = _CHARSET.search(parameters)
    try:
        return orjson.loads(body.decode(_CHARSETS[charset[1].lower()] if charset is not None else "utf-8"))
    except (KeyError, ValueError):  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        return body.decode("utf-8", "replace")


_CHARSET = re.compile(r"(?i)\bcharset\s*=\s*\"?([\w-]{1,20})")
_CHARSETS = {
    name: name for name in ("iso-8859-1", "latin1", "iso-8859-15", "windows-1252", "utf-16", "utf-16le", "utf-16be")
}
"""Charsets that clients write JSON in where they should write UTF-8 (RFC 8259 section 8.1)."""


def _yaml_or_text(body: bytes, text: str) -> Json:
    try:
        return read_yaml(body)
    except ValueError:
        return text


# A multipart/form-data body (RFC 7578) as a form: fields as texts, files by their names.

MULTIPART: Final = "multipart/form-data"
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
