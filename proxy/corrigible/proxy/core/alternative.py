"""Another operation in the place of one that cannot do it: what mappings know goes before, beside or behind the rules.

Knows: mappings, one refusal, what is suggested already. Does not know: which API it is, where maps come from.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Final, NamedTuple

import orjson

from corrigible.adapters.mapping.map_index import FoundMappings, KnownMapping
from corrigible.adapters.mapping.mapping import Equivalence
from corrigible.adapters.mapping.rewriting import reading_sibling, sibling_path
from corrigible.rules.budget import use_reserve
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.errors import CorrigibleError
from corrigible.rules.lookup import Lookup, LookupAnswer
from corrigible.rules.safety.decisive import READS
from corrigible.rules.safety.loss import LookupResult
from corrigible.rules.schema_repair.suggestion import Repair, result_of
from corrigible.schema.exchange import Exchange, Json, Protocol

from .alternative_search import (
    CODES,
    Candidate,
    Reason,
    Search,
    is_complete,
    may_be_about_the_operation,
    reason_for_another,
)
from .api_profile import ApiProfile, RefusalCase
from .dry_run import dry_run
from .intent import with_shifted_meanings
from .verify import drop_invalid

Alternatives = Generator[Lookup, LookupAnswer, "Alternative | None"]

_RESERVE: Final = 2000
"""Steps for what is left to do where an alternative took the others."""
_LACKING: Final = frozenset({404, 405, 501})
"""Statuses by which a server may say that it lacks an operation."""
_SOURCE: Final = "a mapping"
_PROVED: Final = {"status": "verified", "method": "dry_run"}
_BY_DESCRIPTION: Final = "the description"


class Alternative(NamedTuple):
    """What another operation can do."""

    result: RuleResult
    reason: Reason
    is_complete: bool
    """Whether the first suggestion loses nothing and asks for nothing."""
    may_be_certain: bool
    """Whether a dry run may prove it: of a drop-in alone."""


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
        other = yield from alternative(case, results)
        if other is None:
            return results
        tried = yield from _tried(other, case)
    except CorrigibleError:
        if not results:
            raise
        use_reserve(_RESERVE)
        return results
    if tried is None or len(orjson.dumps(tried.suggestions)) > room:
        return results
    if other.reason is Reason.LIMITED and results:
        return _beside(results, tried)
    if other.reason is Reason.FORBIDDEN or _is_better(other, tried, results, case):
        return [tried]
    return results


def _is_better(other: Alternative, tried: RuleResult, results: Sequence[RuleResult], case: RefusalCase) -> bool:
    """Whether a mapping goes before what rules suggest.

    Where both lead to the same path, what rules say stands unless the mapping is proved and they are not, or it knows
    of more, or of less, that is lost.
    """
    if any(one.get("verification") == _PROVED for one in tried.suggestions[:1]):
        return True
    led = _paths(results, reads=case.request.method in READS)
    if not led:
        return led is None or other.is_complete
    for path in _paths([tried], reads=False) or ():
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


def _tried(other: Alternative, case: RefusalCase) -> Generator[Lookup, LookupAnswer, RuleResult | None]:
    """Return the result after a dry run, where the API has one; None where nothing of it is left."""
    result, how = other.result, case.pack.text.dry_run
    if how is not None and result.recovery != "terminal":
        (result,) = (yield from dry_run([result], case.errors[:1], case, how)) or [result.with_suggestions(())]
    if not other.may_be_certain:
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


def alternative(case: RefusalCase, results: Sequence[RuleResult]) -> Alternatives:
    """Return what another operation can do; None where none is known to, or the refusal is not about the operation.

    `results` is what is suggested already.
    """
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
    return _alternative_of(case, reason, offers, search.seen) if offers else None


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


def _alternative_of(
    case: RefusalCase, reason: Reason, offers: Sequence[tuple[Candidate, dict[str, Any]]], seen: Sequence[LookupResult]
) -> Alternative | None:
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
    certain = all(one.mapping.equivalence is Equivalence.SAME and not one.more for one, _ in offers)
    return Alternative(result, reason, is_complete(first), certain)
