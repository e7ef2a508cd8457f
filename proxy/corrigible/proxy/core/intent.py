"""What a suggestion takes from the request: computed from its edit, never claimed by its author.

Knows: suggestions, requests, what look-ups showed. Does not know: rules, descriptions, formats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.functions.builtin import find
from corrigible.rules.language.pack_model import MeaningText
from corrigible.rules.language.rule import TERMINAL
from corrigible.rules.pack.load import Pack
from corrigible.rules.pointer import MISSING, resolve
from corrigible.rules.safety.loss import LookupResult, Survival, losses, losses_of_scalars
from corrigible.rules.schema_repair.suggestion import RepairSource
from corrigible.schema.edit import after_edit, same_json
from corrigible.schema.exchange import Json, Request
from corrigible.schema.word import EvidenceKind

_EDITS = ("patch", "parameters")


def declare_losses(results: Sequence[RuleResult], request: Request, pack: Pack) -> list[RuleResult]:
    """Return the results, each suggestion with what it takes from the request: `loses`, and `changes_intent`.

    Suggestions are applied one after the other, as readers do; of alternatives each for itself.
    """
    if len(results) == 1 and (declared := _with_scalar_losses(results[0], request, pack)) is not None:
        return [declared]
    current = request
    out = []
    for result in results:
        suggestions, current = _with_losses(result.suggestions, request, current, pack, result)
        out.append(result.with_suggestions(suggestions))
    return out


def _with_scalar_losses(result: RuleResult, request: Request, pack: Pack) -> RuleResult | None:
    """Return the result with its only suggestion's losses, where the patch only sets scalars; else None."""
    if len(result.suggestions) != 1 or pack.text.meanings:
        return None
    suggestion = result.suggestions[0]
    if not suggestion.get("patch") or _is_tried(suggestion):
        return None
    survival = Survival(
        pack.settings.tokens, result.lookup_results, suggestion.get("steps"), is_stated=_is_stated(suggestion, result)
    )
    lost = losses_of_scalars(suggestion["patch"], request, survival)
    if lost is None:
        return None
    lost = _besides_documents(lost, result)
    return result.with_suggestions([losing(suggestion, lost)]) if lost else result


def with_losses(feedback: Mapping[str, Any], request: Request, pack: Pack) -> dict[str, Json]:
    """Return feedback that somebody else made, each suggestion with what it takes from the request."""
    suggestions, _ = _with_losses(feedback["suggestions"], request, request, pack, None)
    return {**feedback, "suggestions": suggestions}


def _with_losses(
    suggestions: Sequence[dict[str, Any]], request: Request, current: Request, pack: Pack, result: RuleResult | None
) -> tuple[list[dict[str, Any]], Request]:
    """Return suggestions with what they lose, and the request as they leave it."""
    tokens, how = pack.settings.tokens, pack.text.dry_run
    seen: Sequence[LookupResult] = () if result is None else result.lookup_results
    version = how.version if how is not None else None
    marked = []
    starts: dict[str, Request] = {}
    for suggestion in suggestions:
        group = suggestion.get("group") or {}
        if _is_terminal(suggestion) or not any(suggestion.get(name) for name in _EDITS):
            marked.append(suggestion)
            continue
        start = starts.setdefault(group["id"], current) if group.get("relation") == "one_of" else current
        base, after = start, after_edit(suggestion, start)
        if after is None and start is not request:
            base, after = request, after_edit(suggestion, request)
        if after is None:
            marked.append(suggestion)  # no reader applies it either
            continue
        versioned = version if _is_tried(suggestion) else None
        survival = Survival(tokens, seen, suggestion.get("steps"), versioned, _is_stated(suggestion, result))
        lost = _besides_documents(
            _sent(losses(base, after, survival, touched=_touched(suggestion)), base, request), result
        )
        marked.append(_shifted(losing(suggestion, lost), base.body, after.body, pack.text.meanings))
        if base is current:  # of alternatives the first one, as readers do
            current = after
    return marked, current


def _sent(lost: Sequence[str], base: Request, request: Request) -> Sequence[str]:
    """Return the places that the caller's own request has: what another suggestion put there was never sent."""
    if base is request or not lost:
        return lost
    document = request.document()
    return [one for one in lost if one.startswith("/headers/") or resolve(document, one) is not MISSING]


