"""From HTTP bytes to the request document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import parse_qsl

import orjson

from corrigible.rules.pointer import parameter_segments
from corrigible.schema.exchange import Json, Request

from .multipart_body import MEDIA_TYPE as MULTIPART
from .multipart_body import as_members, read_multipart
from .yaml_body import MEDIA_TYPES, read_yaml

# Credentials never enter the document; framing says nothing about what was asked for.
_LEFT_OUT = frozenset(
    [
        "authorization",
        "proxy-authorization",
        "cookie",
        "x-api-key",
        "api-key",
        "x-auth-token",
        "x-amz-security-token",
        "x-goog-api-key",
        "x-access-token",
        "x-vault-token",
        "x-csrf-token",
        "apikey",
        "private-token",
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
        "host",
        "accept-encoding",
    ]
)


def is_left_out(header: str) -> bool:
    """Whether a header, in lower case, is a credential or framing: no part of the document."""
    return header in _LEFT_OUT


_MOST_FIELDS = 2000
_DEEPEST = 20


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
        if low not in _LEFT_OUT:
            kept[low] = f"{kept[low]}, {value}" if low in kept else value
    form, files = media == "application/x-www-form-urlencoded", frozenset[str]()
    decoded: Json = None
    if form and body[:1] in (b"{", b"[") and not isinstance(named_form := _json_or_text(body), str):
        form, decoded = False, named_form  # what clients send who forget to say that it is JSON
    elif form:
        decoded = nested(_fields(body.decode("utf-8", "replace")))
    elif media == MULTIPART and (read := _multipart(body, parameters)) is not None:
        form, decoded, files = True, *read
    elif body:
        decoded = _json_or_text(body, parameters)
        if media in MEDIA_TYPES and isinstance(decoded, str):
            decoded = _yaml_or_text(body, decoded)
    return Request(
        method=method.upper(),
        path=path,
        query=_flat(_fields(query)) if query else {},
        headers=kept,
        body=decoded,
        form=form,
        files=files,
    )


def _multipart(body: bytes, parameters: str) -> tuple[Json, frozenset[str]] | None:
    try:
        fields, files = read_multipart(body, parameters)
    except ValueError:
        return None
    members = as_members(fields)
    if not any("[" in name for name in members):
        return members, files
    names = {name: parameter_segments(name)[0] for name in members}
    return nested(fields), frozenset(names[one] for one in files)


def _fields(text: str) -> list[tuple[str, str]]:
    if "%" not in text and "+" not in text and text.count("&") < _MOST_FIELDS:
        pairs = (part.partition("=") for part in text.split("&") if part)
        return [(name, value) for name, _, value in pairs]
    return parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)


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


def _flat(fields: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return query parameters under the names they were sent by; one sent several times is a list."""
    out: dict[str, Any] = {}
    for name, value in fields:
        if name not in out:
            out[name] = value
        elif isinstance(out[name], list):
            out[name].append(value)
        else:
            out[name] = [out[name], value]
    return out


def nested(fields: Sequence[tuple[str, Json]]) -> dict[str, Any]:
    """Decode `a[b]=1`, `a[]=1` and `a[0][b]=1`. Members numbered from 0 without a gap become arrays."""
    out: dict[str, Any] = {}
    bracketed = False
    for name, value in fields:
        if "[" not in name:
            out[name] = value
            continue
        bracketed = True
        parts = parameter_segments(name)[:_DEEPEST]
        here = out
        for part in parts[:-1]:
            here = _into(here, _slot(here, part))
        here[_slot(here, parts[-1])] = value
    return {name: _arrays(value) for name, value in out.items()} if bracketed else out


def _slot(here: dict[str, Any], part: str) -> str:
    return part if part != "" else str(len(here))


def _into(here: dict[str, Any], name: str) -> dict[str, Any]:
    inner = here.get(name)
    if not isinstance(inner, dict):
        inner = here[name] = {}
    return inner


def _arrays(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value and all(str(index) in value for index in range(len(value))):
        return [_arrays(value[str(index)]) for index in range(len(value))]
    return {name: _arrays(inner) for name, inner in value.items()}
