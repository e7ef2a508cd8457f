"""Another operation in the place of one that cannot do it: what mappings know goes before, beside or behind the rules.

First the search for what else does what the refused request was for: rewritten, served, told with what it loses.

Knows: mappings, one refusal, what is suggested already, answers to look-ups. Does not know: which API it is, where maps
come from.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

import orjson

from corrigible.adapters.mapping.map_index import READING_METHODS, FoundMappings, KnownMapping
from corrigible.adapters.mapping.mapping import Constant, Equivalence, OperationMapping, Probe
from corrigible.adapters.mapping.rewriting import (
    Rewritten,
    edit_operations,
    is_sendable,
    pattern_of,
    reading_sibling,
    rewritten,
    sibling_path,
)
from corrigible.rules.budget import spend, use_reserve
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.engine.guarded_patch import PatchError, guarded, with_new_idempotency_key
from corrigible.rules.errors import CorrigibleError
from corrigible.rules.functions.builtin import unix
from corrigible.rules.lookup import Lookup, LookupAnswer, allowed
from corrigible.rules.lookup_headers import lookup_headers
from corrigible.rules.pointer import segments
from corrigible.rules.safety.decisive import READS, deletes, words
from corrigible.rules.safety.loss import LookupResult
from corrigible.rules.schema_repair.json_schema import trim_schema
from corrigible.rules.schema_repair.suggestion import Repair, result_of
from corrigible.schema.document import query_pairs, scalar_text
from corrigible.schema.edit import same_json
from corrigible.schema.exchange import Exchange, Json, Protocol

from .api_profile import ApiProfile, RefusalCase
from .intent import with_shifted_meanings
from .request_at_fault import says_no_route, says_nothing
from .verify import drop_invalid, dry_run

_READ: Final = 500
"""Characters of a message."""
_ALWAYS_UNKNOWN: Final = frozenset({405, 501})
_OF_ROUTES: Final = frozenset({"PATH_UNKNOWN", "METHOD_NOT_ALLOWED", "NOT_IMPLEMENTED"})
"""Codes by which formats and rules say that a server lacks an operation."""
_OF_THE_API: Final = frozenset(
    {"endpoint", "route", "api", "version", "method", "operation", "deprecated", "sunset", "retired"}
)


class Reason(StrEnum):
    """What is wrong with the operation that was called."""

    UNKNOWN = "The server does not have the operation that was called."
    ABSENT = "Nothing is at the path that was called, and another one has it."
    """Whether the operation or what it names is not there is not known: only a read that was seen to work helps."""
    GONE = "The operation that was called is gone."
    DEPRECATED = "The operation that was called is deprecated."
    FORBIDDEN = "The operation that was called is forbidden to this caller."
    LIMITED = "The operation that was called takes no more requests just now."


CODES: Final = {
    Reason.UNKNOWN: "OPERATION_UNKNOWN",
    Reason.ABSENT: "PATH_ABSENT",
    Reason.GONE: "OPERATION_GONE",
    Reason.DEPRECATED: "OPERATION_DEPRECATED",
    Reason.FORBIDDEN: "FORBIDDEN",
    Reason.LIMITED: "TOO_MANY_REQUESTS",
}
_BY_STATUS: Final = {403: Reason.FORBIDDEN, 429: Reason.LIMITED}
_STATUSES: Final = frozenset({*_ALWAYS_UNKNOWN, *_BY_STATUS, 404, 410, 500})


def may_be_about_the_operation(exchange: Exchange) -> bool:
    """Whether a refusal may be about its operation: cheap, since most are not."""
    return exchange.status in _STATUSES or "deprecation" in exchange.headers or "sunset" in exchange.headers


def reason_for_another(case: RefusalCase, results: Sequence[RuleResult], *, names_a_thing: bool) -> Reason | None:
    """Return why another operation may help; None where the refusal is about what was sent, or is not known to be.

    `names_a_thing`: the path has values in it, so that a 404 may be about what they name. So may one about a body.
    """
    status, is_rpc = case.exchange.status, case.request.protocol is Protocol.GRPC
    if status in _ALWAYS_UNKNOWN:
        return Reason.UNKNOWN
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    codes = {error.code for error in case.errors} | {result.rule.verbose_code for result in results}
    if not is_rpc and status in (404, 500) and not _OF_ROUTES.isdisjoint(codes):
        return Reason.UNKNOWN
    is_bare = not names_a_thing and case.request.body is None and all(says_nothing(one, status) for one in _texts(case))
    if not is_rpc and status == 404 and (is_bare or _is_undescribed(case) or any(map(says_no_route, _texts(case)))):
        return Reason.UNKNOWN
    if not is_rpc and status == 404 and case.request.method == "GET" and all(map(_only_asks_for_path, results)):
        return Reason.ABSENT
    if status == 410 and (is_bare or _is_undescribed(case) or _is_about_the_api(case)):
        return Reason.GONE
    if status < 400 or status >= 500:
        return None
    return _by_headers(case.exchange, results)


def _by_headers(exchange: Exchange, results: Sequence[RuleResult]) -> Reason | None:
    """Return the reason that `Deprecation` (RFC 9745) or `Sunset` (RFC 8594) give; a repair goes before it."""
    sunset = exchange.headers.get("sunset", "")
    if sunset and (end := unix(sunset)) is not None and end <= exchange.started:
        return Reason.GONE
    return Reason.DEPRECATED if not results and (sunset or "deprecation" in exchange.headers) else None


def _is_undescribed(case: RefusalCase) -> bool:
    """Whether the description that was given to the proxy lacks the operation."""
    description = case.profile.description
    return description is not None and description.operations.find(case.request.method, case.request.path) is None


def _is_about_the_api(case: RefusalCase) -> bool:
    return any(not _OF_THE_API.isdisjoint(words(text[:_READ])) for text in _texts(case))


def _texts(case: RefusalCase) -> list[str]:
    return [error.message for error in case.errors] + ([case.text] if isinstance(case.text, str) else [])


_MOST_TRIED: Final = 3
_MOST_VALUES: Final = 10_000
"""Of an answer to a probe."""
_VARIABLE: Final = re.compile(r"\{([^{}]+)\}")
_READING: Final = frozenset({"filter", "search", "query", "count", "list", "find", "lookup", "paginate"})
"""Last words of paths whose POST reads."""
_IMPLIED: Final = frozenset({"/body/apiVersion", "/body/kind"})
"""What objects of Kubernetes repeat of their operation."""
_MOST_NAMED: Final = 3
_DOES: Final = {
    Equivalence.SAME: "does the same",
    Equivalence.SAME_WITH_CONVERSION: "does the same, with its arguments written another way",
    Equivalence.WEAKER: "does the same in part",
    Equivalence.STRONGER: "does this and more",
}


class Candidate(NamedTuple):
    """A mapping, and the request by it."""

    known: KnownMapping
    after: Rewritten
    more: tuple[str, ...] = ()
    """Pointers to constants of the map that say more than the caller did."""

    @property
    def mapping(self) -> OperationMapping:
        return self.known.mapping

    @property
    def cost(self) -> tuple[bool, int, int, int, float]:
        after = self.after
        return (
            bool(self.known.origin),
            len(after.lost) + len(after.lost_variables),
            len(self.more),
            len(after.asked),
            -self.mapping.score,
        )


class Search:
    """The search for what else does what one refused request was for."""

    def __init__(self, case: RefusalCase, reason: Reason, variables: Mapping[str, str]) -> None:
        """`variables` are those of the request's path."""
        self._case, self._reason, self._variables = case, reason, variables
        self._request = case.request
        self._headers = lookup_headers(case.request, case.pack.settings.lookup_headers)
        self.seen: list[LookupResult] = []
        """What look-ups showed."""

    def offers(
        self, mappings: Sequence[KnownMapping]
    ) -> Generator[Lookup, LookupAnswer, list[tuple[Candidate, dict[str, Any]]]]:
        """Return the alternatives that are served, the one that keeps most first; after a complete one no more."""
        candidates = []
        for one in mappings:
            if not self._may_stand_in(one.mapping):
                continue
            after = rewritten(one.mapping, self._request, self._variables)
            if after is None or not is_sendable(self._request, after.request):
                continue
            if after.kept or not (after.lost or after.lost_variables):
                candidates.append(self._with_meaning(Candidate(one, after)))
        offers: list[tuple[Candidate, dict[str, Any]]] = []
        for candidate in sorted(candidates, key=lambda one: one.cost)[:_MOST_TRIED]:
            if candidate.known.origin:
                if not offers:
                    return [(candidate, self._elsewhere(candidate))]
                break
            is_verified = yield from self._served(candidate)
            if is_verified is None:
                continue
            kept = yield from self._shown_variables(candidate)
            lost = [name for name in candidate.after.lost_variables if name not in kept]
            candidate = candidate._replace(after=candidate.after._replace(lost_variables=tuple(lost)))
            suggestion = self._suggestion(candidate, is_verified=is_verified)
            if suggestion is None:
                continue
            offers.append((candidate, suggestion))
            if is_complete(candidate):
                return [offers[-1]]
        return offers

    def _may_stand_in(self, mapping: OperationMapping) -> bool:
        """Whether a mapping helps against the reason, and makes no read a write, nor a write a read."""
        if self._reason in (Reason.FORBIDDEN, Reason.LIMITED) and any(e.kind == "version" for e in mapping.evidence):
            return False  # rights and limits are those of the resource, whatever its version
        if self._request.protocol is Protocol.GRPC:
            return True
        method, path = self._request.method, self._request.path
        return (_effects(mapping) != "certain") == (method in READING_METHODS or _reads_by_name(method, path))

    def _served(self, candidate: Candidate) -> Generator[Lookup, LookupAnswer, bool | None]:
        """Return whether an answer showed the alternative at work; None where it is not known to be served."""
        mapping, after = candidate.mapping, candidate.after
        if self._reason is Reason.ABSENT:
            is_seen = yield from self._seen_at_work(candidate)
            return True if is_seen else None
        is_rpc = self._request.protocol is Protocol.GRPC
        description = self._case.profile.described if is_rpc else self._case.profile.description
        if description is not None:
            path = mapping.target.path if is_rpc else after.request.path
            match = description.operations.find(mapping.target.method, path)
            # `/things/search` may be no more than a value of `/things/{id}`.
            is_described = match is not None and len(match[1]) == len(_VARIABLE.findall(mapping.target.path))
            return False if is_described else None
        if is_rpc:
            return None
        if mapping.served is not None:
            answer = yield from self._probed(candidate, mapping.served)
            return False if answer else None
        is_seen = yield from self._seen_at_work(candidate)
        return True if is_seen else None

    def _seen_at_work(self, candidate: Candidate) -> Generator[Lookup, LookupAnswer, bool]:
        """Return whether the alternative is a read, and gives something."""
        mapping, after = candidate.mapping, candidate.after
        if mapping.target.method != "GET" or after.asked:
            return False
        query = urlencode(list(query_pairs(after.request.query)))
        path = f"{after.request.path}?{query}" if query else after.request.path
        value = yield from self._answered(path, mapping.target.path)
        return value is not None

    def _shown_variables(self, candidate: Candidate) -> Generator[Lookup, LookupAnswer, frozenset[str]]:
        """Return the lost variables of the path whose values a probe shows: what is named now belongs to them."""
        probe = candidate.mapping.served
        if probe is None or not candidate.after.lost_variables or not probe.pointer:
            return frozenset()
        named = _VARIABLE.fullmatch(probe.value)
        if named is None or named[1] not in candidate.after.lost_variables:
            return frozenset()
        is_shown = yield from self._probed(candidate, probe)
        return frozenset({named[1]}) if is_shown else frozenset()

    def _probed(self, candidate: Candidate, probe: Probe) -> Generator[Lookup, LookupAnswer, bool]:
        """Return whether a probe's answer is what the mapping says."""
        values = {**self._variables, **candidate.after.path_values}
        names = _VARIABLE.findall(probe.get)
        if any(not values.get(name) for name in names):
            return False
        path = _VARIABLE.sub(lambda match: quote(values[match[1]], safe=""), probe.get)
        answer = yield from self._answered(path, probe.get)
        if answer is None or not probe.pointer:
            return answer is not None
        expected = _VARIABLE.sub(lambda match: self._variables.get(match[1], ""), probe.value)
        return any(scalar_text(value) == expected for value in _values(answer, segments(probe.pointer)))

    def _answered(self, path: str, template: str) -> Generator[Lookup, LookupAnswer, Json]:
        """Return the JSON of a read whose path fits a template; None where there is none."""
        if allowed(path, [template.strip("/").split("/")]) is None:
            return None
        answer = yield Lookup(path, headers=self._headers)
        if not 200 <= answer.status < 300:
            return None
        try:
            value = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            return None
        self.seen.append(LookupResult(path, value))
        return value

    def _suggestion(self, candidate: Candidate, *, is_verified: bool) -> dict[str, Any] | None:
        """Return the suggestion of an alternative at the same server; None where no edit of the request makes it."""
        after = candidate.after
        lacks_path = "/path" in after.asked
        ops = edit_operations(self._request, after.request, skip_path=lacks_path)
        settings = self._case.pack.settings
        ops = with_new_idempotency_key(ops, self._request, settings.idempotency_header, self._case.exchange.id)
        try:
            guarded(self._request.document(), ops)
        except PatchError:
            return None
        suggestion: dict[str, Any] = {
            "action": "USE_ALTERNATIVE_ENDPOINT",
            "message": self._message(candidate),
            "parameters": {},
            "patch": ops,
            "applicability": "HAS_PLACEHOLDERS" if after.asked else "MAYBE_INCORRECT",
        }
        if after.asked:
            suggestion["placeholders"] = [self._question(pointer, candidate) for pointer in after.asked]
        if is_verified:
            suggestion["verification"] = {"status": "verified", "method": "lookup"}
        return {**suggestion, "safety": self._safety(candidate), "evidence": self._evidence(candidate)}

    def _question(self, pointer: str, candidate: Candidate) -> dict[str, Any]:
        """Return what is asked for at a place that the target needs."""
        if pointer == "/path":
            pattern = pattern_of(candidate.after.request.path)
            return {"pointer": pointer, "ask": "agent", "schema": {"type": "string", "pattern": pattern}}
        return {"pointer": pointer, "ask": "user", "schema": trim_schema(self._declared(pointer, candidate))}

    def _declared(self, pointer: str, candidate: Candidate) -> Mapping[str, Json]:
        """Return the schema that the target's description has for a place; empty without one."""
        description, target = self._case.description, candidate.after.request
        match = description.operations.find(candidate.mapping.target.method, target.path or target.method)
        return {} if match is None else description.declared_place(target, match[0], pointer).schema

    def _with_meaning(self, candidate: Candidate) -> Candidate:
        """Return a candidate that knows which of its map's constants say more than its caller did."""
        added = candidate.after.added
        return candidate._replace(more=tuple(at for at, one in added.items() if self._says_more(at, one, candidate)))

    def _says_more(self, pointer: str, constant: Constant, candidate: Candidate) -> bool:
        """Whether a constant is a wish of its own: nothing but the map says that the call means it.

        The kind and version of an object follow from the operation, and so does the only value that the description
        allows. A pack's texts are read with its rules, its switches and numbers are wishes like any other's.
        """
        value = constant.value
        if isinstance(value, str) and (candidate.known.is_of_pack or pointer in _IMPLIED):
            return False
        schema = self._declared(pointer, candidate)
        if "const" in schema:
            return not same_json(schema["const"], value)
        allowed_values = schema.get("enum")
        is_only = isinstance(allowed_values, list) and len(allowed_values) == 1 and same_json(allowed_values[0], value)
        return not is_only

    def _safety(self, candidate: Candidate) -> dict[str, Any]:
        mapping, after = candidate.mapping, candidate.after
        lost = [*after.lost, *(["/path"] if after.lost_variables else [])]
        is_more = mapping.equivalence is Equivalence.STRONGER
        safety: dict[str, Any] = {
            "side_effects": _effects(mapping),
            "changes_intent": bool(lost or candidate.more) or is_more or not after.is_sure,
        }
        takes_away = deletes(self._request) or deletes(after.request)
        if self._reason is Reason.FORBIDDEN or is_more or takes_away:
            safety["requires_confirmation"] = True
        if lost:
            safety["loses"] = lost
        return safety

    def _message(self, candidate: Candidate) -> str:
        mapping, after = candidate.mapping, candidate.after
        target = mapping.target
        called = target.path if self._request.protocol is Protocol.GRPC else f"{target.method} {target.path}"
        does = _DOES[mapping.equivalence]
        if mapping.equivalence is Equivalence.WEAKER and not (after.lost or after.lost_variables):
            does = "does what was sent here, and answers in another form"
        if after.leaves_credential:
            does = "does what was sent here, but for a credential"
        if candidate.more:
            does = "can take its place, and does more than was asked for"
        parts = [f"Use {called}, which {does}."]
        if candidate.more:
            named = ", ".join(candidate.more[:_MOST_NAMED])
            parts.append(f"The map adds what this call did not say: {named}{_others(len(candidate.more))}.")
        if after.leaves_credential:
            parts.append("It may take the credential at another place than the header that this call has it in.")
        if target.method == "POST" and self._request.method in READING_METHODS:
            parts.append("It reads, though by POST.")
        if self._reason is Reason.FORBIDDEN:
            parts.append("The caller may not be allowed this either; then somebody who may has to do it.")
        return " ".join(parts)

    def _evidence(self, candidate: Candidate) -> dict[str, Any]:
        source, target = candidate.mapping.source, candidate.mapping.target
        rule = f"{candidate.known.label}: {source.method} {source.path} -> {target.method} {target.path}"
        evidence: dict[str, Any] = {"kind": "mapping", "rule": rule}
        if self.seen:
            # Without their queries, which may hold what nobody should read twice.
            evidence["lookups"] = list(dict.fromkeys(f"GET {one.path.partition('?')[0]}" for one in self.seen))
        return evidence

    def _elsewhere(self, candidate: Candidate) -> dict[str, Any]:
        """Return what tells of another server. No edit of this request goes there: its credentials stay here."""
        target, where = candidate.mapping.target, candidate.known.origin
        return {
            "action": "ESCALATE",
            "message": f"Another server can do this: {target.method} {target.path} at {where}. It takes credentials of"
            " its own; those of this call must not be sent there.",
            "parameters": {
                "actor": "you",
                "needed": "credentials for another server",
                "origin": where,
                "method": target.method,
                "path": candidate.after.request.path or target.path,
            },
            "safety": {**self._safety(candidate), "requires_confirmation": True},
            "evidence": self._evidence(candidate),
        }


