"""multipart/form-data as a form: fields are texts, of files only the names are kept."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.proxy.http.request_reader import read_request
from corrigible.schema.exchange import Request
from tests._support.rows import rows

FILE = (
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a \\"b\\".png"\r\n'
    b"Content-Type: image/png\r\n\r\n\xff\x00\r\n"
)


def part(name: str, value: bytes, *fields: str) -> bytes:
    head = "".join(f"{field}\r\n" for field in (f'Content-Disposition: form-data; name="{name}"', *fields))
    return b"--b\r\n" + head.encode() + b"\r\n" + value + b"\r\n"


def read(body: bytes, media: str = "multipart/form-data; boundary=b") -> Request:
    return read_request("POST", "/x", [("Content-Type", media)], body)


@rows(
    ("parts", "body", "files"),
    [
        ([part("title", b"a\r\nb")], {"title": "a\r\nb"}, []),
        ([part("title", "ä".encode()), FILE], {"title": "ä", "file": 'a \\"b\\".png'}, ["file"]),
        ([part("meta", b'{"n": 1}', "Content-Type: application/json")], {"meta": {"n": 1}}, []),
        ([part("raw", b"\xff", "Content-Type: application/octet-stream")], {"raw": ""}, ["raw"]),
        ([part("tags", b"a"), part("tags", b"b"), part("tags", b"c")], {"tags": ["a", "b", "c"]}, []),
        ([part("to[name]", b"a"), part("tags[]", b"b")], {"to": {"name": "a"}, "tags": ["b"]}, []),
        ([FILE.replace(b'"file"', b'"files[]"')], {"files": ['a \\"b\\".png']}, ["files"]),
        ([part("empty", b"")], {"empty": ""}, []),
    ],
)
def test_the_parts_are_members(parts: list[bytes], body: Any, files: list[str]) -> None:
    request = read(b"".join(parts) + b"--b--\r\n")
    assert (request.form, request.body, sorted(request.files)) == (True, body, files)


@pytest.mark.parametrize(
    "media", ['multipart/form-data; charset=utf-8; boundary="b"', "Multipart/Form-Data;BOUNDARY=b"]
)
def test_the_boundary_may_be_written_in_any_way(media: str) -> None:
    assert read(part("a", b"1") + b"--b--", media).body == {"a": "1"}


@rows(
    ("body", "media"),
    [
        (part("a", b"1") + b"--b--", "multipart/form-data"),
        (part("a", b"1") + b"--b--", "multipart/form-data; boundary=c"),
        (part("a", b"1"), "multipart/form-data; boundary=b"),
        (b"--b\r\n\r\n1\r\n--b--", "multipart/form-data; boundary=b"),
        (b"--b\r\nContent-Type: text/plain\r\n\r\n1\r\n--b--", "multipart/form-data; boundary=b"),
        (b"--bc\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b--", "multipart/form-data; boundary=b"),
        (part("a", b"1") * 1001 + b"--b--", "multipart/form-data; boundary=b"),
    ],
    ids=["no boundary", "another boundary", "no end", "no fields", "no name", "a longer boundary", "too many parts"],
)
def test_what_cannot_be_read_stays_text(body: bytes, media: str) -> None:
    request = read(body, media)
    assert (request.form, request.body, request.files) == (False, body.decode(), frozenset())
