"""One list says which names are those of credentials, for the client, the rules and the access log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from corrigible.proxy.access_log.entry import is_secret as is_left_out
from corrigible.rules.schema_repair.suggestion import is_secret as is_never_repeated
from corrigible.schema.credential_name import (
    alike,
    counts,
    is_given,
    is_of_parts,
    is_secret_header,
    is_secret_name,
    is_secret_parameter,
    is_signature,
    is_signature_header,
    names_method,
    names_method_in_form,
    overrides_header,
    plain,
    redirects_header,
)
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


@rows("name", ["ssn", "sender_iban", "encrypted_number", "page_token", "cvc2", "card_pin"])
def test_rules_repeat_no_personal_data_and_no_token_either(name: str) -> None:
    assert is_never_repeated(f"/body/{name}", "a text")


@rows("name", ["colour", "amount", "secret_scanning", "monkey_id", "author", "passenger"])
def test_other_names_are_those_of_no_secret(name: str) -> None:
    assert not is_secret_name(name)
    assert not is_never_repeated(f"/body/{name}", "a text")


def test_a_count_of_tokens_is_no_secret() -> None:
    assert is_never_repeated("/body/tokens", "a text")
    assert not is_never_repeated("/body/tokens", 500)
    assert not is_never_repeated("/body/required_signatures", True)


Judge = Callable[[str], bool]
JUDGED: Sequence[tuple[Judge, str, str]] = [
    (
        is_secret_name,
        "password passwords userPassword dbpassword smtppass pass psk psw cvc cvv pin pat otp totp hotp xsrf csrf"
        " jws jwts jwe apiKey apikeys accessToken accessSecret authKey clientSecret clientsecrets sessid"
        " sessionKeys backupPhrase mnemonic_words recoverySeed connStr connectionUrl connection_uri accessCode"
        " mfa_code verification_codes codeVerifier secretAnswer clientCerts userCert clientcertdata onetimepass"
        " bearertoken accesskeyid api_key_id keys_token app_key application_keys sshKey webhookkey"
        " subscription_key token tokens authToken bot_tokens password_2 token_value secret_hash key_secret_text"
        " password_new_again passwordB64 sid tls_private_key SID api_key_json_list",
        "sort_key key keys primary_key key_id public_key_id page_token next_tokens cursorToken idempotency_token"
        " pad_token maxtokens total_tokens prompttokens input_tokens oauth o_auth author passenger compass sidebar"
        " session string code reset answer phrase certificate connection apis new value id 7 tokenizer keyboard"
        " authority _ confirm",
    ),
    (counts, "tokens max_tokens maxTokens", "token tokens_used count tokens2"),
    (is_of_parts, "auth proxy.auth authentication userAuthentication", "oauths authority auth_token author password"),
    (
        is_secret_header,
        "Authorization Cookie X-Api-Key X-Key Key X-Keys My-Token Tokens X-Session SID X-Ticket X-Client-Cert"
        " X-Certificate X-Subscription-Key X-Password X-Session-2 X-Key-Hash Proxy-Authorization X-Cookies"
        " X-Passphrase X-Dsn Cache-Session Next-Session",
        "Idempotency-Key Cache-Key Surrogate-Keys X-Page-Token Next-Tokens Accept Host X-Monkey Session-Count Certain",
    ),
    (
        is_secret_parameter,
        "key KEY key[0] key[] code sid sas tok session ticket cookie basic appid devkey rapidapikey access_token"
        " user[token] token[user] x-amz-signature X-Goog-Expires X-Amz-Date key_2 code-value api_key a.password"
        " keypair keyid user[password][0]",
        "filter[code] error.code code.value key.2 code[name] key[a] page_token page x-ama-date sort_key a[key]"
        " keys_of name codes",
    ),
    (
        is_signature_header,
        "X-Hub-Signature-256 Signature sig X-Sign X-Mac HMAC DPoP X-Jws-1 XHubSignature Webhooksignature X-Sig-Header",
        "Accept-Signature Sign-Up X-Machine Mac-Address Accept Design X-Signer signatured",
    ),
    (
        lambda name: is_signature(name, "short"),
        "signature sig hmac X-Amz-Signature hubsignature sig_value jws",
        "sign sig_id design signed sigma mac",
    ),
    (lambda name: is_signature(name, "x" * 16), "sign SIGN", "sign_in design sign_value_of design_sign_up"),
    (lambda name: is_signature(name, "x" * 15), "signature", "sign"),
    (
        redirects_header,
        "X-HTTP-Method-Override X-Verb Destination X-Rewrite-Url X-Original-URL X-Forwarded-Host X-Path Host uri"
        " X-Accel-Redirect X-Sendfile Unencoded-Url x-override X-Sub-Request",
        "Accept User-Agent X-Pathology Curl Content-Type X-User X-Hostname If-Match",
    ),
    (
        overrides_header,
        "X-User X-Remote-User X-Forwarded-User Sudo Impersonate-User On-Behalf-Of X-Act-As Client-IP X-Real-Ip"
        " account X-User-Id X-Username-1 X-Path X-Principal X-Authenticated-Groups IP username",
        "User-Agent Accept X-Client X-Clip If-Match Content-Type X-Accounting Agent",
    ),
    (
        names_method,
        "_method X-HTTP-Method-Override HTTP_METHOD_OVERRIDE x-http-method X-Method-Override -verb $http_method"
        " a[_method] _METHOD %5Fmethod _method_override",
        "method verb httpMethod http_method a[method] methods _methods payment_method method_override",
    ),
    (
        names_method_in_form,
        "httpMethod method-override x_method http_verb _route _path _URL _action _controller _host _uri a[_path]",
        "method route a[path] http_version action url",
    ),
]


@rows(("judge", "ones", "others"), JUDGED)
def test_each_judge_of_names_knows_its_own(judge: Judge, ones: str, others: str) -> None:
    assert [name for name in ones.split() if not judge(name)] == []
    assert [name for name in others.split() if judge(name)] == []


@rows(
    ("written", "read"),
    [
        *(("a%41", "aA"), ("%2541", "A"), ("%252541", "A"), ("%25252541", "%41"), ("&#65;", "A"), ("&amp;#65;", "A")),
        *(("\\u0041", "A"), ("\\u{41}b", "\\u{41}b"), ("\\u{00041}", "A"), ("\\x41", "A"), ("\\u{110000}", "")),
        *(("\\u{1f600}", "\U0001f600"), ("\uff50\uff41ss", "pass"), ("p\xe0ss", "pass"), ("p\u200bass", "pass")),
        *(("plain", "plain"), ("a\\b%zz&c", "a\\b%zz&c"), ("\ufb01", "fi")),
    ],
)
def test_names_are_read_as_a_lenient_server_reads_them(written: str, read: str) -> None:
    assert plain(written) == read


def test_spellings_of_a_name_are_alike() -> None:
    assert len({alike(name) for name in ("Api-Key", "api_key", "API KEY", "apiKey", "api.key", "%41pi--key")}) == 1
    assert alike("STRASSE") == alike("straße") != alike("strase")


def test_a_name_that_the_caller_gave_is_found_in_any_spelling() -> None:
    names = frozenset({"Shop Pass"})
    assert is_given("shop_pass", names) and is_given("a[shop-pass]", names) and is_given("shopPass[0]", names)
    assert not is_given("shop", names) and not is_given("shop_pass", frozenset())
    assert is_secret_parameter("colour", frozenset({"Colour"})) and not is_secret_parameter("colour", frozenset({"x"}))


@given(st.text(max_size=30))
@example("\0")
def test_no_name_is_too_odd_to_be_judged(name: str) -> None:
    for judge, _, _ in JUDGED:
        assert judge(name) in (True, False)
    assert is_secret_name(f"{name}_password")