def is_complete(candidate: Candidate) -> bool:
    after = candidate.after
    return not (after.lost or after.lost_variables or after.asked or candidate.more) and after.is_sure


def _others(count: int) -> str:
    return f" and {count - _MOST_NAMED} more" if count > _MOST_NAMED else ""


def _is_declared(mapping: OperationMapping) -> bool:
    """Whether the map says that the target reads; of a method that writes nobody is believed."""
    return mapping.target_reads and mapping.target.method == "POST"


def _reads_by_name(method: str, path: str) -> bool:
    """Whether the last word of a path says that its POST reads."""
    return method == "POST" and path.rstrip("/").rpartition("/")[2] in _READING


def _effects(mapping: OperationMapping) -> str:
    """Return the label of side effects: of a POST that reads, none only where the map says so."""
    if mapping.target.method in READING_METHODS or _is_declared(mapping):
        return "none"
    return "possible" if _reads_by_name(mapping.target.method, mapping.target.path) else "certain"


def _values(document: Json, parts: Sequence[str]) -> Iterator[Json]:
    """Yield the values at a pointer in which `*` is any item or member."""
    open_: list[tuple[Json, int]] = [(document, 0)]
    seen = 0
    while open_ and seen < _MOST_VALUES:
        here, at = open_.pop()
        seen += 1
        if at == len(parts):
            if not isinstance(here, dict | list):
                yield here
            continue
        part = parts[at]
        if isinstance(here, list):
            wanted = here if part == "*" else here[int(part) : int(part) + 1] if part.isdecimal() else []
            open_ += [(inner, at + 1) for inner in wanted[:_MOST_VALUES]]
        elif isinstance(here, dict):
            inner_values = here.values() if part == "*" else [here[part]] if part in here else []
            open_ += [(inner, at + 1) for inner in inner_values]
    spend(seen // 8)


Alternatives = Generator[Lookup, LookupAnswer, "Alternative | None"]

_RESERVE: Final = 2000
"""Steps for what is left to do where an alternative took the others."""
_LACKING: Final = frozenset({404, 405, 501})
"""Statuses by which a server may say that it lacks an operation."""
_SOURCE: Final = "a mapping"
_PROVED: Final = {"status": "verified", "method": "dry_run"}
_BY_DESCRIPTION: Final = "the description"


class Alternative(NamedTuple):
    """What another operation can do, after a dry run where the API has one."""

    result: RuleResult
    reason: Reason
    is_complete: bool
    """Whether the first suggestion loses nothing and asks for nothing."""


def has_mappings(profile: ApiProfile, exchange: Exchange) -> bool:
    """Whether another operation is known for the one that was refused."""
    return profile.maps is not None and may_be_about_the_operation(exchange) and _found(profile, exchange) is not None


def _found(profile: ApiProfile, exchange: Exchange) -> FoundMappings | None:
    request = exchange.request
    if profile.maps is None:
        return None
    if request.protocol is Protocol.GRPC:
        return profile.maps.find("POST", request.method)
    return profile.maps.find(request.method, request.path)


def has_substitute(case: RefusalCase) -> bool:
    """Whether a map has another operation for one that is refused as such: if it is not offered, proof is lacking."""
    if case.match.is_wrapped or not may_be_about_the_operation(case.exchange):
        return False
    found = _found(case.profile, case.exchange)
    return found is not None and reason_for_another(case, (), names_a_thing=found.names_a_thing) is not None


def with_alternative(
    case: RefusalCase, results: list[RuleResult], room: int
) -> Generator[Lookup, LookupAnswer, list[RuleResult]]:
    """Return the results with what another operation can do, where it is better than they are.

    What gives a request that keeps all that was sent stands as it is. A mistake of ours leaves the results as they are,
    and so does an edit that takes more bytes than there is room for.
    """
    if any(_is_settled(result) for result in results):
        return results
    try:
        other = yield from _alternative(case, results)
    except CorrigibleError:
        if not results:
            raise
        use_reserve(_RESERVE)
        return results
    if other is None or len(orjson.dumps(other.result.suggestions)) > room:
        return results
    if other.reason is Reason.LIMITED and results:
        return _beside(results, other.result)
    if other.reason is Reason.FORBIDDEN or _is_better(other, results, case):
        return [other.result]
    return results


def _only_asks_for_path(result: RuleResult) -> bool:
    """Whether a result knows no more than that the path leads to nothing."""
    asked = [placeholder["pointer"] for one in result.suggestions for placeholder in one.get("placeholders") or ()]
    return bool(asked) and {*asked} == {"/path"} and not any(one.get("patch") for one in result.suggestions)


def _is_better(other: Alternative, results: Sequence[RuleResult], case: RefusalCase) -> bool:
    """Whether a mapping goes before what rules suggest.

    Where both lead to the same path, what rules say stands unless the mapping is proved and they are not, or it knows
    of more, or of less, that is lost.
    """
    if any(one.get("verification") == _PROVED for one in other.result.suggestions[:1]):
        return True
    led = _paths(results, reads=case.request.method in READS)
    if not led:
        return led is None or other.is_complete
    for path in _paths([other.result], reads=False) or ():
        if path in led:
            is_asked, is_told = led[path]
            return is_asked or is_told if other.is_complete else not is_told
    return other.is_complete


def _is_settled(result: RuleResult) -> bool:
    """Whether a reader goes on by itself with a request that keeps all that was sent, as far as anybody knows.

    Of another path that is only proved.
    """
    edits = [one for one in result.suggestions if "patch" in one and "placeholders" not in one]
    return result.type == "recovery_guidance" and any(
        not one["safety"]["changes_intent"]
        and (one.get("verification") == _PROVED or all(op["path"] != "/path" for op in one["patch"]))
        for one in edits
    )


def _paths(results: Sequence[RuleResult], *, reads: bool) -> dict[str, tuple[bool, bool]] | None:
    """Return the paths that edits lead to, each with whether the caller is asked or the intent changes; None without.

    Of a read (`reads`) no edit counts that may write.
    """
    suggestions = [(one, result.type) for result in results for one in result.suggestions if "patch" in one]
    edits = [(one, type) for one, type in suggestions if not (reads and one["safety"]["side_effects"] == "certain")]
    if not edits:
        return None
    return {
        str(op["value"]): (type != "recovery_guidance", bool(one["safety"]["changes_intent"]))
        for one, type in edits
        for op in one["patch"]
        if op["path"] == "/path" and op["op"] == "replace"
    }


def _tried(
    result: RuleResult, case: RefusalCase, *, is_drop_in: bool
) -> Generator[Lookup, LookupAnswer, RuleResult | None]:
    """Return the result after a dry run, where the API has one; None where nothing of it is left.

    A dry run proves a drop-in alone.
    """
    how = case.pack.text.dry_run
    if how is not None and result.recovery != "terminal":
        (result,) = (yield from dry_run([result], case.errors[:1], case, how)) or [result.with_suggestions(())]
    if not is_drop_in:
        result = result.with_suggestions([_less_sure(one) for one in result.suggestions])
    return with_shifted_meanings(result, case.request, case.pack) if result.suggestions else None


def _less_sure(suggestion: dict[str, Json]) -> dict[str, Json]:
    if suggestion.get("applicability") != "MACHINE_APPLICABLE":
        return suggestion
    return {**suggestion, "applicability": "MAYBE_INCORRECT"}


def _beside(results: list[RuleResult], other: RuleResult) -> list[RuleResult]:
    """Return the results with the other operation beside the first suggestions, as a choice."""
    first = results[0]
    if first.recovery == "terminal" or other.recovery == "terminal" or any("group" in s for s in first.suggestions):
        return results
    group = {"id": "alternative.1", "relation": "one_of"}
    together = [{**one, "group": group} for one in (*first.suggestions, *other.suggestions)]
    return [first.with_suggestions(together), *results[1:]]


def _alternative(case: RefusalCase, results: Sequence[RuleResult]) -> Alternatives:
    """Return what another operation can do; None where none is known to, or the refusal is not about the operation."""
    if case.match.is_wrapped or not may_be_about_the_operation(case.exchange):
        return None
    found = _found(case.profile, case.exchange) or _beside_it(case)
    if found is None:
        return None
    reason = reason_for_another(case, results, names_a_thing=found.names_a_thing)
    if reason is None or case.request.files:
        return None
    search = Search(case, reason, found.variables)
    offers = yield from search.offers(found.mappings)
    result = _result(case, reason, offers, search.seen) if offers else None
    if result is not None:
        is_drop_in = all(one.mapping.equivalence is Equivalence.SAME and not one.more for one, _ in offers)
        result = yield from _tried(result, case, is_drop_in=is_drop_in)
    return None if result is None else Alternative(result, reason, is_complete(offers[0][0]))


def _beside_it(case: RefusalCase) -> FoundMappings | None:
    """Return the read by POST that the description has beside a read that it does not have."""
    request, description = case.request, case.profile.description
    if description is None or request.protocol is Protocol.GRPC or case.exchange.status not in _LACKING:
        return None
    if not (path := sibling_path(description.operations, request)):
        return None
    if description.operations.find(request.method, request.path) is not None:
        return None
    match = description.operations.find("POST", path)
    facts = description.facts(match[0]) if match is not None else {}
    known = KnownMapping(reading_sibling(request, path, facts), _BY_DESCRIPTION)
    return FoundMappings((known,), {}, names_a_thing=True)


def _result(
    case: RefusalCase, reason: Reason, offers: Sequence[tuple[Candidate, dict[str, Any]]], seen: Sequence[LookupResult]
) -> RuleResult | None:
    """Return the offers as a result, without those that the description refutes."""
    first = offers[0][0]
    suggestions = [suggestion for _, suggestion in offers]
    if len(suggestions) > 1:
        suggestions = [{**one, "group": {"id": "alternative.1", "relation": "one_of"}} for one in suggestions]
    recovery = "terminal" if first.known.origin else "correctable"
    repair = Repair(tuple(suggestions), "recovery_guidance", reason.value, CODES[reason], recovery)
    result = result_of(repair, f"{_SOURCE} of {first.known.label}", seen)
    description = case.profile.description
    if description is not None and "/path" not in first.after.asked:
        valid = drop_invalid(result, case.request, case.match.operation, description)
        if valid is None:
            return None
        result = valid
    if case.pack.settings.idempotency_header in case.request.headers and recovery == "correctable":
        result = result._replace(retry={"same_request": False, "idempotency_key": "new"})
    return result
