"""Which values of a request are credentials, by the names under which they were sent."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from corrigible.client.credentials import credential_values, given_values, is_ordinary, values_in_address, without
from corrigible.client.guard import is_secret_header, is_secret_parameter
from corrigible.schema.document import is_credential_name
from tests._support.rows import rows


@rows(
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


@rows("name", ["Idempotency-Key", "page_token", "X-Continuation-Token", "key", "Accept", "sort_key", "author", "keys"])
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


PROTECTED = "X-Figma-Token Token X-Auth Ocp-Apim-Subscription-Key DD-APPLICATION-KEY X-RapidAPI-Key X-Csrf X-Signature"


@rows("name", [*PROTECTED.split(), "X-Jwt", "X-Passcode", "Circle-Token", "X-Session"])
def test_what_the_guard_protects_in_headers_is_hidden(name: str) -> None:
    assert is_secret_header(name)
    assert credential_values([(name, "Sk9Zq-live")], "") == {"Sk9Zq-live"}


@rows("name", ["key", "token", "sig", "signature", "jwt", "pass", "hapikey", "sid", "bearer"])
def test_what_the_guard_protects_in_a_query_is_hidden(name: str) -> None:
    assert is_secret_parameter(name)
    assert credential_values([], f"{name}=Sk9Zq-live&sort=ascending") == {"Sk9Zq-live"}
    many = "&".join(f"a{number}=1" for number in range(3000))
    assert credential_values([], f"{many}&{name}=Sk9Zq-live") == {"Sk9Zq-live"}, "of a query that nobody edits"


def test_parts_of_a_signature_are_hidden_and_what_stands_beside_them_is_not() -> None:
    values = credential_values([("X-Signature", "t=1700000000,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e7")], "")
    assert "5257a869e7ecebeda32affa62cdca3fa51cad7e7" in values
    assert not {"1700000000", "t", "v1"} & values


GIVEN = [
    "Sk9Zq-live-77AbCdEf",
    "SH0PKEY77",
    "hunter2hunter2",
    "0123456789abcdef0123456789abcdef",
    "AKIAIOSFODNN7EXAMPLE",
]
GIVEN += [
    "550e8400-e29b-41d4-a716-446655440000",
    "my-secret-value",
    "K-secret-1",
    "4111111111111111",
    "QmFzZTY0IHRleHQ=",
]
ORDINARY = [
    "application/json",
    "application/vnd.github.v3+json",
    "2022-11-28",
    "2024-06-20.acacia",
    "v1",
    "api.example.com",
]
ORDINARY += ["v1beta1", "v1p1beta1", "myProject", "2026-11-29T09:30:00Z", "2015-10-01-preview", "/apis/apps/v1beta1"]
ORDINARY += [
    "en-US,en;q=0.9",
    "https://app.example.com",
    "europe-west4",
    "metric",
    "Europe/Berlin",
    "utf-8",
    "acme",
    "20240101",
]


@rows("value", GIVEN)
def test_what_is_given_for_every_request_is_hidden_under_any_name(value: str) -> None:
    assert not is_ordinary(value)
    assert value in given_values({"X-Shop": value}, {}, "https://api.example.com", frozenset())
    assert value in given_values({}, {"appid": value}, "https://api.example.com", frozenset())
    assert value in given_values({"X-Shop": f"Shop {value}"}, {}, "https://api.example.com", frozenset())
    assert value in given_values({}, {}, f"https://api.example.com/v1/{value}/", frozenset())
    assert value in given_values({}, {}, f"https://api.example.com/v1/bot12:{value}", frozenset()) or len(value) < 17


@rows("value", ORDINARY)
def test_ordinary_values_are_shown_but_for_those_of_credentials(value: str) -> None:
    assert is_ordinary(value)
    assert (
        given_values({"X-Shop": value}, {"units": value}, "https://api.example.com/api/petstore3", frozenset()) == set()
    )
    if len(value) >= 6:
        assert value in given_values({}, {"api_key": value}, "https://api.example.com", frozenset())


def test_ordinary_headers_are_shown_whatever_their_value() -> None:
    headers = {"User-Agent": "MyApp/1.0 (Linux; x86_64) 8f3b2c9d1e", "Accept": "application/x1y2z3+json"}
    assert given_values(headers, {}, "https://api.example.com", frozenset()) == set()


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


def halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


FORMS: dict[str, Callable[[str], str]] = {
    "octal": lambda text: "".join(f"\\{one:03o}" for one in text.encode()),
    "quoted-printable": lambda text: "".join(f"={one:02X}" for one in text.encode()),
    "percent of Unicode": lambda text: "".join(f"%u{one:04x}" for one in text.encode()),
    "bytes in a list": lambda text: ", ".join(f"0x{one:02x}" for one in text.encode()),
    "hexadecimal with colons": lambda text: text.encode().hex(":"),
    "hexadecimal with blanks": lambda text: text.encode().hex(" ").upper(),
    "base32": lambda text: base64.b32encode(b"a" + text.encode()).decode(),
    "base64 of UTF-16": lambda text: base64.b64encode(text.encode("utf-16")).decode(),
    "UTF-7": lambda text: f"+{base64.b64encode(text.encode('utf-16-be')).decode().rstrip('=')}-",
    "base64 of base64": lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
    "fullwidth": lambda text: "".join(chr(ord(one) + 0xFEE0) for one in text),
    "combining": lambda text: "\u0301".join(text),
    "a list of halves": lambda text: json.dumps(halves(text)),
    "a sum of halves": lambda text: '" + "'.join(halves(text)),
    "hyphenated": lambda text: "\u2010\n".join(halves(text)),
    "with commas": ",".join,
    "a tag": lambda text: "<b>{}</b>{}".format(*halves(text)),
    "tags": "<i>".join,
    "percent, many times": lambda text: quote(quote(quote(quote("".join(f"%{one:02x}" for one in text.encode()))))),
}


@given(st.text("abcdefghijABCDEFGHIJ0123456789", min_size=16, max_size=40), st.sampled_from(list(FORMS)))
def test_a_key_is_hidden_in_other_forms_and_in_parts(key: str, form: str) -> None:
    written = FORMS[form](key)
    shown = without(frozenset({key}), f"It has << {written} >> in it")
    assert "(hidden)" in shown and len(shown) < 50, shown


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
