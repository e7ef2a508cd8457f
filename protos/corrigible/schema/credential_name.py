"""Which names are names of credentials, and which have a request handled as another one.

Knows: words of names. Does not know: requests, values. Names are compared by their words, as lenient servers read
them: in any case, with `-`, `_` and `.` alike, in brackets, with escapes, look-alikes and invisible letters undone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from corrigible.schema.cache import cached
from corrigible.schema.document import CREDENTIALS, is_credential_name, parameter_segments
from corrigible.schema.printable import without_unseen

_DECODINGS: Final = 3
_ESCAPE: Final = re.compile(r"\\(?:u\{?([0-9A-Fa-f]{4,6})\}?|x([0-9A-Fa-f]{2}))")
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET: Final = re.compile(
    r"passw(or)?ds?|pwds?|pass|pws?|psw|pswd|passw|psk|passphrases?|passcodes?|passkeys?|htpasswd|secrets?|credentials?|creds?"
    r"|authorization|authentication|auth|jw[st]s?|jwe|bearer|assertion|signatures?|sig|hmac|[ht]?otp|pin|pat|cv[cvn]"
    r"|[cx]srf|cookies?|dpop|mnemonic|pem|pfx|keytab|kubeconfig|dsn"
    r"|contrasena|haslo|kennwort|motdepasse|parola|passwort|senha|wachtwoord"
)
"""Last word of the name of a credential, in any part of a request."""
_TWO: Final = re.compile(
    r"(api|access)(key|token|secret)s?|(auth|private|secret|signing)keys?|clientsecrets?|sess(ion)?(id|key)s?"
    r"|(backup|mnemonic|recovery|secret|seed)(phrase|seed|words?)s?|conn(ection)?str(ing)?s?|connectionur[il]s?"
    r"|(access|activation|auth|authorization|backup|device|fa|login|mfa|otp|recovery|reset|security|sms|totp|unlock"
    r"|verification)codes?|codeverifier"
    r"|(secret|security)answers?|(client|user)cert(ificate)?(data|s)?"
)
"""Last two words of the name of a credential."""
_JOINED: Final = re.compile(
    r"(passwords?|passwds?|passphrases?|passcodes?|passkeys?|pwds?|(admin|db|login|proxy|root|smtp|user)pass|secrets?"
    r"|credentials?|authorization|signatures?|onetime(code|pass(word)?)s?|sess(ion)?id|connectionstrings?|api(key|token)s?|access(key|token)s?"
    r"|accesskeyid|(auth|bearer|csrf|refresh|session)tokens?|(auth|private|secret|signing)keys?)$"
)
"""How a name ends that is written as one word: `dbpassword`."""
_OF_KEYS: Final = (
    r"api|app|application|access|account|admin|auth|client|consumer|encryption|functions|gpg|hmac|license|master|pgp"
    r"|private|root|rsa|secret|security|server|service|session|shared|signing|ssh|ssl|storage|subscription|tls|vault|webhook"
)
"""What stands before `key` in the name of a credential. A `key` alone is one in a query and a header: in a body it is
the common name of an entry (`{"key": ..., "value": ...}`), and `sort_key`, `primary_key` are none anywhere."""
_KEY: Final = re.compile(f"({_OF_KEYS})keys?")
_OF_PAGES: Final = re.compile(
    r"(page|paging|pagination|next|prev|previous|cursor|continuation|continue|sync|start|starting|end|resume|scroll|max"
    r"|min|eos|bos|pad|stop|idempotency)$"
)
"""What stands before `token` in the name of no credential."""
_OF_COUNTS: Final = re.compile(
    r"bad|budget|cached|completion|generated|input|limit|new|num|output|prompt|reasoning|remaining|special|suppress"
    r"|text|thinking|total|used"
)
"""What stands before `tokens` where they are parts of texts."""
_QUALIFIER: Final = re.compile(
    r"\d+|confirm|confirmation|confirmed|again|repeat|repeated|new|old|current|value|hash|hashed|digest|plain|plaintext"
    r"|text|string|b|base|encoded|encrypted|verify|header|v|raw|binary|bytes|hex|json|list"
)
"""What may follow in the name of a credential: `password_confirmation`, `passwordB64`, of which `b` is a word."""
_OF_QUERIES: Final = re.compile(
    r"key|keyid|keypair|code|sid|sas|tok|tokens|session|ticket|cookies?|basic|appid"
    r"|(dev|developer|h|hapi|partner|rapid|rapidapi|read|user|write|ws)key"
)
"""Names of credentials in a query, as a whole: in a body they have another meaning as a rule."""
_OF_HEADERS: Final = re.compile(r"session|sid|tickets?|cookies?|tokens?|\w*cert(ificate)?")
"""Last word of the name of a header that is a credential."""
_NO_KEYS: Final = frozenset({"idempotency", "cache", "surrogate"})
"""What stands before `key` in a header that is no credential."""
_SIGNATURE: Final = re.compile(r"signatures?|sig|hmac|jws|dpop")
_LEAST_SIGNATURE: Final = 16
"""Characters of a parameter `sign`: a shorter one is a sign."""
_SEPARATORS: Final = re.compile(r"[-_.\s]+")

_REDIRECTING: Final = re.compile(
    r"method|verb|overrid|rewrite|forwarded|destination|unencoded|subrequest|accel|sendfile"
)
"""In the name of a header, without separators: it has the request handled by another method or elsewhere."""
_ELSEWHERE: Final = frozenset({"url", "uri", "path", "host"})
_ACTING: Final = re.compile(
    r"impersonat|sudo|behalf|principal|identity|authenticated|webauth|actas|runas|remoteuser|realip|clientip"
)
"""In such a name: the request is somebody else's."""
_SOMEBODY: Final = frozenset({"ip", "user", "userid", "username", "account"})
_AGENT: Final = frozenset({"agent"})
_MARKED_METHODS: Final = frozenset({"method", "methodoverride", "httpmethod", "verb"})
_METHODS: Final = frozenset({"xhttpmethodoverride", "xhttpmethod", "xmethodoverride", "httpmethodoverride"})
_PLACES_OF_FORMS: Final = frozenset({"action", "controller", "host", "path", "route", "uri", "url"})
_METHODS_OF_FORMS: Final = frozenset({"httpmethod", "methodoverride", "xmethod", "httpverb"})


