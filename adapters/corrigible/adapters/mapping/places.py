"""Which places of a request a map may write, and which headers are never read: names alone decide.

Knows: names. Does not know: values, files, what is suggested.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from corrigible.rules.lookup_headers import makes_another_request
from corrigible.rules.pointer import segments
from corrigible.schema.cache import cached
from corrigible.schema.document import CREDENTIALS, UNDOCUMENTED, header_problem, is_credential_name

_WORDS: Final = re.compile(r"[_.-]+")
_CREDENTIAL_WORDS: Final = frozenset(
    {
        *("auth", "authentication", "authorization", "cookie", "token", "secret", "pass", "passwd", "password", "pwd"),
        *("passphrase", "passcode", "pin", "otp", "totp", "signature", "sig", "hmac", "key", "apikey", "credential"),
        *("credentials", "session", "sid", "jwt", "jws", "assertion", "dpop", "csrf", "xsrf", "bearer", "ticket"),
        *("nonce", "cert", "certificate", "saml", "oauth", "login"),
    }
)
_CREDENTIAL_PART: Final = re.compile(r"token|secret|passw|apikey|session|credential|signature|cookie|jwt|csrf|xsrf")
"""Of names that are written in one word: `authtoken`."""
_FRAMING: Final = frozenset({"keep-alive", "proxy-connection", "te", "trailer", "accept-encoding"})
_METHOD_NAME: Final = re.compile(
    r"(?i)[_$!@.]+(?:http[_-]?)?(?:method|verb)|(?:x[_-]?)?_*http[_-]?(?:method|verb)(?:[_-]?override)?"
    r"|(?:x[_-]?)?(?:http[_-]?)?(?:method|verb)[_-]?override"
)
"""Names in a query or a form by which servers take another method: `_method` (Rails, Laravel), `_HttpMethod`."""
_TOP: Final = frozenset({"path", "query", "header", "body"})


@cached(1024)
def is_credential_header(name: str) -> bool:
    """Whether a header is a credential, or is called like one: `DPoP`, `X-Shop-Pass`. An idempotency key is none."""
    low = name.lower()
    words = set(_WORDS.split(low))
    if "idempotency" in words:
        return False
    is_known = low in CREDENTIALS or (low in UNDOCUMENTED and low not in _FRAMING) or is_credential_name(low)
    return is_known or not _CREDENTIAL_WORDS.isdisjoint(words) or _CREDENTIAL_PART.search(low) is not None


def target_problem(target: str) -> str:
    """Return why a map may not write a place of a request, empty where it may."""
    place, *names = segments(target) or [""]
    if place not in _TOP:
        return "begins with none of /path, /query, /header and /body"
    if place == "header":
        return _header_problem(names)
    if any(is_method_name(name) for name in names[:1]):
        return "makes the call another one by its method: write the method of the target"
    if place == "query" and names and is_credential_name(names[0]):
        return "says who calls: credentials are the caller's own"
    return ""


def may_carry(source: str, target: str) -> bool:
    """Whether a map may take an argument of one place to the other: a header's value goes to headers alone."""
    if source == target:
        return True
    return (not source.startswith("/header/") or target.startswith("/header/")) and not target_problem(target)


def _header_problem(names: list[str]) -> str:
    if len(names) != 1 or names[0] == "*":
        return "names no header: write /header/NAME"
    if makes_another_request(names[0]) or is_credential_header(names[0]) or is_method_name(names[0]):
        return "makes the call another one, or says who calls: a map sets no such header"
    if header_problem({names[0]: ""}):
        return "has no valid name of a header"
    return ""


def is_method_name(name: str) -> bool:
    """Whether servers take the value of a member of this name as the method of a call."""
    return _METHOD_NAME.fullmatch(name) is not None


VARIABLE: Final = re.compile(r"\{\+?([^{}]+)\}")
_UNQUOTED: Final = "!$&'()*+,;=:@~"


def filled(template: str, values: Mapping[str, str]) -> tuple[str, bool]:
    """Return a path with the values of its variables, and whether some are lacking."""
    lacking = [name for name in VARIABLE.findall(template) if not values.get(name)]

    def written(match: re.Match[str]) -> str:
        value = values.get(match[1], "")
        safe = f"{_UNQUOTED}/" if match[0].startswith("{+") else _UNQUOTED
        return quote(value, safe=safe) if value else match[0]

    return VARIABLE.sub(written, template), bool(lacking)


def pattern_of(path: str) -> str:
    """Return a regular expression of the paths that a template with some variables left stands for."""
    literal = (re.sub(r"[.*+?^${}()|\[\]\\]", r"\\\g<0>", part) for part in VARIABLE.split(path)[::2])
    return f"^{'[^/]+'.join(literal)}$"
