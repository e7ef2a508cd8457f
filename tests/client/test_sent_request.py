"""A request as it was sent: the document that a proxy reads from it too, and its bytes after an edit."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from corrigible.client.sent_request import NotSendable, SentRequest
from corrigible.proxy.http.request_reader import read_request
from corrigible.schema import Request
from tests._support.rows import rows

URL = "https://api.example.com/v1/orders"
FORM = ("Content-Type", "application/x-www-form-urlencoded")
JSON = ("Content-Type", "application/json")


def sent(body: Any, *headers: tuple[str, str], url: str = URL, method: str = "POST") -> SentRequest:
    content = body if isinstance(body, bytes | None) else body.encode()
    return SentRequest(method, url, headers, content)


@rows(
    "request_",
    [
        sent(b"", url=f"{URL}?a[b]=1&tag=x&tag=y&q=a%20b+c", method="GET"),
        sent("amount=500&card[number]=42&card[cvc]=1&tags[]=a&tags[]=b&note=a+%26+b", FORM),
        sent('{"amount": 500, "tags": ["a"], "price": 1.5}', JSON, ("X-Api-Key", "secret"), ("X-Trace", "1")),
        sent('{"amount": 500}', FORM),
        sent('{"amount": 500}', ("Content-Type", "text/plain")),
        sent("hello", ("Content-Type", "text/plain"), ("Accept", "a"), ("Accept", "b")),
        sent('{"amount": NaN}', JSON),
        sent("{broken", JSON),
        sent("{broken", FORM),
        sent(b"", url="https://api.example.com", method="get"),
    ],
)
def test_a_client_and_the_proxy_read_the_same_document(request_: SentRequest) -> None:
    target = request_.url.removeprefix("https://api.example.com") or "/"
    assert request_.document() == read_request(request_.method, target, request_.headers, request_.body or b"")


@pytest.mark.parametrize("name", ["Authorization", "Cookie", "X-API-Key", "Host", "Content-Length"])
def test_credentials_and_framing_are_sent_and_are_not_in_the_document(name: str) -> None:
    request = sent('{"a": 1}', JSON, (name, "secret"))
    assert "secret" not in repr(request.document())
    assert (name, "secret") in request.edited(replace(request.document(), method="PUT")).headers


@pytest.mark.parametrize("body", [None, "multipart", "yaml", "gzip", "bytes"])
def test_a_body_that_is_not_read_is_never_edited(body: str | None) -> None:
    headers = {
        "multipart": ("Content-Type", "multipart/form-data; boundary=x"),
        "yaml": ("Content-Type", "application/yaml"),
        "gzip": ("Content-Encoding", "gzip"),
    }
    content = body if body is None else b"\xff\xfe" if body == "bytes" else b'{"a": 1}'
    request = sent(content, *([headers[body]] if body in headers else []))
    assert request.document().body is None
    with pytest.raises(NotSendable):
        request.edited(replace(request.document(), body={"a": 2}))


def test_a_body_that_is_not_read_is_sent_again_as_it_was_with_another_path() -> None:
    request = sent(b"--x--", ("Content-Type", "multipart/form-data; boundary=x"))
    edited = request.edited(replace(request.document(), path="/v2/orders"))
    assert (edited.url, edited.body) == ("https://api.example.com/v2/orders", b"--x--")


class TestBody:
    def test_json_is_written_again_with_the_same_media_type(self) -> None:
        request = sent('{"a": 1, "b": "ü"}', ("Content-Type", "application/merge-patch+json"), ("Content-Length", "18"))
        edited = request.edited(replace(request.document(), body={"a": 2, "b": "ü"}))
        assert edited.body == '{"a":2,"b":"ü"}'.encode()
        assert edited.headers == (("Content-Type", "application/merge-patch+json"),)

    @pytest.mark.parametrize(
        "text", ['{"a": 0.1000000000000000055511151231257827, "b": 1}', '{"b": 1, "b": 2}', '{"a": 1e400, "b": 1}']
    )
    def test_json_that_would_not_say_the_same_is_not_written_again(self, text: str) -> None:
        request = sent(text, JSON)
        with pytest.raises(NotSendable):
            request.edited(replace(request.document(), body={**request.document().body, "b": 3}))

    def test_a_number_becomes_another_kind_of_number(self) -> None:
        request = sent('{"count": 1.0, "on": 1}', JSON)
        assert (
            request.edited(replace(request.document(), body={"count": 1, "on": True})).body == b'{"count":1,"on":true}'
        )

    def test_a_form_keeps_what_is_not_edited_byte_for_byte(self) -> None:
        request = sent("note=a%20b+c&amount=500&card%5Bcvc%5D=1&empty=", FORM)
        body = {**request.document().body, "amount": 300, "currency": "usd"}
        assert request.edited(replace(request.document(), body=body)).body == (
            b"note=a%20b+c&amount=300&card%5Bcvc%5D=1&empty=&currency=usd"
        )

    @rows(
        ("before", "edit", "after"),
        [
            ("a[]=1&a[]=2", lambda b: b["a"].append("3"), "a[]=1&a[]=2&a%5B%5D=3"),
            ("a[0]=1&a[1]=2", lambda b: b["a"].append("3"), "a[0]=1&a[1]=2&a%5B2%5D=3"),
            ("a[0]=1&a[1]=2", lambda b: b["a"].pop(0), "a[0]=2"),
            ("a[0][b]=1", lambda b: b["a"][0].update(c="x y"), "a[0][b]=1&a%5B0%5D%5Bc%5D=x+y"),
            ("a[][b]=1", lambda b: b["a"][0].update(b="2"), "a[][b]=2"),
            ("m[k]=1&x=2", lambda b: b["m"].clear(), "x=2"),
            ("tag=1&tag=2&x=1", lambda b: b.update(x="9"), "tag=1&tag=2&x=9"),
            ("on=1", lambda b: b.update(on=True, off=None), "on=true&off="),
            ("on=1&&x=2&", lambda b: b.update(x="3"), "on=1&x=3"),
            ("a[]=1", lambda b: b.update(a={"x": "2"}), "a%5Bx%5D=2"),
            ("a[]=1&a[k]=2", lambda b: b["a"].update(k="3"), "a[]=1&a[k]=3"),
        ],
    )
    def test_a_form_is_spelt_as_its_sender_spells_it(self, before: str, edit: Any, after: str) -> None:
        request = sent(before, FORM)
        body = json.loads(json.dumps(request.document().body))
        edit(body)
        assert request.edited(replace(request.document(), body=body)).body == after.encode()

    def test_equal_names_are_a_list_that_is_edited_as_such(self) -> None:
        request = sent("a=1&tag=1&tag=2", FORM)
        for tags, after in ((["1", "2"], b"a=2&tag=1&tag=2"), (["1", "3"], b"a=2&tag=1&tag=3"), ("3", b"a=2&tag=3")):
            assert request.edited(replace(request.document(), body={"a": "2", "tag": tags})).body == after

    @pytest.mark.parametrize(
        ("headers", "body", "media", "written"),
        [
            ([FORM], "a=1&b[c]=2", "application/json", b'{"a":"1","b":{"c":"2"}}'),
            ([JSON], '{"a": 1, "b": {"c": 2}}', FORM[1], b"a=1&b%5Bc%5D=2"),
            ([FORM], '{"a": 1}', "application/json", b'{"a": 1}'),
            ([("Content-Type", "text/plain")], '{"a": 1}', "application/json", b'{"a": 1}'),
        ],
    )
    def test_another_media_type_is_another_notation(
        self, headers: list[tuple[str, str]], body: str, media: str, written: bytes
    ) -> None:
        request = sent(body, *headers)
        edited = request.edited(replace(request.document(), headers={"content-type": media}))
        assert (edited.body, edited.headers) == (written, (("Content-Type", media),))

    def test_a_first_body_is_json(self) -> None:
        request = sent(b"", ("Content-Length", "0"))
        edited = request.edited(replace(request.document(), body={"a": 1}))
        assert (edited.body, edited.headers) == (b'{"a":1}', (JSON,))

    def test_a_body_can_go(self) -> None:
        request = sent('{"a": 1}', JSON, ("Content-Length", "8"))
        edited = request.edited(replace(request.document(), body=None))
        assert (edited.body, edited.headers) == (b"", (JSON,))

    def test_a_lone_surrogate_is_written_as_it_was(self) -> None:
        request = sent('{"a": "\\ud800", "b": "ü", "c": 1}', JSON)
        edited = request.edited(replace(request.document(), body={**request.document().body, "c": 2}))
        assert edited.body == b'{"a":"\\ud800","b":"\\u00fc","c":2}'

    def test_text_stays_text(self) -> None:
        request = sent("hello", ("Content-Type", "text/plain"))
        assert request.edited(replace(request.document(), body="bye")).body == b"bye"
        with pytest.raises(NotSendable, match="no text"):
            request.edited(replace(request.document(), body={"a": 1}))


class TestQueryPathAndHeaders:
    def test_a_query_keeps_what_is_not_edited(self) -> None:
        request = sent(b"", url=f"{URL}?q=a%20b&sort=neu&tag=1&tag=2", method="GET")
        edited = request.edited(
            replace(request.document(), query={"q": "a b", "sort": "new", "tag": ["1", "2"], "n": 5})
        )
        assert edited.url == f"{URL}?q=a%20b&tag=1&tag=2&sort=new&n=5"

    def test_values_of_a_repeated_name_are_sent_one_by_one(self) -> None:
        request = sent(b"", url=f"{URL}?tag=1", method="GET")
        assert request.edited(replace(request.document(), query={"tag": ["1", 2]})).url == f"{URL}?tag=1&tag=2"

    def test_a_query_of_objects_is_written_with_brackets(self) -> None:
        request = sent(b"", url=f"{URL}?a[x]=1&filter[state]=opn", method="GET")
        query = {"a[x]": "1", "filter": {"state": "open"}, "in": [{"k": "v"}, 2]}
        edited = request.edited(replace(request.document(), query=query))
        assert edited.url == f"{URL}?a[x]=1&filter%5Bstate%5D=open&in%5B0%5D%5Bk%5D=v&in%5B1%5D=2"

    def test_a_query_of_the_same_objects_stays(self) -> None:
        request = sent(b"", url=f"{URL}?a=1&b=2", method="GET")
        assert request.edited(replace(request.document(), query={"a": 1, "b": "3"})).url == f"{URL}?a=1&b=3"

    def test_a_query_can_go(self) -> None:
        request = sent(b"", url=f"{URL}?tag=1", method="GET")
        assert request.edited(replace(request.document(), query={})).url == URL

    def test_a_path_is_escaped_and_stays_on_its_host(self) -> None:
        request = sent(b"", url=f"{URL}?a=1", method="GET")
        edited = request.edited(replace(request.document(), path="/v1/größe/a%2Fb c"))
        assert edited.url == "https://api.example.com/v1/gr%C3%B6%C3%9Fe/a%2Fb%20c?a=1"

    def test_headers_change_in_place_and_the_others_stay(self) -> None:
        request = sent(b"", ("X-A", "1"), ("If-Match", "v1"), ("Accept", "x"), ("Accept", "y"), ("X-B", "2"))
        headers = {"x-a": "1", "if-match": "v2", "accept": "x, y", "x-c": "3"}
        assert request.edited(replace(request.document(), headers=headers)).headers == (
            ("X-A", "1"),
            ("If-Match", "v2"),
            ("Accept", "x"),
            ("Accept", "y"),
            ("x-c", "3"),
        )

    @pytest.mark.parametrize(
        "header",
        [
            ("Authorization", "AWS4-HMAC-SHA256 Credential=x"),
            ("Authorization", 'OAuth oauth_signature="x"'),
            ("Signature-Input", "sig1=()"),
            ("Content-MD5", "x"),
        ],
    )
    def test_a_signed_request_is_changed_by_nobody_else(self, header: tuple[str, str]) -> None:
        request = sent('{"a": 1}', JSON, header)
        with pytest.raises(NotSendable, match="signed"):
            request.edited(replace(request.document(), body={"a": 2}))
        assert request.edited(request.document()) == request

    @pytest.mark.parametrize("name", ["x-api-key", "authorization", "host"])
    def test_credentials_and_framing_stay_the_caller_s(self, name: str) -> None:
        request = sent(b"", ("X-Api-Key", "mine"))
        with pytest.raises(NotSendable, match=f"sets the header {name}"):
            request.edited(replace(request.document(), headers={name: "other"}))
        with pytest.raises(NotSendable, match=f"sets the header {name}"):
            request.step(Request("GET", "/x", headers={name: "other"}))


class TestIdempotencyKey:
    def test_a_new_key_derives_from_the_old_one_and_the_content(self) -> None:
        before = sent('{"a": 1}', ("Idempotency-Key", "order-17"))
        one, other = (replace(before, body=body).with_new_key(before) for body in (b'{"a": 2}', b'{"a": 3}'))
        assert len({"order-17", one.header("idempotency-key"), other.header("idempotency-key")}) == 3
        assert replace(before, body=b'{"a": 2}').with_new_key(before) == one, "who starts again sends the same"

    def test_a_key_that_a_correction_set_stays(self) -> None:
        before = sent(b"", ("Idempotency-Key", "order-17"))
        after = replace(before, headers=(("Idempotency-Key", "order-18"),))
        assert after.with_new_key(before) == after

    def test_who_sent_no_key_gets_none(self) -> None:
        before = sent('{"a": 1}')
        assert before.with_new_key(before) == before


class TestStep:
    BEFORE = sent(
        '{"a": 1}',
        JSON,
        ("Authorization", "Bearer x"),
        ("Stripe-Account", "acct_1"),
        ("Idempotency-Key", "k"),
        ("If-Match", "v1"),
        ("Content-Length", "8"),
    )

    def test_a_step_goes_to_the_same_host_and_account_with_the_same_credentials(self) -> None:
        step = self.BEFORE.step(Request("POST", "/v1/refs", {"a": "b c"}, {"accept": "x"}, {"ref": "main"}))
        assert (step.method, step.url, step.body) == (
            "POST",
            "https://api.example.com/v1/refs?a=b+c",
            b'{"ref":"main"}',
        )
        assert step.headers == (
            ("Authorization", "Bearer x"),
            ("Stripe-Account", "acct_1"),
            ("accept", "x"),
            ("Content-Type", "application/json"),
        )

    def test_a_step_has_the_credentials_of_the_query(self) -> None:
        sent = SentRequest("GET", "https://a.test/x?api_key=k+1&page=2&Shop=s", credentials=frozenset({"shop"}))
        assert sent.step(Request("GET", "/y", {"b": "1"})).url == "https://a.test/y?b=1&api_key=k+1&Shop=s"
        with pytest.raises(NotSendable, match="sets a credential"):
            sent.step(Request("GET", "/y", {"api_key": "2"}))

    def test_a_step_without_a_body_has_no_media_type(self) -> None:
        step = self.BEFORE.step(Request("DELETE", "/v1/refs"))
        assert (step.body, [name for name, _ in step.headers]) == (b"", ["Authorization", "Stripe-Account"])

    def test_a_form_step_is_a_form(self) -> None:
        step = self.BEFORE.step(Request("POST", "/v1/refs", body={"a": {"b": 1}}, form=True))
        assert (step.body, step.headers[-1]) == (b"a%5Bb%5D=1", FORM)


@rows(
    ("target", "url"),
    [
        ("/.well-known/recovery-feedback/x#y", "https://api.example.com/.well-known/recovery-feedback/x"),
        ("https://api.example.com/x", None),
        ("/.well-known/recovery-feedback/x/../../../github/user", None),
        ("/.well-known/recovery-feedback/x%2f..%2f", None),
        ("/.well-known/recovery-feedback/x?b=1", None),
        ("https://evil.example.com/x", None),
        ("http://api.example.com/x", None),
        ("//evil.example.com/x", None),
        ("https://api.example.com:444/x", None),
    ],
)
def test_a_link_leads_to_a_document_at_the_same_origin_or_nowhere(target: str, url: str | None) -> None:
    request = sent(b"", ("Authorization", "Bearer x"), url="https://api.example.com/v1?api_key=x")
    document = request.document_of(target, "t-1")
    assert (document and document.url) == url
    assert document is None or document.headers == (("Accept", "application/json"), ("Recovery-Feedback-Token", "t-1"))
