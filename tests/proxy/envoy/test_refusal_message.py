"""What a gateway and a corrector say to each other."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.proxy.envoy.refusal_message import Unreadable, head_edits, read_head, read_message, written
from tests._support.rows import rows

NAMES = st.sampled_from(["a", "A", "Set-Cookie", "set-cookie", "Vary", "content-length", "x"])
HEADERS = st.lists(
    st.tuples(NAMES, st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=3)), max_size=8
)


def edited(headers: list[tuple[str, str]], lines: list[str]) -> list[tuple[str, str]]:
    """Do as a gateway does: `-` removes a header, `=` sets the first value of one, `+` adds one."""
    out = [(name.lower(), value) for name, value in headers]
    for line in lines:
        name, _, value = line[1:].partition(":")
        low = name.lower()
        match line[0]:
            case "-":
                out = [one for one in out if one[0] != low]
            case "=":
                assert [one[0] for one in out].count(low) == 1
                out = [(low, value) if one[0] == low else one for one in out]
            case "+":
                out.append((low, value))
    return out


@given(HEADERS, HEADERS)
def test_edits_make_one_head_another(before: list[tuple[str, str]], after: list[tuple[str, str]]) -> None:
    def values(headers: list[tuple[str, str]]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, value in headers:
            found.setdefault(name.lower(), []).append(value)
        return found

    assert values(edited(before, head_edits(before, after))) == values(after)


def test_a_head_that_stays_has_no_edits() -> None:
    headers = [("Content-Type", "a"), ("Set-Cookie", "1"), ("Set-Cookie", "2")]
    assert head_edits(headers, [(name.lower(), value) for name, value in headers]) == []


def test_what_is_written_is_read() -> None:
    request = b":method:POST\n:path:/x?a=1:2\nx-colon:a:b\nx-empty:\n"
    body = b"a\x00\xff"
    lengths, message = written([request, base64.b64encode(body), b":status:400\n", b"no", b"t:1\n"])
    read = read_message(lengths, message)
    assert read.request.pseudo == {":method": "POST", ":path": "/x?a=1:2"}
    assert read.request.headers == [("x-colon", "a:b"), ("x-empty", "")]
    assert (read.request_body, read.response_body) == (body, b"no")
    assert (read.response.pseudo, list(read.trailers)) == ({":status": "400"}, [("t", "1")])


@rows(
    ("lengths", "body", "problem"),
    [
        (b"", b"", "not 5 lengths"),
        (b"1 2 3", b"", "not 5 lengths"),
        (b"-1 0 0 0 0", b"", "not 5 lengths"),
        (b"9999999999 0 0 0 0", b"", "not 5 lengths"),
        (b"3 0 0 0 0", b"ab", "the sections have 3 bytes, the body has 2"),
        (b"0 3 0 0 0", b"a*b", "no base64"),
        (b"3 0 0 0 0", b"abc", "no colon"),
    ],
)
def test_what_is_no_message_is_told(lengths: bytes, body: bytes, problem: str) -> None:
    with pytest.raises(Unreadable, match=problem):
        read_message(lengths, body)


def test_bytes_of_a_head_that_are_no_text_come_back_as_they_were() -> None:
    ((name, value),) = read_head(b"x-name:caf\xe9\n").headers
    assert (name, value.encode("utf-8", "surrogateescape")) == ("x-name", b"caf\xe9")
