"""Cases of a rule from recorded exchanges: what was sent and answered, without secrets, and what the rule makes of it.

Knows: recordings, rules, the form of cases. Does not know: files, the command line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http import HTTPStatus
from textwrap import shorten
from typing import Any, Final, NamedTuple

import orjson

from corrigible.proxy.access_log.entry import REDACTED, redact
from corrigible.proxy.access_log.entry import is_secret as is_secret_name
from corrigible.proxy.core.api_profile import ApiProfile, match_operation, parse_errors
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.http.request_reader import read_request
from corrigible.proxy.recording.exchange import Recorded
from corrigible.proxy.recording.reader import Recording, decoded
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.engine.index import RuleIndex
from corrigible.rules.language.rule import Rule
from corrigible.rules.language.rule_model import CaseText
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.pack.cases import exchange_of
from corrigible.rules.pointer import escape, is_among
from corrigible.rules.schema_repair.suggestion import is_secret
from corrigible.schema.exchange import Exchange, Json
from corrigible.schema.reader import Next, apply

_NOISE: Final = re.compile(
    r"(?:sec|x-forwarded|x-b3|cf|x-datadog|access-control)-.*|accept-(?:language|charset)|cache-control|pragma|origin"
    r"|referer|dnt|via|user-agent|accept-encoding|forwarded|traceparent|tracestate|date|priority|upgrade-insecure-requests|x-request(?:ed)?-.*"
    r"|x-amz-(?:date|content-sha256|user-agent)|amz-sdk-.*|x-stripe-client-.*"
)
"""Headers of requests that say nothing of what is asked for."""
_OF_ERRORS: Final = re.compile(
    r"content-type|retry-after|allow|location|etag|date|accept-post|accept-patch|.*ratelimit.*|.*rate-limit.*|.*error.*"
)
"""Headers of answers that may say something of an error."""
_PLAIN: Final = ("application/json", "application/x-www-form-urlencoded")


_LONGEST_PIECE: Final = 60
"""Characters of a message in the name of a case."""


class MadeCase(NamedTuple):
    case: dict[str, Json]
    """As the file has it."""
    body: bytes | None
    """The answer, where it is no JSON: it belongs in a file, `response.body_file`."""
    rules: tuple[str, ...]
    """The rules that match."""
    missing: tuple[str, ...]
    """Look-ups of theirs that the recording does not have."""


def refusals(profile: ApiProfile, recording: Recording) -> Iterator[Recorded]:
    """Yield the exchanges of a recording that are refusals."""
    for recorded in recording.exchanges:
        if recorded.response.status >= 400 or _refuses_with_success(profile, recorded):
            yield recorded


def _refuses_with_success(profile: ApiProfile, recorded: Recorded) -> bool:
    if not profile.refuses_with_success:
        return False
    exchange = _exchange(recorded)
    match = match_operation([profile], exchange.request)
    is_candidate = match is not None and match.operation in profile.refuses_with_success
    return is_candidate and match is not None and bool(parse_errors(match, exchange, _json(exchange.body)))


def make_case(
    profile: ApiProfile, recorded: Recorded, recording: Recording, source: str, rule: Rule | None = None
) -> MadeCase:
    """Return the case of a refusal: with a rule, what that rule makes of it; without one, what the pack does."""
    exchange = _exchange(recorded)
    secrets = _Secrets(profile.pack.settings.secrets)
    secrets.learn(exchange.request.body, "/body")
    secrets.learn(exchange.request.query, "/query")
    request, response = _request(exchange, profile, secrets), _response(exchange, secrets)
    body = None
    if "body" not in response and exchange.body.strip():
        body = secrets.text(exchange.body.decode("utf-8", "replace")).encode()
    case: dict[str, Json] = {
        "name": _name(profile, exchange, secrets),
        "origin": "recorded",
        "source": source,
        "request": request,
        "response": response,
    }
    tried = exchange_of(CaseText.model_validate({**case, "no_match": True}), body, exchange.id)
    lookups: dict[str, Json] = {}
    missing: list[str] = []

    def fetch(lookup: Lookup) -> LookupAnswer:
        key = f"{lookup.method} {lookup.path}"
        answer = recording.fetch(lookup)
        if answer.status == 0:
            missing.append(key)
            lookups[key] = None
            return answer
        lookups[key] = secrets.value(_json(answer.body), "/body")
        return LookupAnswer(answer.status, orjson.dumps(lookups[key]))

    index = profile.index if rule is None else RuleIndex([rule])
    engine = Engine([replace(profile, index=index)])
    decision = run_with_lookups_sync(engine.decide(tried), fetch)
    own = {one.id for one in index.rules}
    rules = tuple(one for one in decision.rules if one in own) if isinstance(decision, Annotate) else ()
    if lookups:
        case["lookups"] = lookups
    if isinstance(decision, Annotate) and rules:
        case |= _claims(decision.feedback, tried, profile.pack.settings.idempotency_header)
    elif missing:
        case["expect"] = {}
    else:
        case["no_match"] = True
    return MadeCase(case, body, rules, tuple(dict.fromkeys(missing)))


def _exchange(recorded: Recorded) -> Exchange:
    head = recorded.request
    request = read_request(head.method, head.target, head.headers, recorded.request_body)
    headers = {name.lower(): value for name, value in recorded.response.headers}
    body = decoded(recorded.response.headers, recorded.response_body)
    return Exchange(request, recorded.response.status, headers, body, recorded.name, recorded.started)


def _json(body: bytes) -> Json:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _name(profile: ApiProfile, exchange: Exchange, secrets: _Secrets) -> str:
    request = exchange.request
    match = match_operation([profile], request)
    where = match.operation if match is not None and match.operation else f"{request.method} {request.path}"
    errors = parse_errors(match, exchange, _json(exchange.body)) if match is not None else ()
    code = next((error.code or error.type for error in errors if error.code or error.type), "")
    kind = secrets.text(f"{where}: {exchange.status} {code or HTTPStatus(exchange.status).phrase}".strip())
    message = " ".join(next((error.message for error in errors if error.message), "").split())
    # Half a secret is no longer found: the text is cut last.
    piece = shorten(secrets.text(message), _LONGEST_PIECE, placeholder=" ...") if message else ""
    return f"{kind}: {piece}" if piece and piece != code else kind


def _request(exchange: Exchange, profile: ApiProfile, secrets: _Secrets) -> dict[str, Json]:
    request = exchange.request
    out: dict[str, Json] = {"method": request.method, "path": secrets.text(request.path)}
    if request.query:
        out["query"] = secrets.value(dict(request.query), "/query")
    key = profile.pack.settings.idempotency_header
    headers = {
        name: secrets.text(text)
        for name, text in request.headers.items()
        if not _NOISE.fullmatch(name)
        and not _goes_without_saying(name, text)
        and (name in (key, "idempotency-key") or not is_secret_name(name))
    }
    if headers:
        out["headers"] = headers
    if request.body is not None:
        out["body"] = secrets.value(request.body, "/body")
    if request.form:
        out["form"] = True
    return out


def _response(exchange: Exchange, secrets: _Secrets) -> dict[str, Json]:
    out: dict[str, Json] = {"status": exchange.status}
    headers = {
        name: secrets.text(text)
        for name, text in exchange.headers.items()
        if _OF_ERRORS.fullmatch(name) and not _goes_without_saying(name, text)
    }
    if headers:
        out["headers"] = headers
    body = _json(exchange.body)
    if body is not None:
        out["body"] = secrets.value(body, "/body")
    return out


def _goes_without_saying(name: str, text: str) -> bool:
    if name == "accept":
        return text == "*/*"
    return name == "content-type" and text.partition(";")[0].strip().lower() in _PLAIN


def _claims(feedback: Mapping[str, Json], exchange: Exchange, key: str) -> dict[str, Json]:
    """Return what a case claims of the feedback: what an author looks at, and the request that follows.

    `key` is the header of the idempotency key: a new one is made from the name of the exchange, which a case changes.
    """
    suggestions = []
    for one in feedback["suggestions"]:
        claimed: dict[str, Json] = {"action": one["action"]}
        if one.get("parameters"):
            claimed["parameters"] = one["parameters"]
        if one.get("placeholders"):
            claimed["placeholders"] = [
                {"pointer": place["pointer"], "ask": place["ask"]} for place in one["placeholders"]
            ]
        safety = {name: True for name in ("changes_intent", "requires_confirmation") if one["safety"].get(name)}
        if safety:
            claimed["safety"] = safety
        suggestions.append(claimed)
    claims: dict[str, Json] = {"expect": {"recovery": feedback["recovery"], "suggestions": suggestions}}
    outcome = apply(feedback, exchange.request, confirm=True)
    if isinstance(outcome, Next):
        before = exchange.request.document()
        document = outcome.request.document()
        for headers in (before["headers"], document["headers"]):
            headers.pop(key, None)
        after = {name: value for name, value in document.items() if value != before[name]}
        if after:
            claims["after"] = after
    return claims


class _Secrets:
    """Takes secrets out of texts: what is named like one, what looks like one, and the same values elsewhere."""

    _SHORTEST: Final = 6
    """Characters of a value that is looked for elsewhere: a shorter one is found by chance."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._values: list[str] = []

    def learn(self, value: Json, pointer: str) -> None:
        """Remember the secrets of a request: an answer may repeat them."""
        for place, name, inner in _leaves(value, pointer):
            if self._is_secret(place, name, inner) and isinstance(inner, str) and len(inner) >= self._SHORTEST:
                self._values.append(inner)

    def value(self, value: Json, pointer: str, name: str = "") -> Json:
        if isinstance(value, Mapping):
            return {key: self.value(inner, f"{pointer}/{escape(str(key))}", str(key)) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.value(inner, f"{pointer}/{index}", name) for index, inner in enumerate(value)]
        if self._is_secret(pointer, name, value):
            return REDACTED
        if isinstance(value, str):
            return self.text(value)
        clean = redact(str(value)) if type(value) is int else ""
        return REDACTED if REDACTED in clean else value

    def text(self, text: str) -> str:
        for secret in self._values:
            text = text.replace(secret, REDACTED)
        # `redact` cuts long texts, which a log needs and a case does not.
        return "".join(redact(text[start : start + _PIECE]) for start in range(0, len(text), _PIECE))

    def _is_secret(self, pointer: str, name: str, value: Json) -> bool:
        return value not in ("", None) and (is_among(name, self._names) or is_secret(pointer, value))


_PIECE: Final = 2048


def _leaves(value: Json, pointer: str, name: str = "") -> Iterator[tuple[str, str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{pointer}/{escape(str(key))}", str(key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{pointer}/{index}", name)
    else:
        yield pointer, name, value
