"""Bodies of errors that are no JSON objects, as frameworks and gateways write them, read into plain data."""

from __future__ import annotations

from typing import Any

import pytest

from corrigible.adapters.bodies.answer import Answer, read_answer
from tests._support.rows import rows

FLASK = """<!doctype html>
<html lang=en>
<title>400 Bad Request</title>
<h1>Bad Request</h1>
<p>Failed to decode JSON object: Expecting property name enclosed in double quotes: line 1 column 15 (char 14)</p>
"""
EXPRESS = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Error</title></head>
<body><pre>SyntaxError: Unexpected token } in JSON at position 14<br> &nbsp; &nbsp;at JSON.parse (&lt;anonymous&gt;)<br>
 &nbsp; &nbsp;at parse (/app/node_modules/body-parser/lib/types/json.js:92:19)</pre></body></html>"""
TOMCAT = """<!doctype html><html lang="en"><head><title>HTTP Status 400 \u2013 Bad Request</title>
<style type="text/css">p {color: red}</style></head><body><h1>HTTP Status 400 \u2013 Bad Request</h1><hr class="line" />
<p><b>Type</b> Status Report</p><p><b>Message</b> Required parameter &#39;owner&#39; is not present.</p>
<h3>Apache Tomcat/9.0.83</h3></body></html>"""
NGINX = """<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n
<center><h1>413 Request Entity Too Large</h1></center>\r\n
<hr><center>nginx/1.18.0 (Ubuntu)</center>\r\n</body></html>"""
SOAP = """<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body><soap:Fault>
<faultcode>soap:Client</faultcode><faultstring>The quantity is no number.</faultstring>
<detail><field>quantity</field></detail></soap:Fault></soap:Body></soap:Envelope>"""
SOAP_12 = """<env:Envelope xmlns:env="http://www.w3.org/2003/05/soap-envelope"><env:Body><env:Fault>
<env:Code><env:Value>env:Sender</env:Value></env:Code><env:Reason><env:Text xml:lang="en">No such order.</env:Text>
</env:Reason></env:Fault></env:Body></env:Envelope>"""
S3 = """<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>NoSuchBucket</Code>
<Message>The specified bucket does not exist</Message><BucketName>x</BucketName></Error>"""
IAM = """<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><Error><Type>Sender</Type>
<Code>ValidationError</Code><Message>1 validation error</Message></Error><RequestId>r</RequestId></ErrorResponse>"""
EC2 = """<Response><Errors>
<Error><Code>InvalidInstanceID.Malformed</Code><Message>Invalid id: "x"</Message></Error></Errors>
<RequestID>r</RequestID></Response>"""
PROBLEM = """<problem xmlns="urn:ietf:rfc:7807"><title>Not valid</title><invalid-params><i><name>age</name>
<reason>is negative</reason></i></invalid-params></problem>"""


@rows(
    ("media", "body", "content"),
    [
        ("text/html", FLASK, "Failed to decode JSON object: Expecting property name enclosed in double quotes: "
         "line 1 column 15 (char 14)"),
        ("text/html; charset=utf-8", EXPRESS, "SyntaxError: Unexpected token } in JSON at position 14"),
        ("text/html", TOMCAT, "Required parameter 'owner' is not present."),
        ("text/html", NGINX, "413 Request Entity Too Large\nnginx/1.18.0 (Ubuntu)"),
        ("", "<!-- a --><html><p>No <b>label</b> &amp; no type</p></html>", "No label & no type"),
        ("text/plain; charset=utf-8", " 404 page not found\n", "404 page not found"),
        ("application/json", "upstream request timeout", "upstream request timeout"),
        ("text/plain; charset=latin-1", b"zu gro\xdf", "zu gro\u00df"),
        ("text/plain; charset=zlib", "plain", "plain"),
        ("application/xml", S3, {"code": "NoSuchBucket", "message": "The specified bucket does not exist",
                                 "bucketName": "x"}),
        ("text/xml", IAM, {"error": {"type": "Sender", "code": "ValidationError", "message": "1 validation error"},
                           "requestId": "r"}),
        ("text/xml", EC2, {"errors": [{"code": "InvalidInstanceID.Malformed", "message": 'Invalid id: "x"'}],
                           "requestID": "r"}),
        ("text/xml", SOAP, {"code": "soap:Client", "message": "The quantity is no number.",
                            "detail": {"field": "quantity"}}),
        ("application/soap+xml", SOAP_12, {"code": "env:Sender", "message": "No such order."}),
        ("application/xml", "<errors><error>Name can't be blank</error></errors>", {"errors": ["Name can't be blank"]}),
        ("application/xml", "<root><name><list-item>This field is required.</list-item></name></root>",
         {"name": ["This field is required."]}),
        ("application/problem+xml", PROBLEM, {"title": "Not valid",
                                              "invalid-params": [{"name": "age", "reason": "is negative"}]}),
        ("application/json", b'\xef\xbb\xbf{"message": "m"}', {"message": "m"}),
        ("application/json", "", None),
        ("text/plain", " \n", None),
        ("application/vnd.acme", b"\x89PNG\x00", None),
    ],
)  # fmt: skip
def test_what_is_no_json_is_read(media: str, body: str | bytes, content: Any) -> None:
    raw = body if isinstance(body, bytes) else body.encode()
    assert read_answer({"content-type": media}, raw) == Answer(content, is_json=False)


@rows("media", ["application/json", "text/html", "application/x-amz-json-1.1", ""])
@rows(("body", "content"), [(b'{"a": 1}', {"a": 1}), (b'"text"', "text"), (b"[1]", [1])])
def test_json_is_json_whatever_it_is_called(media: str, body: bytes, content: Any) -> None:
    assert read_answer({"content-type": media}, body) == Answer(content, is_json=True)


@rows(
    "document",
    [
        '<!DOCTYPE a [<!ENTITY x "boom">]><a>&x;</a>',
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a>m</a>',
        "<a>&undefined;</a>",
        "<a><b></a>",
        "<a>" * 33 + "</a>" * 33,
        f"<a>{'<b/>' * 2001}</a>",
        f"<a>{'m' * (1 << 16)}</a>",
        '<?xml version="1.0" encoding="nobody-knows"?><a>m</a>',
        '<?xml version="1.0" encoding="zlib"?><a>m</a>',
    ],
)
def test_xml_that_is_not_safe_or_not_small_is_not_read(document: str) -> None:
    assert read_answer({"content-type": "text/xml"}, document.encode()) == Answer(None, is_json=False)


@pytest.mark.parametrize("page", ["<" * 99_999, "<p>" * 33_333, "<!--" * 25_000, "<script>" * 12_500, "&amp" * 25_000])
def test_of_a_page_only_the_beginning_is_read(page: str) -> None:
    content = read_answer({"content-type": "text/html"}, page.encode()).content
    assert content is None or len(content) <= 2000


@pytest.mark.parametrize("reference", ["&#" + "1" * 5000, "&#x" + "f" * 5000])
def test_a_reference_to_no_character_is_a_mark(reference: str) -> None:
    page = f"<html><p>Order {reference}; is &#39;lost&#39;".encode()
    assert read_answer({"content-type": "text/html"}, page).content == "Order \ufffd is 'lost'"


def test_a_page_without_markup_is_its_text() -> None:
    assert read_answer({"content-type": "text/html"}, b"a < b, and c > d").content == "a < b, and c > d"
