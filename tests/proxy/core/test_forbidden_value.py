"""What a 403 and a 409 let be said: a person has to decide, whatever value a 403 names.

The roles in these sentences are in no list of ours. Each has its truth beside it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from corrigible.proxy.build import build_corrector
from corrigible.proxy.http.corrector import HttpCorrector
from corrigible.proxy.http.messages import HttpExchange, RequestHead, ResponseHead
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.schema.exchange import Json, Request
from corrigible.schema.reader import NeedsInput, Terminal, apply
from tests._support.rows import rows

PARCEL = Request(
    "POST",
    "/parcels",
    body={"insured_value": "600.00", "insured": 600, "note": "glass", "priority": "express"},
    headers={"x-role": "clerk", "x-user": "ada"},
)
REFUND = Request(
    "POST",
    "/orders/o-7/refunds",
    body={"amount": 900, "currency": "eur", "reason": "broken", "order": "o-7", "requested_by": "ada"},
    headers={"x-role": "clerk"},
)
ARTICLE = Request(
    "PATCH",
    "/articles/7",
    body={"title": "Cheap pills today", "status": "archived", "language": "de", "tags": ["x", "pills"], "author": "bo"},
)
FILE = Request("POST", "/files", body={"filename": "setup.exe", "folder": "tools", "size_kb": 800})
VISIT = Request(
    "POST", "/clinics/3/visits", body={"ward": "icu", "start_date": "2020-01-01", "nights": 30, "doctor": "d-3"}
)
REOPENING = Request("POST", "/tickets/5/reopen", body={"comment": "again", "team": "blue"})
ACCOUNT = Request(
    "PATCH", "/accounts/acc_9", body={"plan": "gold", "limit": 5000, "owner": "u_2", "webhook_url": "http://x.test"}
)
LOGIN = Request(
    "POST",
    "/logins",
    body={
        "code": "12",
        "pin": "1",
        "csrf": "",
        "sum": "900 euros",
        "limit": "5k",
        "sender": "ceo@x.test",
        "supervisor": "bo",
    },
)
BOARD = Request("DELETE", "/boards/4")
REQUESTS = (PARCEL, REFUND, ARTICLE, FILE, VISIT, REOPENING, ACCOUNT, LOGIN, BOARD)

NO_VALUE: list[tuple[Request, str]] = [
    (PARCEL, "only managers insure above 500.00"),
    (PARCEL, "clerks cannot do this"),
    (PARCEL, "Insured value above 500 is for matrons"),
    (PARCEL, "insured value 600.00 is not allowed"),
    (PARCEL, "Above 500 euros a parcel needs a second signature"),
    (PARCEL, "four eyes principle: insured 600 must be countersigned"),
    (PARCEL, "express is not available to guests"),
    (PARCEL, "Priority 'express' is not allowed for Gold customers"),
    (PARCEL, "priority express not allowed on your plan"),
    (PARCEL, "this key may not use priority 'express'"),
    (PARCEL, "Priority express not permitted for tier 2 staff"),
    (PARCEL, "insured may not exceed 500 for clerks"),
    (PARCEL, "role clerk is not valid here"),
    (PARCEL, "x-role must be manager"),
    (PARCEL, "Header X-Role clerk not allowed"),
    (PARCEL, "insured must be at most 500"),
    (REFUND, "A refund of this size is not for this role to make."),
    (REFUND, "The refund goes beyond what this role may refund in a day."),
    (REFUND, "amount 900 is too high"),
    (REFUND, "amount is not permitted"),
    (REFUND, "Refunds above 500 have to be approved by the sous-chef"),
    (REFUND, "refund needs approval"),
    (REFUND, "requires the scope billing:write"),
    (REFUND, "Currency eur is not allowed for cashiers"),
    (REFUND, "currency 'eur' not permitted"),
    (REFUND, "order o-7 is not yours"),
    (REFUND, "order o-7 belongs to somebody else"),
    (REFUND, "requested_by ada is not allowed"),
    (REFUND, "ada cannot refund"),
    (REFUND, "Reason 'broken' is reserved for supervisors"),
    (REFUND, "reason broken may only be used by store leads"),
    (REFUND, "reason must be confirmed by a colleague"),
    (ARTICLE, "Only editors-in-chief archive"),
    (ARTICLE, "status 'archived' is not allowed for interns"),
    (ARTICLE, "author bo is not allowed"),
    (ARTICLE, "interns may not set language"),
    (ARTICLE, "language de is restricted"),
    (ARTICLE, "title cannot be changed"),
    (ARTICLE, "You can't change the status"),
    (ARTICLE, "Status archived requires moderation rights"),
    (ARTICLE, "not on the allow-list"),
    (ARTICLE, "language de not on the allow-list"),
    (ARTICLE, "title pending legal review"),
    (ARTICLE, "Der Titel darf nur von Redakteuren geändert werden"),
    (ARTICLE, "Le statut 'archived' est réservé aux rédacteurs"),
    (ARTICLE, "El estado archived solo lo cambia la jefa"),
    (ARTICLE, "Nur die Stationsleitung darf archivieren"),
    (ARTICLE, "status archived: Freigabe durch die Leitung nötig"),
    (ARTICLE, "Vier-Augen-Prinzip"),
    (ARTICLE, "titre interdit aux stagiaires"),
    (FILE, "folder tools is not allowed for contractors"),
    (FILE, "folder 'tools' is read-only for students"),
    (FILE, "Uploads to tools are admin territory"),
    (FILE, "size_kb 800 is too long"),
    (FILE, "folder is locked by legal"),
    (FILE, "tools: ask facilities"),
    (VISIT, "ward icu is not allowed for volunteers"),
    (VISIT, "only head nurses admit to icu"),
    (VISIT, "nights must be at most 14"),
    (VISIT, "doctor d-3 is not allowed"),
    (VISIT, "ward icu is for matrons"),
    (VISIT, "start date in the past is allowed for the registrar"),
    (VISIT, "Nurses book 7 nights"),
    (REOPENING, "only the owner may reopen"),
    (REOPENING, "a supervisor has closed this"),
    (REOPENING, "team blue cannot reopen"),
    (REOPENING, "comment not allowed by the moderator"),
    (REOPENING, "Ticket was locked by a steward"),
    (ACCOUNT, "plan gold not allowed"),
    (ACCOUNT, "limit 5000 not supported"),
    (ACCOUNT, "owner u_2 not valid"),
    (ACCOUNT, "Your plan does not contain webhooks"),
    (ACCOUNT, "webhook_url is not allowed on the Starter plan"),
    (ACCOUNT, "webhook_url is not supported for resellers"),
    (BOARD, "Forbidden"),
    (BOARD, "Nope"),
    (BOARD, "board is protected; disable protection first"),
    (BOARD, "Board 4 is immutable. Set locked to false first"),
    (BOARD, "boards are deleted by stewards"),
    (FILE, "folder 'tools' is reserved for the sous-chefs"),
    (VISIT, "ward 'icu' is prohibited to matrons"),
    (ARTICLE, "Title: nicht erlaubt"),
    (ARTICLE, "status 'archived' is not allowed"),
    (ARTICLE, "Unsupported language: de"),
    (ARTICLE, "language 'de' is not a valid value"),
    (ARTICLE, "author does not match"),
    (FILE, "folder 'tools' is read-only"),
    (FILE, "setup.exe already exists and belongs to another user"),
    (FILE, "You do not have permission: setup.exe already exists"),
    (FILE, "setup.exe is already in use; your plan allows one upload"),
    (FILE, "No right to setup.exe exists"),
    (FILE, "No filename 'setup.exe' exists"),
    (ACCOUNT, "owner u_2 already exists"),
    (ACCOUNT, "account acc_9 is already taken"),
    (LOGIN, "code must contain 6 digits"),
    (LOGIN, "pin is malformed"),
    (LOGIN, "csrf must not be empty"),
    (LOGIN, "sum 900 euros has too many characters"),
    (LOGIN, "limit 5k must be shorter"),
    (LOGIN, "sender contains an unknown domain"),
    (LOGIN, "not allowed to log in without a supervisor"),
    (LOGIN, "Your monthly quota is used up"),
    (LOGIN, "exceeded quota: compute"),
    (LOGIN, "Too many requests of this size need a manager"),
]
"""Of a 403: nothing may be asked for."""
VALUES: list[tuple[Request, str]] = [
    (FILE, "filename 'setup.exe' is not permitted"),
    (VISIT, "start date lies in the past"),
    (ARTICLE, "Attribute 'language' is read-only"),
    (VISIT, "start_date must not be in the past"),
    (PARCEL, "note contains 'glass'"),
    (ARTICLE, "status 'archived' is not allowed"),
]
"""Of a 403, about a value: who sends it may be what is refused all the same."""
CONFLICTS: list[tuple[Request, str]] = [
    (REOPENING, "only the owner may reopen"),
    (REOPENING, "a supervisor has closed this"),
    (REOPENING, "team blue may not reopen this"),
    (REOPENING, "Only head stewards may reopen tickets of team blue"),
    (REFUND, "amount 900 needs a second signature"),
    (REFUND, "Refunds above 500 have to be approved by the sous-chef"),
    (REFUND, "amount must be approved by a manager"),
    (REFUND, "refund requires four eyes: amount above 500"),
    (REFUND, "only managers refund above 500.00"),
    (REFUND, "clerks cannot refund this amount"),
    (REFUND, "amount 900 exceeds what your role may refund"),
    (REFUND, "amount above the limit of this key"),
    (PARCEL, "insured 600 exceeds your plan"),
    (PARCEL, "Gold customers only"),
    (PARCEL, "insured value is locked by an auditor"),
    (PARCEL, "insured above 500 is not allowed for tier 2 staff"),
    (ARTICLE, "article is being reviewed by the editor-in-chief"),
    (ARTICLE, "author bo has locked this article"),
    (ARTICLE, "requested by another editor"),
    (ARTICLE, "The owner has archived this"),
    (ARTICLE, "author must approve first"),
    (VISIT, "the matron has blocked this ward"),
    (VISIT, "nights above 14 need consent of the ward sister"),
    (VISIT, "visits longer than 14 nights are approved by matrons"),
    (ACCOUNT, "limit 5000 requires approval by compliance"),
    (ACCOUNT, "owner u_2 has to confirm"),
    (ACCOUNT, "limit above 1000 not included in your plan"),
    (REFUND, "Nur Filialleiter dürfen mehr als 500 erstatten"),
    (REFUND, "amount: se requiere una segunda firma"),
    (REFUND, "Le montant doit être validé par un responsable"),
    (BOARD, "Board is in use by the finance team"),
    (PARCEL, "insured: second signature missing"),
    (REFUND, "scope billing:write is required for this amount"),
    (REFUND, "amount denied by policy"),
]
"""Of a 409: about who may or must, so that no other value is asked for."""


def schema_of(value: Json) -> Json:
    if isinstance(value, dict):
        return {"type": "object", "properties": {name: schema_of(inner) for name, inner in value.items()}}
    if isinstance(value, list):
        return {"type": "array", "items": {"type": "string"}}
    return {"type": "integer" if isinstance(value, int) else "string"}


def description(*requests: Request) -> Json:
    """Describe the operations of requests: a part of a path with a digit is a parameter."""
    paths: dict[str, Json] = {}
    for request in requests:
        parts = request.path.strip("/").split("/")
        named = [f"id{at}" if any(map(str.isdigit, part)) else "" for at, part in enumerate(parts)]
        operation: dict[str, Json] = {
            "parameters": [
                {"name": one, "in": "path", "required": True, "schema": {"type": "string"}} for one in named if one
            ],
            "responses": {"default": {"description": "Any."}},
        }
        if request.body is not None:
            operation["requestBody"] = {"content": {"application/json": {"schema": schema_of(request.body)}}}
        path = "/".join(f"{{{one}}}" if one else part for one, part in zip(named, parts, strict=True))
        paths[f"/{path}"] = {request.method.lower(): operation}
    return {"openapi": "3.0.3", "info": {"title": "Offices", "version": "1"}, "paths": paths}


@pytest.fixture(scope="module", params=["described", "not described"])
def corrector(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> HttpCorrector:
    if request.param == "not described":
        return build_corrector(())
    file = tmp_path_factory.mktemp("offices") / "openapi.json"
    file.write_text(json.dumps(description(*REQUESTS)), "utf-8")
    return build_corrector((), spec=[file])


def feedback(corrector: HttpCorrector, request: Request, status: int, answer: Json) -> dict[str, Json] | None:
    headers = [("Content-Type", "application/json")]
    native = HttpExchange(
        RequestHead(request.method, request.path, [*headers, *request.headers.items()], "127.0.0.1"),
        b"" if request.body is None else json.dumps(request.body).encode(),
        ResponseHead(status, headers),
        json.dumps(answer).encode(),
    )
    outcome = run_with_lookups_sync(corrector.correct(native, id="e", started=1.0), lambda lookup: LookupAnswer(0))
    assert outcome.error is None
    return outcome.feedback if isinstance(outcome.feedback, dict) else None


def answers(text: str, request: Request) -> list[Json]:
    """Return a text in the usual forms of errors, and under the name of each member that was sent."""
    members = list(request.body) if isinstance(request.body, dict) else []
    return [
        {"message": text},
        {"error": {"code": "FORBIDDEN", "message": text}},
        {"type": "about:blank", "title": "Forbidden", "status": 403, "detail": text},
        *({"errors": [{"field": one, "message": text}]} for one in members),
    ]


@rows(("request_", "text"), NO_VALUE + VALUES)
def test_a_403_is_for_a_person(corrector: HttpCorrector, request_: Request, text: str) -> None:
    for answer in answers(text, request_):
        said = feedback(corrector, request_, 403, answer)
        assert said is not None
        assert isinstance(apply(said, request_), Terminal), answer
        assert said["suggestions"][0]["action"] == "ESCALATE"
        assert "no matter of permission" not in json.dumps(said)


@rows(("request_", "text"), CONFLICTS)
def test_a_conflict_about_somebody_asks_for_no_value(corrector: HttpCorrector, request_: Request, text: str) -> None:
    for answer in answers(text, request_)[:3]:
        said = feedback(corrector, request_, 409, answer)
        assert said is None or isinstance(apply(said, request_), Terminal), answer


@rows(
    ("body", "text"),
    [
        ({"user_id": "u_5"}, "Task is already assigned to another user"),
        ({"employee_id": "e_5"}, "Shift has already been taken by someone else"),
        ({"tenant_id": "t_2", "serial": "s1"}, "Device s1 is already registered to another tenant"),
        ({"approver": "ada", "comment": "ok"}, "already approved by someone else"),
        ({"limit": 5000}, "Account is frozen by compliance"),
        ({"amount": 900}, "Invoice is locked"),
        ({"choice": "x", "voter": "ada"}, "You have already voted"),
    ],
)
@rows("field", [False, True])
def test_a_conflict_that_somebody_decided_asks_for_nothing(body: dict[str, Json], text: str, field: bool) -> None:
    request = Request("POST", "/claims", body=body)
    answer: Json = {"errors": [{"field": next(iter(body)), "message": text}]} if field else {"message": text}
    said = feedback(build_corrector(()), request, 409, answer)
    assert said is None or isinstance(apply(said, request), Terminal), said


@pytest.mark.parametrize("name", ["email", "username", "slug"])
def test_a_name_that_is_taken_is_still_asked_for(name: str, tmp_path: Path) -> None:
    request = Request("POST", "/users", body={name: "ada-1", "bio": "x"})
    (tmp_path / "openapi.json").write_text(json.dumps(description(request)), "utf-8")
    corrector = build_corrector((), spec=[tmp_path / "openapi.json"])
    said = feedback(corrector, request, 409, {"errors": [{"field": name, "message": "is already taken"}]})
    assert said is not None and isinstance(apply(said, request), NeedsInput)
