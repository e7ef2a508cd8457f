"""Which values of a request are credentials, by the names under which they were sent."""

from __future__ import annotations

import pytest

from corrigible.client.credentials import credential_values, without
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
