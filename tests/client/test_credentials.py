"""Which values of a request are credentials, by the names under which they were sent."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.client.credentials import credential_values, values_in_address, without
from corrigible.schema.document import is_credential_name


@pytest.mark.parametrize(
    "name",
    [
        *(
            "Authorization",
            "X-Api-Key",
            "api-key",
            "apikey",
            "X-Auth-Token",
            "Private-Token",
            "X-Vault-Token",
            "api_key",
        ),
        *(
            "X-Shop-Api-Key",
            "access_token",
            "X-Session-Token",
            "x-secret",
            "X-Password",
            "Cookie",
            "X-Amz-Security-Token",
        ),
    ],
)
def test_usual_names_of_credentials(name: str) -> None:
    assert is_credential_name(name)


@pytest.mark.parametrize(
    "name", ["Idempotency-Key", "page_token", "X-Continuation-Token", "key", "Accept", "sort_key", "author", "keys"]
)
def test_other_names(name: str) -> None:
    assert not is_credential_name(name)


def test_values_of_headers_cookies_and_the_query() -> None:
    headers = [
        ("Authorization", "Bearer abcdef"),
        ("Cookie", "theme=default; sid=0123456789abcdef; auth-token=cookie; shop=in-shop"),
        ("Shop", "shop-pass"),
        ("X-Api-Key", "short"),
    ]
    values = credential_values(headers, "api_key=in+query&sort=ascending", frozenset({"shop"}))
    assert values == {"abcdef", "0123456789abcdef", "cookie", "in-shop", "shop-pass", "in query"}


def test_a_longer_value_is_hidden_whole() -> None:
    assert without(frozenset({"abcdef", "abcdefgh"}), "x abcdefgh, abcdef") == "x (hidden), (hidden)"


def test_a_credential_without_a_scheme_is_whole() -> None:
    assert credential_values([("Authorization", "rawtoken")], "") == {"rawtoken"}


SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "capitals": lambda text: text.swapcase(),
    "json": lambda text: json.dumps(text)[1:-1],
    "json, every character": lambda text: "".join(f"\\u{ord(one):04X}" for one in text),
    "json, slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "percent": lambda text: quote(text, safe=""),
    "percent, every character": lambda text: "".join(f"%{one:02x}" for one in text.encode()),
    "entities": html.escape,
    "numbers": lambda text: "".join(f"&#{ord(one)};" for one in text),
    "hexadecimal numbers": lambda text: "".join(f"&#x{ord(one):x};" for one in text),
    "python": lambda text: "".join(f"\\x{one:02x}" for one in text.encode()),
    "broken by what is invisible": lambda text: "\u200b\ufe01".join(text),
    "hexadecimal": lambda text: text.encode().hex(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 with more": lambda text: base64.urlsafe_b64encode(b"{a" + text.encode() + b"}").decode(),
}
ESCAPES = [name for name in SPELLINGS if name.startswith(("json", "percent", "entities", "num", "hexadecimal num"))]
KEY = st.text("".join(map(chr, range(0x21, 0x7F))), min_size=9, max_size=40)


def characters(text: str) -> str:
    return "".join(one for one in text.lower() if one.isalnum())


@given(KEY, st.sampled_from(list(SPELLINGS)), st.lists(st.sampled_from(ESCAPES), max_size=2))
def test_a_key_is_hidden_however_it_is_written(key: str, spelling: str, around: list[str]) -> None:
    if not {"\\", "%", "&"}.isdisjoint(key):  # which escapes of another kind begin with
        around = []
    written = SPELLINGS[spelling](key)
    for name in around if len(key) < 20 else around[:1]:
        written = SPELLINGS[name](written)
    shown = without(frozenset({key}), f"It has <<{written}>> in it")
    assert "(hidden)" in shown
    assert len(shown) < 60 or spelling.startswith("base64"), "what stands before and after has bits of its ends"


@given(KEY, st.integers(4, 39), st.integers(1, 5), st.sampled_from([*ESCAPES, "as it is", "hexadecimal"]))
def test_the_start_of_a_key_before_a_cut_is_hidden(key: str, length: int, left: int, spelling: str) -> None:
    """The cut may be inside an escape."""
    whole = [SPELLINGS[spelling](one) for one in key]
    length = min(length, len(key) - 1)
    written = "".join(whole[:length]) + whole[length][:left]
    shown = without(frozenset({key}), f"said: {written}... (cut, 999 characters)")
    assert shown.startswith("said: (hidden)") and len(shown) < 60, (written, shown)


def test_each_part_of_basic_is_hidden_and_so_is_what_stands_in_an_address() -> None:
    basic = base64.b64encode(b"alice-1:pa$$").decode()
    values = credential_values([("Authorization", f"Basic {basic}")], "")
    for text in (basic, "alice-1:pa$$", "alice-1", "the password pa$$ is wrong", "alice-1%3Apa%24%24"):
        assert "(hidden)" in without(values, text)
    assert (
        without(credential_values([("Authorization", "Basic eDphYmM=")], ""), "abcd xabc abc.") == "abcd xabc (hidden)."
    )
    address = values_in_address("https://alice%40home:s3cret@api.example.com/")
    assert without(address, "of alice@home with s3cret at") == "of (hidden) with (hidden) at"
    assert values_in_address("https://api.example.com/") == frozenset()


@given(st.text(max_size=200))
def test_other_text_stays(text: str) -> None:
    assert without(frozenset({"0123456789-abcdef"}), text) == text