def _besides_documents(lost: Sequence[str], result: RuleResult | None) -> tuple[str, ...]:
    """Return places without that of a document whose nodes were weighed one by one: as a text it is another one."""
    is_weighed = result is not None and isinstance(result.rule, RepairSource) and result.rule.is_weighed
    return tuple(one for one in lost if not is_weighed or one not in ("/body/query", "/query/query"))


def _shifted(
    suggestion: dict[str, Json], before: Json, after: Json, meanings: Sequence[MeaningText]
) -> dict[str, Json]:
    """Return a suggestion that says which values mean something else after it, by the pack's table."""
    for meaning in meanings:
        if not (_holds(before, meaning.where) and _holds(after, meaning.becomes)) or _holds(before, meaning.becomes):
            continue
        places = [f"/body{place}" for place in find(before, meaning.at)]
        if meaning.is_about_a_value:
            affected = [p for p in places if same_json(resolve(before, p.removeprefix("/body")), meaning.value)]
            suggestion = losing(suggestion, affected)
        elif len(places) < max(1, len(find(before, meaning.at.rpartition("/")[0]))):
            suggestion = _changing(suggestion)
    return suggestion


def with_shifted_meanings(result: RuleResult, request: Request, pack: Pack) -> RuleResult:
    """Return a result whose losses are known, and which says as well what means something else after it."""
    meanings = pack.text.meanings
    if not meanings:
        return result
    out = []
    for suggestion in result.suggestions:
        after = after_edit(suggestion, request) if suggestion.get("patch") else None
        out.append(suggestion if after is None else _shifted(suggestion, request.body, after.body, meanings))
    return result.with_suggestions(out)


def _holds(body: Json, members: Mapping[str, Json]) -> bool:
    return all(same_json(resolve(body, pointer), value) for pointer, value in members.items())


def undeclared_losses(claimed: Sequence[RuleResult], declared: Sequence[RuleResult]) -> list[str]:
    """Return what edits lose whose authors claim that they change no intent."""
    return [
        pointer
        for one, other in zip(claimed, declared, strict=True)
        for claim, computed in zip(one.suggestions, other.suggestions, strict=True)
        if not claim["safety"]["changes_intent"]
        for pointer in computed["safety"].get("loses", ())
    ]


def _is_tried(suggestion: Mapping[str, Any]) -> bool:
    return bool(suggestion.get("verification") == {"status": "verified", "method": "dry_run"})


_STATED = frozenset({EvidenceKind.SPEC.value, EvidenceKind.ANSWER.value})


def _is_stated(suggestion: Mapping[str, Any], result: RuleResult | None) -> bool:
    """Whether what is put there is what the description or the server's answer has for it, or the nearest of a list."""
    if result is None:
        return False
    return (suggestion.get("evidence") or {}).get("kind") in _STATED or result.rule.may_guess


def _is_terminal(suggestion: Mapping[str, Any]) -> bool:
    return suggestion.get("base_action", suggestion["action"]) in TERMINAL


def losing(suggestion: dict[str, Json], lost: Sequence[str]) -> dict[str, Any]:
    """Return a suggestion that says what it loses; the same one where that is nothing."""
    if not lost:
        return suggestion
    out = _changing(suggestion)
    already = out["safety"].get("loses")
    out["safety"]["loses"] = list(dict.fromkeys((*already, *lost))) if already else list(lost)
    return out


def _changing(suggestion: dict[str, Json]) -> dict[str, Any]:
    """Return a suggestion that says that it is not what was asked for."""
    out = {**suggestion, "safety": {**suggestion.get("safety", {}), "changes_intent": True}}
    if out.get("applicability") == "MACHINE_APPLICABLE":
        out["applicability"] = "MAYBE_INCORRECT"
    return out


def _touched(suggestion: Mapping[str, Any]) -> list[str] | None:
    """Return the places that an edit changes; None where all of the request may be other than it was."""
    patch = suggestion.get("patch")
    if not patch:
        return None
    return [op[name] for op in patch if op["op"] != "test" for name in ("path", "from") if name in op]
