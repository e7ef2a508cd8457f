"""Checks of the profile recipe, the paper's API: 200 with `success: false`, two endpoints, three modes, six actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corrigible.conformance.checks.support.exchange import (
    Explained,
    as_sent,
    body_of,
    encoded,
    judging,
    leading,
    require_answer,
    script,
)
from corrigible.conformance.model.vector import Exchange, exchange
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.http1 import HttpRequest, HttpResponse
from corrigible.conformance.validators.finding import Finding, Registered, listed
from corrigible.schema.exchange import Json, Request
from corrigible.schema.feedback import MEMBER
from corrigible.schema.word import BASE_ACTIONS

PROFILE: Final = "recipe"
CONVERT: Final = "/api/recipe/convert"
SUBSTITUTE: Final = "/api/recipe/substitute"
MODES: Final = ("traditional", "traditional_verbose", "reflective")
ACTIONS: Final = frozenset(
    {
        "ADD_INGREDIENT",
        "CLARIFY_MEASUREMENT",
        "REPLACE_INCOMPATIBLE_INGREDIENT",
        "MODIFY_PARAMS",
        "USE_SPECIFIC_BRAND",
        "FIX_SCALING_PRECISION",
    }
)
ERRORS: Final = "validation_errors"
_JSON: Final = (("Content-Type", "application/json"),)
_GOOD: Final = encoded({"recipe_name": "Tea", "ingredients": [{"name": "water", "amount": 1, "unit": "cup"}]})
_GOOD_TOO: Final = encoded(
    {
        "recipe_name": "Tea",
        "ingredient": {"name": "whole milk", "amount": 1, "unit": "cup"},
        "substitute": {"name": "oat milk", "amount": 1, "unit": "cup"},
    }
)
_ACCEPTED: Final = {CONVERT: _GOOD, SUBSTITUTE: _GOOD_TOO}
_ACCEPTANCE: Final = {"success": True, "data": {"recipe_name": "Tea", "validation": "strict"}}


def _in_mode(request: Request, mode: str, **more: str) -> HttpRequest:
    return as_sent(Request(request.method, request.path, {"mode": mode, **more}, request.headers, request.body))


def _ask(subject: Subject, request: HttpRequest, upstream_answer: Mapping[str, Any]) -> HttpResponse:
    """Return the subject's answer. In front of this API a proxy leaves `mode` to it, and is asked by `Prefer`."""
    if subject.upstream is None:
        return require_answer(subject.through(request))
    mode = request.target.partition("mode=")[2].partition("&")[0]
    return require_answer(
        subject.through(request.adding(("Prefer", f"recovery-feedback={mode}")), script(upstream_answer))
    )


def refusals(subject: Subject, mode: str) -> Iterator[tuple[Exchange, HttpRequest, HttpResponse]]:
    """Yield every refusal of the vectors as a mode shows it."""
    for vector in exchange(PROFILE):
        request = _in_mode(vector.request, mode)
        yield vector, request, _ask(subject, request, vector.answer)


def refused_with_success(subject: Subject) -> Iterator[Finding]:
    """A refusal is a 200 that says no, in every mode; an acceptance one that says yes."""
    for mode in MODES:
        for _, request, response in refusals(subject, mode):
            success = body_of(response).get("success")
            if (response.status, success) != (200, False):
                sentence = "a refusal is not 200 with success false"
                yield Finding("SRF-RCP-01", sentence, [200, False], [response.status, success], request)
        for request, response in _acceptances(subject, mode):
            success = body_of(response).get("success")
            if (response.status, success) != (200, True):
                sentence = "a recipe without fault is not 200 with success true"
                yield Finding("SRF-RCP-01", sentence, [200, True], [response.status, success], request)


def _acceptances(subject: Subject, mode: str) -> Iterator[tuple[HttpRequest, HttpResponse]]:
    for path, body in _ACCEPTED.items():
        request = HttpRequest("POST", f"{path}?mode={mode}", _JSON, body)
        yield request, _ask(subject, request, {"status": 200, "body": _ACCEPTANCE})


def errors_listed(subject: Subject) -> Iterator[Finding]:
    """The verbose and the reflective mode list what is wrong, each with a code and a message."""
    for mode in ("traditional_verbose", "reflective"):
        for _, request, response in refusals(subject, mode):
            errors = body_of(response).get(ERRORS)
            if not isinstance(errors, list) or not errors:
                yield Finding("SRF-RCP-02", f"a refusal in mode {mode} lists no {ERRORS}", "[...]", errors, request)
                continue
            for error in errors:
                if not (isinstance(error, dict) and _text(error.get("code")) and _text(error.get("message"))):
                    sentence, wanted = (
                        "an error has no text as its code and message",
                        {"code": "a text", "message": "a text"},
                    )
                    yield Finding("SRF-RCP-02", sentence, wanted, error, request)


