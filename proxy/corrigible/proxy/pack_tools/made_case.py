"""Cases of a rule from recorded exchanges: request, answer, and the feedback of the rule.

Credentials are taken out, and personal data is replaced, before the rule is asked: what a case claims fits what it has.

Knows: recordings, rules, the form of cases. Does not know: files, the command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from http import HTTPStatus
from itertools import pairwise
from textwrap import shorten
from typing import Final, NamedTuple
from urllib.parse import unquote

from corrigible.client.credentials import credential_values
from corrigible.client.guard import is_secret_header, is_secret_parameter
from corrigible.proxy.access_log.entry import REDACTED
from corrigible.proxy.access_log.entry import is_secret as is_secret_name
from corrigible.proxy.core.api_profile import ApiProfile, match_operation, parse_errors
from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.http.request_reader import read_request
from corrigible.proxy.pack_tools.rule_places import member_names
from corrigible.proxy.recording.reader import Recorded, Recording, decoded
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.engine.evaluate import RuleIndex
from corrigible.rules.language.rule import Rule
from corrigible.rules.language.rule_model import CaseText
from corrigible.rules.language.yaml_source import read_source
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.pack.cases import exchange_of
from corrigible.schema.document import by_name, fields
from corrigible.schema.exchange import Exchange, Json, Request
from corrigible.schema.reader import Next, apply

from .lint import answer_lookup, is_read, json_of
from .personal_data import PersonalData, resource

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
    rule: str
    """The rule that matches what was recorded, the first of several; empty where none does."""
    problem: str = ""
    """Why the case is not written."""


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
    return is_candidate and match is not None and bool(parse_errors(match, exchange, json_of(exchange.body)))


class CaseMaker:
    """Makes cases of the refusals of one recording."""

    def __init__(self, profile: ApiProfile, recording: Recording, source: str, named: ApiProfile | None = None) -> None:
        """`named` knows the names of more operations than the profile, which knows what `pack test` does."""
        self._profile, self._recording, self._source = profile, recording, source
        self._named = named or profile

    def draft(self, recorded: Recorded) -> MadeCase:
        """Return the case of a rule that is to be written: it claims only that there will be one."""
        exchange = _exchange(recorded)
        personal = self._personal(exchange, recorded, (), (self._profile.pack.text.operations,))
        case, body = self._case(exchange, personal)
        left = personal.remaining(case)
        return MadeCase({**case, "expect": {}}, body, "", _LEFT.format(left) if left else "")

    def make(self, recorded: Recorded, rule: Rule | None) -> MadeCase:
        """Return the case of a refusal by a rule, or by the first rule of the pack that matches.

        It claims what the rule makes of what stands in the case: personal data is replaced before. Where nothing
        matches, it claims that.
        """
        profile, exchange = self._profile, _exchange(recorded)
        asked: dict[str, LookupAnswer] = {}

        def recorded_answer(lookup: Lookup) -> LookupAnswer:
            answer = self._recording.fetch(lookup)
            if answer.status == 0 and lookup.method == "GET":
                answer = self._refused_reads.get(lookup.path, answer)
            return asked.setdefault(f"{lookup.method} {lookup.path}", answer)

        matching, _ = self._decided(exchange, rule, recorded_answer)
        matched = matching[0] if matching else ""
        asked_rules = [one for one in profile.pack.rules if one.id == matched or one is rule]
        texts = [read_source(profile.pack.path / f"{one.id.partition('.')[2]}.yaml").data for one in asked_rules]
        text = profile.pack.text
        known = (*texts, text.operations, text.functions, profile.pack.tables, profile.adapter.operations.names)
        personal = self._personal(exchange, recorded, asked.items(), known)
        case, body = self._case(exchange, personal)
        made = MadeCase(case, body, matched)
        if missing := [key for key, answer in asked.items() if answer.status == 0 and is_read(profile, key)]:
            return made._replace(problem=f'the recording has no answer to "{personal.text(missing[0])}"')
        lookups = {personal.text(key): _as_listed(one, personal) for key, one in asked.items() if one.status}
        if exchange.started and any("exchange" in one.uses for one in asked_rules):
            case["started"] = exchange.started
        tried = exchange_of(CaseText.model_validate({**case, "no_match": True}), body, exchange.id)
        again, feedback = self._decided(tried, rule, lambda lookup: answer_lookup(lookups, lookup))
        if lookups:
            case["lookups"] = lookups
        if left := personal.remaining(case):
            return made._replace(problem=_LEFT.format(left))
        if again[:1] != matching[:1]:
            others = again[0] if again else "no rule" if rule is None else "not"
            problem = f"{matched or 'no rule'} matches what was recorded, and {others} where personal data is replaced"
            return made._replace(problem=problem)
        claims = _claims(feedback, tried, profile.pack.settings.idempotency_header) if matched else {"no_match": True}
        return made._replace(case={**case, **claims})

    def _decided(
        self, exchange: Exchange, rule: Rule | None, fetch: Callable[[Lookup], LookupAnswer]
    ) -> tuple[tuple[str, ...], Mapping[str, Json]]:
        """Return the rules that match, and the feedback."""
        index = self._profile.index if rule is None else RuleIndex([rule])
        decision = run_with_lookups_sync(Engine([replace(self._profile, index=index)]).decide(exchange), fetch)
        if not isinstance(decision, Annotate):
            return (), {}
        own = {one.id for one in index.rules}
        return tuple(one for one in decision.rules if one in own), decision.feedback

    def _personal(
        self,
        exchange: Exchange,
        recorded: Recorded,
        lookups: Iterable[tuple[str, LookupAnswer]],
        known: Iterable[Json],
    ) -> PersonalData:
        """Return what is personal and what is secret in an exchange and its look-ups."""
        request, answer = exchange.request, json_of(exchange.body)
        match = match_operation([self._profile], request)
        errors = parse_errors(match, exchange, answer) if match is not None else ()
        kept = {word for value in known for word in _literals(value)}
        kept |= {word for error in errors for word in (error.code, error.type, error.param) if word}
        personal = PersonalData(kept, self._profile.pack.settings.secrets)
        _learn_request(personal, recorded, request, match.params if match is not None else {})
        personal.keep(member_names(request.body))  # an answer names them: `{"name": "age", "reason": "too large"}`
        about = (resource(request.path),)
        personal.learn(answer if answer is not None else exchange.body.decode("utf-8", "replace"), about)
        personal.learn({name: text for name, text in exchange.headers.items() if _OF_ERRORS.fullmatch(name)})
        for key, one in lookups:
            target, _, query = key.partition("?")
            personal.learn(target)
            personal.learn(by_name(fields(query)))
            personal.learn(json_of(one.body), (resource(target),))
        personal.learn_mentioned(self._elsewhere)
        return personal

    @cached_property
    def _refused_reads(self) -> Mapping[str, LookupAnswer]:
        """The GETs of the recording that were refused, by path and query: nothing is there, for one."""
        return {
            one.request.target: LookupAnswer(one.response.status, decoded(one.response.headers, one.response_body))
            for one in self._recording.exchanges
            if one.request.method == "GET" and one.response.status >= 400
        }

    @cached_property
    def _elsewhere(self) -> PersonalData:
        """What is personal or secret anywhere in the recording: a message may name whom another answer describes."""
        found = PersonalData((), self._profile.pack.settings.secrets)
        for recorded in self._recording.exchanges[:_MOST_READ]:
            exchange = _exchange(recorded)
            _learn_request(found, recorded, exchange.request, {})
            found.learn(json_of(exchange.body), (resource(exchange.request.path),))
        return found

    def _case(self, exchange: Exchange, personal: PersonalData) -> tuple[dict[str, Json], bytes | None]:
        """Return a case that claims nothing yet, and the body of the answer where that is no JSON."""
        response = _response(exchange, personal)
        body = None
        if "body" not in response and exchange.body.strip():
            body = personal.text(exchange.body.decode("utf-8", "replace")).encode()
        return {
            "name": _name(self._named, exchange, personal),
            "origin": "recorded",
            "source": personal.text(self._source),
            "request": _request(exchange, self._profile, personal),
            "response": response,
        }, body


_LEFT: Final = "personal data cannot be taken out of it (a value of the kind {})"
_MOST_READ: Final = 2000
"""Exchanges of a recording that are searched for what other ones mention."""
_LEAST_SECRET: Final = 6
"""Characters of a credential that is looked for elsewhere: a shorter one is found by chance."""
_PLAIN_ID: Final = re.compile(r"\d+|[a-z]{1,6}_[A-Za-z0-9]*\d[A-Za-z0-9]*")
"""A segment of a path that is an id whatever the path."""
_QUOTED: Final = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")


def _is_secret_header(name: str) -> bool:
    return name.lower() != "idempotency-key" and (is_secret_name(name) or is_secret_header(name))


def _as_listed(answer: LookupAnswer, personal: PersonalData) -> Json:
    """Return an answer as `lookups` of a case has it."""
    body = personal.replaced(json_of(answer.body))
    if answer.status == 404:
        return None
    return body if answer.status == 200 else {"answer": {"status": answer.status, "body": body}}


def _learn_request(personal: PersonalData, recorded: Recorded, request: Request, params: Mapping[str, str]) -> None:
    head = recorded.request
    personal.hide(credential_values(head.headers, head.target.partition("?")[2]))
    personal.hide([value for name, value in head.headers if _is_secret_header(name) and len(value) >= _LEAST_SECRET])
    queried = [value for name, value in request.query.items() if is_secret_parameter(name) and isinstance(value, str)]
    personal.hide([value for value in queried if len(value) >= _LEAST_SECRET])
    personal.learn(request.body, (resource(request.path),))
    personal.learn(request.query)
    segments = request.path.split("/")
    personal.learn(segments)
    for name, value in params.items():
        before = next((one for one, part in pairwise(segments) if unquote(part) == value), "")
        personal.learn(value, (f"/{before}", name))
    for before, part in pairwise(segments):
        if _PLAIN_ID.fullmatch(part):
            personal.learn(part, (f"{before}_id",))
    personal.learn({name: text for name, text in request.headers.items() if not _NOISE.fullmatch(name)})


def _literals(value: Json) -> Iterator[str]:
    """Yield what a file of a pack says itself: its texts, and those that are quoted in its expressions."""
    match value:
        case Mapping():
            for key, inner in value.items():
                yield str(key)
                yield from _literals(inner)
        case list() | tuple() | set() | frozenset():
            for inner in value:
                yield from _literals(inner)
        case str():
            yield value
            yield from (one or other for one, other in _QUOTED.findall(value))


def _exchange(recorded: Recorded) -> Exchange:
    head = recorded.request
    request = read_request(head.method, head.target, head.headers, recorded.request_body)
    headers = {name.lower(): value for name, value in recorded.response.headers}
    body = decoded(recorded.response.headers, recorded.response_body)
    return Exchange(request, recorded.response.status, headers, body, recorded.name, recorded.started)


def _name(profile: ApiProfile, exchange: Exchange, personal: PersonalData) -> str:
    request = exchange.request
    match = match_operation([profile], request)
    where = match.operation if match is not None and match.operation else f"{request.method} {request.path}"
    errors = parse_errors(match, exchange, json_of(exchange.body)) if match is not None else ()
    code = next((error.code or error.type for error in errors if error.code or error.type), "")
    kind = personal.text(f"{where}: {exchange.status} {code or HTTPStatus(exchange.status).phrase}".strip())
    message = " ".join(next((error.message for error in errors if error.message), "").split())
    # Half a secret is no longer found: the text is cut last.
    piece = shorten(personal.text(message), _LONGEST_PIECE, placeholder=" ...") if message else ""
    return f"{kind}: {piece}" if piece and piece != code else kind


def _request(exchange: Exchange, profile: ApiProfile, personal: PersonalData) -> dict[str, Json]:
    request = exchange.request
    out: dict[str, Json] = {"method": request.method, "path": personal.text(request.path)}
    if request.query:
        own = profile.pack.settings.secrets
        query = {name: REDACTED if is_secret_parameter(name, own) else value for name, value in request.query.items()}
        out["query"] = personal.replaced(query)
    key = profile.pack.settings.idempotency_header
    headers = {
        name: personal.text(text)
        for name, text in request.headers.items()
        if not _NOISE.fullmatch(name)
        and not _goes_without_saying(name, text)
        and (name == key or not _is_secret_header(name))
    }
    if headers:
        out["headers"] = headers
    if request.body is not None:
        out["body"] = personal.replaced(request.body)
    if request.form:
        out["form"] = True
    return out


def _response(exchange: Exchange, personal: PersonalData) -> dict[str, Json]:
    out: dict[str, Json] = {"status": exchange.status}
    headers = {
        name: personal.text(text)
        for name, text in exchange.headers.items()
        if _OF_ERRORS.fullmatch(name) and not _goes_without_saying(name, text)
    }
    if headers:
        out["headers"] = headers
    body = json_of(exchange.body)
    if body is not None:
        out["body"] = personal.replaced(body)
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