@cached(4096)
def plain(text: str) -> str:
    """Return a text as a lenient reader has it: escapes, forms of width, accents and invisible letters are undone."""
    for _ in range(_DECODINGS):
        before = text
        text = unicodedata.normalize("NFKC", text) if not text.isascii() else text
        text = unquote(text) if "%" in text else text
        if "&" in text:
            from html import unescape  # 1 MB, which few names need

            text = unescape(text)
        text = _ESCAPE.sub(_unescaped, text) if "\\" in text else text
        if text == before:
            break
    if text.isascii():
        return text
    letters = unicodedata.normalize("NFKD", without_unseen(text))
    return "".join(one for one in letters if unicodedata.category(one) != "Mn")


def _unescaped(match: re.Match[str]) -> str:
    code = int(match[1] or match[2], 16)
    return chr(code) if code < 0x110000 else ""


@cached(4096)
def alike(name: str) -> str:
    """Return what spellings of one name have in common."""
    return _SEPARATORS.sub("", plain(name)).casefold()


@cached(4096)
def is_given(name: str, names: frozenset[str]) -> bool:
    """Whether a name, or a part of it in brackets, is one of names that the caller gave, in whatever spelling."""
    if not names:
        return False
    given = {alike(one) for one in names}
    return any(alike(part) in given for part in (name, *parameter_segments(plain(name))))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(plain(name).partition("\0")[0])]


def _stems(name: str) -> Iterator[list[str]]:
    """Yield the words of a name, up to a NUL and whole, and those without a qualifier: `password_confirmation`."""
    for words in map(_words, {name, plain(name).replace("\0", " ")}):
        if words:
            yield words
        while len(words) > 1 and _QUALIFIER.fullmatch(words[-1]):
            words = words[:-1]
            yield words


@cached(4096)
def is_secret_name(name: str) -> bool:
    """Whether a member of a body has the name of a credential."""
    return any(map(_is_secret, _stems(name)))


def _is_secret(words: list[str]) -> bool:
    further, before, last = ["", "", *words][-3:]
    joined = "".join(words)
    if (before, last) == ("o", "auth"):
        return False
    if joined == "sid" or any(map(_SECRET.fullmatch, (last, joined))):
        return True
    if _TWO.fullmatch(before + last) or _JOINED.search(joined):
        return True
    if last.endswith(("token", "tokens")):
        holder = last.removesuffix("s").removesuffix("token") or before
        is_count = last.endswith("s") and _OF_COUNTS.fullmatch(holder) is not None
        return not is_count and _OF_PAGES.search(holder) is None
    if (before, last) == ("key", "id"):
        return _KEY.fullmatch(f"{further}key") is not None
    return _KEY.fullmatch(last) is not None or _KEY.fullmatch(before + last) is not None


