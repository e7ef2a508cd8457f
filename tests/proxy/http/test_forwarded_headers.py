"""Which headers go with look-ups: who asks and for whom, and nothing that makes a look-up another one."""

from __future__ import annotations

from corrigible.proxy.http.lookup_client import credentials
from corrigible.proxy.http.message_head import is_forwarded
from tests._support.rows import rows

WHO = """
authorization cookie api-key apikey x-api-key x-goog-api-key private-token job-token x-vault-token
x-vault-namespace dd-api-key dd-application-key circle-token x-figma-token x-shopify-access-token x-auth-email
x-auth-key x-auth-token x-amz-security-token ocp-apim-subscription-key stripe-account stripe-context
stripe-version x-github-api-version anthropic-version openai-organization openai-project notion-version
x-goog-user-project x-tenant-id x-org-id x-scope-orgid x-appwrite-project x-parse-application-id
x-parse-rest-api-key impersonate-user impersonate-group impersonate-extra-scopes impersonate-uid x-csrf-token
x-forwarded-user x-forwarded-email x-auth-request-user remote-user token x-account x-session-id accept-language
x-api_key x-secret
"""
ASTRAY = """
x-original-url x-rewrite-url x-original-uri x-original-path x-original-method x-http-method-override
x-http-method x-method-override x-forwarded-prefix x-forwarded-path x-forwarded-uri x-forwarded-url
x-forwarded-host x-forwarded-proto x-forwarded-for x-forwarded-method x-forwarded-port forwarded x-host
x-envoy-original-path x-script-name range if-match if-none-match if-range if-modified-since connection
keep-alive te trailer transfer-encoding upgrade proxy-authorization proxy-connection expect prefer
content-length content-type content-encoding content-digest idempotency-key x-idempotency-key signature
signature-input digest origin referer sec-fetch-mode sec-websocket-key http2-settings accept accept-encoding
host x-middleware-subrequest x-request-id traceparent want-digest cache-control recovery-feedback
recovery-feedback-caller x-client-ip x-user-agent x-foo
"""


@rows("name", WHO.split())
def test_who_asks_travels(name: str) -> None:
    assert is_forwarded(name)


@rows("name", ASTRAY.split())
def test_what_would_lead_astray_stays(name: str) -> None:
    assert not is_forwarded(name)


def test_what_connection_names_stays() -> None:
    sent = [(b"Connection", b"close, X-Api-Key"), (b"X-Api-Key", b"k"), (b"X-Token", b"t"), (b"Host", b"h")]
    assert dict(credentials(sent)) == {
        b"X-Token": b"t",
        b"Host": b"h",
        b"user-agent": b"corrigible",
        b"accept": b"application/json",
        b"accept-encoding": b"gzip",
    }
