"""What no correction does, as properties: whatever the spelling of a name, a value or a path."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrigible.client.called_operation import another_operation
from corrigible.client.guard import (
    Written,
    decodings,
    is_secret_header,
    is_secret_name,
    is_secret_parameter,
    problem,
    same_place,
    step_problem,
)
from corrigible.client.sent_request import NotSendable, SentRequest
from corrigible.schema.document import is_path
from corrigible.schema.exchange import Request

KEY: Final = "K-live-51Zq"
_PREFIXES: Final = st.lists(st.sampled_from(["x", "my", "user", "db", "shop", "new", "app"]), max_size=2)
_SECRETS: Final = st.sampled_from(
    [
        *(["password"], ["passwd"], ["api", "key"], ["access", "token"], ["client", "secret"], ["private", "key"]),
        *(
            ["session", "id"],
            ["refresh", "token"],
            ["credential"],
            ["passkey"],
            ["passphrase"],
            ["connection", "string"],
        ),
        *(["auth", "code"], ["seed", "phrase"], ["jwt"], ["secret"], ["pwd"], ["recovery", "code"]),
    ]
)
_SUFFIXES: Final = st.sampled_from([[], ["2"], ["hash"], ["confirmation"], ["value"]])


def spelled(words: list[str], way: str) -> str:
    match way:
        case "camel":
            return words[0] + "".join(word.capitalize() for word in words[1:])
        case "pascal":
            return "".join(word.capitalize() for word in words)
        case "upper":
            return "_".join(words).upper()
    return way.join(words)


_WAYS: Final = st.sampled_from(["camel", "pascal", "upper", "_", "-", "."])


def wide(text: str) -> str:
    return "".join(chr(ord(one) + 0xFEE0) if one.isalnum() else one for one in text)


def escaped(text: str) -> str:
    return "".join(f"%{ord(one):02x}" for one in text)


def hidden(text: str) -> str:
    return "\u200b".join(text)


def twice(text: str) -> str:
    return escaped(text).replace("%", "%25")


def in_json(text: str) -> str:
    return "".join(f"\\u{ord(one):04x}" for one in text)


_DISGUISES: Final = st.sampled_from([str, wide, escaped, hidden, twice, in_json])


@given(_PREFIXES, _SECRETS, st.booleans(), _SUFFIXES, _WAYS, _DISGUISES)
def test_a_name_is_a_credential_s_in_whatever_spelling(
    before: list[str], secret: list[str], is_plural: bool, after: list[str], way: str, disguised: Any
) -> None:
    last = f"{secret[-1]}s" if is_plural else secret[-1]
    name = spelled([*before, *secret[:-1], last, *after], way)
    assert is_secret_name(disguised(name)) and is_secret_parameter(disguised(name)) and is_secret_header(name)


@given(
    st.sampled_from(["error", "country", "zip", "status", "language", "promo", "postal", "time", "bar", "qr"]),
    st.sampled_from(["code", "codes", "session", "ticket", "name", "type", "url", "page_token", "count", "id"]),
    _WAYS,
)
def test_ordinary_names_are_no_credentials(one: str, other: str, way: str) -> None:
    name = spelled([one, *other.split("_")], way)
    assert not is_secret_name(name) and not is_secret_parameter(name)


@given(st.sampled_from(["sort", "primary", "partition", "foreign", "cache", "group", "row", "public"]), _WAYS)
def test_ordinary_keys_are_no_credentials(one: str, way: str) -> None:
    for name in (spelled([one, "key"], way), spelled([one, "keys"], way)):
        assert not is_secret_name(name) and not is_secret_parameter(name)


def both(text: str) -> str:
    return base64.b64encode(f"key={text}&".encode()).decode()


_COPIES: Final = st.sampled_from(
    [str, str.upper, str.lower, wide, escaped, twice, hidden, in_json, both, lambda one: one.encode().hex().upper()]
)


@given(st.text("abcXYZ019-", min_size=6, max_size=40), _COPIES, st.text("qrs .", max_size=9), st.sampled_from("bqph"))
def test_a_credential_is_found_in_whatever_it_is_written_to(key: str, copied: Any, around: str, where: str) -> None:
    headers = (("x-api-key", key),)
    before = Written("https://a.test/v1/x?page=1", headers, {"note": ""}, frozenset())
    text = f"{around}{copied(key)}{around}"
    after = {
        "b": replace(before, body={"note": text}),
        "q": replace(before, url=f"https://a.test/v1/x?page={quote(text)}"),
        "p": replace(before, url=f"https://a.test/v1/{quote(text, safe='')}?page=1"),
        "h": replace(before, headers=(*headers, ("x-note", text))),
    }[where]
    assert "copies" in problem(before, after)
    assert "copies" in step_problem(replace(after, headers=after.headers[1:]), before)


@given(st.text("bcdfgh ", max_size=40))
def test_a_text_without_the_credential_is_no_copy(text: str) -> None:
    before = Written("https://a.test/v1/x", (("x-api-key", KEY),), {"note": ""}, frozenset())
    assert problem(before, replace(before, body={"note": text})) == ""


_DOTS: Final = st.sampled_from(
    [".", "\uff0e", "\u2024", "%2e", "%252e", "%c0%ae", "%u002e", "%EF%BC%8E", " ", "%20", "\u00a0", "\u3002"]
)
_SLASHES: Final = st.sampled_from(
    ["/", "%2f", "%252F", "%5c", "\\", "\uff0f", "\uff3c", "\u2215", "\u2044", ";a/", "%c0%af"]
)


@given(st.lists(_DOTS, min_size=1, max_size=2), _SLASHES, _SLASHES)
def test_what_may_be_a_dot_segment_is_no_path(dots: list[str], before: str, after: str) -> None:
    path = f"/v1/a{before}{''.join(dots)}{after}b"
    assert not is_path(path) and decodings(path) == ()


@given(st.text("\u200b\u200e\u202e\u2060\u00ad\ufeff\u2028\u0085\u3164\ud800", min_size=1, max_size=2), st.booleans())
def test_invisible_letters_are_in_no_path(unseen: str, is_escaped: bool) -> None:
    part = quote(unseen, errors="surrogatepass") if is_escaped else unseen
    assert not is_path(f"/v1/exp{part}ort") and decodings(f"/v1/exp{part}ort") == ()


@given(st.text("abcäö東京 -_.~!$&'()*+,:@=", min_size=1, max_size=9).filter(lambda one: one.strip(". ")))
def test_an_ordinary_path_is_one_however_it_is_escaped(segment: str) -> None:
    plain, under = f"/v1/{segment}", f"/v1/{quote(segment, safe='')}"
    assert is_path(plain) and is_path(under) and same_place(plain, under)


@given(st.binary(min_size=1, max_size=3), st.binary(min_size=1, max_size=3))
def test_two_paths_are_one_place_only_where_their_bytes_are(one: bytes, other: bytes) -> None:
    paths = [f"/v1/{quote(data, safe='')}" for data in (one, other)]
    assert same_place(*paths) is (one == other)


_FORMAL: Final = ("accept", "accept-language", "content-type", "content-language", "prefer", "idempotency-key")


@given(st.text("abcdeiorstvx-_", min_size=1, max_size=20))
def test_of_all_headers_only_those_of_form_and_version_are_edited_unasked(name: str) -> None:
    before = Request("POST", "/x", body={"a": 1})
    after = replace(before, headers={name: "1"})
    is_formal = name in _FORMAL or name.rpartition("-")[2].rpartition("_")[2] in ("version", "apiversion")
    is_formal = is_formal or (name.startswith("accept-") and "_" not in name and "--" not in name and name[-1] != "-")
    assert (another_operation(before, after, {}) == "") is is_formal


@given(
    st.sampled_from(["application/json", "application/x-www-form-urlencoded", "text/plain", ""]),
    st.sampled_from(["", "application/json", "application/x-www-form-urlencoded", "application/vnd.a+json"])
    | st.from_regex(r"[a-z]{1,9}/[a-z.+-]{1,12}(; charset=[a-z0-9-]{1,8})?", fullmatch=True),
    st.sampled_from([{"note": KEY}, {"password": "x"}, {"_method": "DELETE"}, {"a": {"api_key": "x"}}]),
)
def test_no_media_type_hides_what_a_body_says(media: str, changed: str, members: dict[str, Any]) -> None:
    body = b"note=a" if "form" in media else b'{"note": "a"}'
    headers = (("X-Api-Key", KEY), *([("Content-Type", media)] if media else []))
    sent = SentRequest("POST", "https://a.test/x", headers, body)
    before = sent.document()
    wanted = {**before.headers, "content-type": changed} if changed else {}
    with pytest.raises(NotSendable):
        sent.edited(replace(before, headers=wanted, body={**before.body, **members}))


@given(st.sampled_from(["/v1/users/7", "/v1/users/a%20b", "/v1/users/%66"]))
def test_a_path_under_escapes_is_read_once_for_each_server(path: str) -> None:
    assert decodings(path)[0] == path and "%" not in decodings(path)[-1]


@given(
    _PREFIXES, st.sampled_from(["signature", "sig", "hmac", "sign"]), st.sampled_from(["", "-256", "-sha256", "-v2"])
)
def test_what_is_signed_is_edited_nowhere(before: list[str], word: str, after: str) -> None:
    name = "-".join([*before, word])
    for headers, query in (
        (((f"{name}{after if word != 'sign' else ''}", "0a1b"),), "x=1"),
        ((), f"{name}=0a1b2c3d4e5f6071"),
    ):
        sent = SentRequest("POST", f"https://a.test/x?{query}", headers, b'{"a": 1}')
        with pytest.raises(NotSendable, match="signed"):
            sent.edited(replace(sent.document(), body={"a": 2}))


_TRIALS: Final = st.sampled_from(
    ["dry run", "validate only", "validation only", "check only", "test mode", "preview", "simulate"]
)


@given(_TRIALS, _WAYS, st.sampled_from([True, "true", 1, "All", ["All"]]), st.sampled_from(["query", "body", "inside"]))
def test_a_trial_ends_after_a_confirmation_alone(words: str, way: str, value: Any, where: str) -> None:
    name = spelled(words.split(), way)
    flags, others = {name: value, "a": 1}, {"a": 1}
    for after in (others, {**others, name: False}, {**others, name: "false"}, {**others, name: None}):
        if where == "query":
            begin, end = (Request("POST", "/x", query=one) for one in (flags, after))
        else:
            begin, end = (
                Request("POST", "/x", body={"o": [one]} if where == "inside" else one) for one in (flags, after)
            )
        assert name in another_operation(begin, end, {})
        assert another_operation(end, begin, {}) == ""


_VERBS: Final = st.sampled_from(
    ["get", "read", "list", "delete", "orders.delete", "Purge", "mutation { a }", "tools/call"]
)


@given(_VERBS, _VERBS, st.booleans(), st.booleans())
def test_another_method_of_json_rpc_is_another_call(one: str, other: str, is_batch: bool, is_named: bool) -> None:
    calls = [
        {"id": 1, "method": verb, "params": {"a": 1}, **({"jsonrpc": "2.0"} if is_named else {})}
        for verb in (one, other)
    ]
    before, after = (Request("POST", "/rpc", body=[call] if is_batch else call) for call in calls)
    assert bool(another_operation(before, after, {})) is (one != other)