@cached(4096)
def counts(name: str) -> bool:
    """Whether a number of this name says how many there are: `tokens: 500`."""
    return _words(name)[-1:] == ["tokens"]


@cached(4096)
def is_of_parts(name: str) -> bool:
    """Whether an object of this name is none as a whole: `auth` has methods, users and passwords."""
    return _words(name)[-1:] in (["auth"], ["authentication"])


@cached(4096)
def is_secret_header(name: str) -> bool:
    """Whether a header is a credential. A `Key` or `Token` of any kind is one here, but for those of pages."""
    if name.lower() in CREDENTIALS or is_credential_name(name) or is_secret_name(name):
        return True
    for words in _stems(name):
        if words[-1] in ("key", "keys") and words[-2:-1] and words[-2] in _NO_KEYS:
            continue
        is_of_page = words[-1] in ("token", "tokens") and _OF_PAGES.search("".join(words[-2:-1])) is not None
        if words[-1] in ("key", "keys") or (_OF_HEADERS.fullmatch(words[-1]) and not is_of_page):
            return True
    return False


@cached(4096)
def is_secret_parameter(name: str, names: frozenset[str] = frozenset()) -> bool:
    """Whether a parameter of the query is a credential, or a part of its name in brackets is one's: `a[token]`.

    `key` and `code` are, as whole names alone: `filter[code]` and `error.code` are none.
    """
    if is_given(name, names) or plain(name).lower().startswith(("x-amz-", "x-goog-")):
        return True
    head, *inner = parameter_segments(plain(name))
    is_whole = "." not in head and not any(one and not one.isdecimal() for one in inner)
    if is_whole and any(_OF_QUERIES.fullmatch("".join(words)) for words in _stems(head)):
        return True
    return is_credential_name(name) or any(is_secret_name(one) for one in (name, head, *inner))


@cached(4096)
def is_signature_header(name: str) -> bool:
    """Whether a header has the name of a signature, which covers the request: `X-Hub-Signature-256`."""
    words = _words(name)
    whole = alike(name)  # `DPoP` is three words
    is_one = any(map(_SIGNATURE.fullmatch, (*words, whole))) or words[-1:] in (["sign"], ["mac"])
    return (is_one or whole.endswith("signature")) and words[0] != "accept"


@cached(4096)
def is_signature(name: str, value: str) -> bool:
    """Whether a parameter of the query is a signature of the address."""
    lasts = [words[-1] for words in _stems(name)]
    if any(map(_SIGNATURE.fullmatch, lasts)) or alike(name).endswith("signature"):
        return True
    return lasts[:1] == ["sign"] and len(value) >= _LEAST_SIGNATURE


@cached(4096)
def redirects_header(name: str) -> bool:
    """Whether a header has the request handled by another method, or at another place."""
    words = _words(name)
    return _REDIRECTING.search("".join(words)) is not None or not _ELSEWHERE.isdisjoint(words)


@cached(4096)
def overrides_header(name: str) -> bool:
    """Whether a header has the request handled as another one, or as somebody else's."""
    words = _words(name)
    if redirects_header(name) or _ACTING.search("".join(words)):
        return True
    return not _SOMEBODY.isdisjoint(words) and _AGENT.isdisjoint(words)


@cached(4096)
def names_method(name: str) -> bool:
    """Whether a parameter or a member names the method of the request, whatever the body is: `_method`."""
    return any(
        letters in _METHODS or (letters in _MARKED_METHODS and not part[:1].isalpha()) for part, letters in _parts(name)
    )


@cached(4096)
def names_method_in_form(name: str) -> bool:
    """Whether it names the method or the place in a query or a form: `httpMethod`, `_route`. In JSON it does not."""
    return any(
        letters in _METHODS_OF_FORMS or (letters in _PLACES_OF_FORMS and not part[:1].isalpha())
        for part, letters in _parts(name)
    )


def _parts(name: str) -> Iterator[tuple[str, str]]:
    for part in parameter_segments(plain(name).lower()):
        yield part.strip(), re.sub(r"[^a-z]", "", part)