def _text(value: Json) -> bool:
    return isinstance(value, str) and bool(value.strip())


def both_endpoints(subject: Subject) -> Iterator[Finding]:
    """Both operations refuse, and both answer a refusal with feedback."""
    seen: dict[str, list[tuple[HttpRequest, HttpResponse]]] = {CONVERT: [], SUBSTITUTE: []}
    for vector, request, response in refusals(subject, "reflective"):
        seen.setdefault(vector.request.path, []).append((request, response))
    for path, responses in seen.items():
        spoke = [response for _, response in responses if MEMBER in body_of(response)]
        if not spoke:
            request, response = responses[0]
            sentence = f"{path} gives no {MEMBER} for any of its refusals"
            yield Finding("SRF-RCP-03", sentence, MEMBER, sorted(body_of(response)), request)


def mode_names(subject: Subject) -> Iterator[Finding]:
    """The modes go by the original's names, and each says what it says there: nothing, what is wrong, what helps."""
    for vector in exchange(PROFILE):
        responses = {mode: _ask(subject, _in_mode(vector.request, mode), vector.answer) for mode in (*MODES, "verbose")}
        for mode, response in responses.items():
            request, body = _in_mode(vector.request, mode), body_of(response)
            if MEMBER in body and mode != "reflective":
                yield Finding("SRF-COR-08", f"mode {mode} gives feedback", "no feedback", body[MEMBER], request)
            if MEMBER not in body and mode == "reflective":
                yield Finding("SRF-RCP-04", "mode reflective gives no feedback", MEMBER, sorted(body), request)
        traditional, verbose = body_of(responses["traditional"]), body_of(responses["traditional_verbose"])
        if traditional.get(ERRORS):
            request = _in_mode(vector.request, "traditional")
            yield Finding("SRF-RCP-04", "mode traditional tells what is wrong", [], traditional[ERRORS], request)
        if body_of(responses["verbose"]) != verbose:
            request = _in_mode(vector.request, "verbose")
            yield Finding(
                "SRF-RCP-04", "verbose and traditional_verbose differ", verbose, body_of(responses["verbose"]), request
            )


def same_rules(subject: Subject) -> Iterator[Finding]:
    """Strict validation is the default, and no mode changes what is found."""
    for vector in exchange(PROFILE):
        by_operation: dict[str, Json] = {}
        for mode in ("traditional_verbose", "reflective"):
            for query in ({}, {"validation": "strict"}):
                request = _in_mode(vector.request, mode, **query)
                errors = body_of(_ask(subject, request, vector.answer)).get(ERRORS)
                by_operation["&".join([f"mode={mode}", *(f"{n}={v}" for n, v in query.items())])] = errors
        first, *others = by_operation.values()
        if any(other != first for other in others):
            sentence = f"{vector.description} What is wrong depends on the mode, or on saying validation=strict"
            yield Finding("SRF-RCP-05", sentence, first, by_operation, _in_mode(vector.request, "reflective"))


def absent_on_success(subject: Subject) -> Iterator[Finding]:
    """A recipe that is accepted gets no feedback in any mode."""
    for mode in MODES:
        for request, response in _acceptances(subject, mode):
            if MEMBER in body_of(response):
                sentence = f"mode {mode} gives feedback for a success"
                yield Finding("SRF-COR-07", sentence, "no feedback", body_of(response)[MEMBER], request)


def action_names(subject: Subject) -> Iterator[Finding]:
    """The original's six actions, or base actions; those that are no base action name theirs."""
    base = {str(base_action) for base_action in BASE_ACTIONS}
    for _, request, response in refusals(subject, "reflective"):
        for suggestion in _suggestions(body_of(response)):
            action = suggestion.get("action")
            if action not in ACTIONS | base:
                yield Finding("SRF-RCP-06", "an action is none of this API", sorted(ACTIONS | base), action, request)
            elif action not in base and suggestion.get("base_action") not in base:
                sentence = f"{action} does not say which base action it rests on"
                yield Finding("SRF-RCP-06", sentence, sorted(base), suggestion.get("base_action"), request)


def _suggestions(body: Mapping[str, Any]) -> list[Any]:
    feedback = body.get(MEMBER)
    return listed(feedback, "suggestions") if isinstance(feedback, dict) else []


_VOCABULARY: Final = {name: Registered("MODIFY_PARAMS", {}) for name in ACTIONS - {"MODIFY_PARAMS"}}


def _explained(subject: Subject) -> Iterator[Explained]:
    """The next request is one that the API accepts, or there is none where nothing helps."""
    for vector, request, response in refusals(subject, "reflective"):
        feedback = body_of(response).get(MEMBER)
        if feedback is not None:  # that it is missing is judged by itself
            yield Explained(vector, request, response, feedback, vector.request, _VOCABULARY)


led: Final = leading(_explained)
judged: Final = judging(_explained)
