"""One list says which names are those of credentials, for the client, the rules and the access log."""

from __future__ import annotations

import pytest

from corrigible.proxy.access_log.entry import is_secret as is_left_out
from corrigible.rules.schema_repair.suggestion import is_secret as is_never_repeated
from corrigible.schema.credential_name import is_secret_name, names_method_in_form
from tests._support.rows import rows

CREDENTIALS = [
    *("password", "Passwort", "db_password", "passwordHash", "password_confirmation", "passphrase", "pwd", "pass"),
    *("jwt", "api_key", "x-api-key", "apiTokens", "access_token", "client_secret", "session_id", "sessionKey", "pat"),
    *("account_key", "shared_key", "master_key", "encryption_key", "ssh_key", "license_key", "storage_key", "app_key"),
    *("otp", "recovery_code", "mnemonic", "seed_phrase", "dsn", "kubeconfig", "dpop", "connectionString", "hmac"),
]


@rows("name", CREDENTIALS)
def test_a_name_of_a_credential_is_one_for_all(name: str) -> None:
    assert is_secret_name(name)
    assert is_never_repeated(f"/body/{name}", "a text")
    assert is_never_repeated(f"/body/{name}_value", "a text")
    assert is_left_out(name)
    assert is_left_out("".join(f"%25{ord(letter):02x}" for letter in name)), "escaped twice"


@pytest.mark.parametrize("name", ["ssn", "sender_iban", "encrypted_number", "page_token", "cvc2", "card_pin"])
def test_rules_repeat_no_personal_data_and_no_token_either(name: str) -> None:
    assert is_never_repeated(f"/body/{name}", "a text")


@pytest.mark.parametrize("name", ["colour", "amount", "secret_scanning", "monkey_id", "author", "passenger"])
def test_other_names_are_those_of_no_secret(name: str) -> None:
    assert not is_secret_name(name)
    assert not is_never_repeated(f"/body/{name}", "a text")


def test_a_count_of_tokens_is_no_secret() -> None:
    assert is_never_repeated("/body/tokens", "a text")
    assert not is_never_repeated("/body/tokens", 500)
    assert not is_never_repeated("/body/required_signatures", True)


@rows("name", ["httpMethod", "method-override", "x_method", "http_verb", "_route", "a[_path]"])
def test_in_a_form_these_names_are_of_the_method_or_the_place(name: str) -> None:
    assert names_method_in_form(name)


@rows("name", ["methods", "verb", "route", "a[path]", "http_version"])
def test_other_names_are_plain_members_of_a_form(name: str) -> None:
    assert not names_method_in_form(name)
