"""Acme billing on the wire: what it refuses, with which status and place, and that money moves once or not at all."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import httpx
import yaml
from openapi_spec_validator import validate

from corrigible.adapters.apis.stripe.sandbox import SERVERS
from corrigible.adapters.demo.acme.adapter import OPERATIONS
from corrigible.adapters.demo.acme.policy import policy
from corrigible.adapters.demo.acme.sandbox import acme
from tests._support.acme_office import Office
from tests._support.rows import rows

DESCRIPTION: dict[str, Any] = yaml.load(
    files("corrigible.adapters.demo.acme").joinpath("openapi.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader
)
CUP = {"sku": "cup", "quantity": 2, "unit_amount": 500}
FULL = {"duplicate_payment": "pay_1", "explanation": "Two orders"}


def evidence(office: Office, dispute: str, **body: Any) -> httpx.Response:
    return office.call("agent", "POST", f"/v1/disputes/{dispute}/evidence", {"evidence": FULL, **body})


def beyond_the_day(office: Office) -> httpx.Response:
    payment = office.payment(amount=90000)
    for amount in (50000, 9000):
        approval = office.approval(payment, amount)
        assert office.refund(payment=payment, amount=amount, approval=approval).status_code == 201
    return office.refund(payment=office.payment(), amount=1001)


def without_processor(office: Office) -> httpx.Response:
    payment = office.payment()
    office.stripe.down = True
    return office.refund(payment=payment)


def taken_back(office: Office, **body: Any) -> str:
    payment = office.payment(**body)
    assert office.refund(payment=payment, amount=office.stripe.charges["ch_0"]["amount"]).status_code == 201
    return payment


def contested(office: Office, status: str) -> str:
    payment = office.payment()
    office.dispute(payment, status=status)
    return payment


REFUSALS: dict[str, tuple[Callable[[Office], httpx.Response], int, list[tuple[str, str]]]] = {
    "unknown payment": (lambda o: o.refund(payment="pay_1"), 404, [("payment_not_found", "payment")]),
    "nothing left": (lambda o: o.refund(payment=taken_back(o)), 409, [("payment_refunded", "payment")]),
    "disputed": (lambda o: o.refund(payment=contested(o, "needs_response")), 409, [("payment_disputed", "payment")]),
    "under review": (lambda o: o.refund(payment=contested(o, "under_review")), 409, [("payment_disputed", "payment")]),
    "charged back": (lambda o: o.refund(payment=contested(o, "lost")), 409, [("payment_charged_back", "payment")]),
    "currency and reason": (
        lambda o: o.refund(payment=o.payment(currency="usd"), reason="whim"),
        422,
        [("currency_mismatch", "currency"), ("reason_unknown", "reason")],
    ),
    "too old": (lambda o: o.refund(payment=o.payment(days_ago=91)), 422, [("window_closed", "payment")]),
    "no note": (lambda o: o.refund(payment=o.payment(), reason="goodwill"), 422, [("note_required", "note")]),
    "lines": (
        lambda o: o.refund(
            payment=o.payment(lines=[CUP], amount=None),
            lines=[{"sku": "pot", "quantity": 1}, {"sku": "cup", "quantity": 3}],
        ),
        422,
        [("line_unknown", "lines[0].sku"), ("line_quantity_exceeded", "lines[1].quantity")],
    ),
    "lines and amount": (
        lambda o: o.refund(payment=o.payment(lines=[CUP], amount=None), lines=[{"sku": "cup", "quantity": 1}]),
        422,
        [("amount_not_of_lines", "amount")],
    ),
    "more than is left": (
        lambda o: o.refund(payment=o.payment(), amount=8001),
        422,
        [("amount_exceeds_refundable", "amount")],
    ),
    "a part of a voucher": (
        lambda o: o.refund(payment=o.payment(kind="gift_card")),
        422,
        [("partial_not_allowed", "amount")],
    ),
    "much goodwill": (
        lambda o: o.refund(payment=o.payment(), amount=2501, reason="goodwill", note="Sorry"),
        422,
        [("reason_limit_exceeded", "amount")],
    ),
    "above the role": (
        lambda o: o.refund(payment=o.payment(amount=60000), amount=50001),
        403,
        [("role_limit_exceeded", "amount")],
    ),
    "above the day": (beyond_the_day, 403, [("daily_limit_exceeded", "amount")]),
    "no approval": (
        lambda o: o.refund(payment=o.payment(amount=20000), amount=10001),
        403,
        [("approval_required", "approval")],
    ),
    "an approval that nobody gave": (
        lambda o: o.refund(
            payment=(p := o.payment(amount=20000)), amount=20000, approval=o.approval(p, 20000, granted=False)
        ),
        403,
        [("approval_not_granted", "approval")],
    ),
    "an approval for less": (
        lambda o: o.refund(payment=(p := o.payment(amount=20000)), amount=20000, approval=o.approval(p, 19999)),
        403,
        [("approval_unusable", "approval")],
    ),
    "another role": (lambda o: o.refund("owner", payment=o.payment()), 403, [("role_not_permitted", "")]),
    "shape": (
        lambda o: o.refund(payment=o.payment(), amount=9.5, colour="red", currency=None),
        400,
        [("amount_not_integer", "amount"), ("parameter_invalid", "currency"), ("parameter_unknown", "colour")],
    ),
    "no such path": (lambda o: o.call("agent", "GET", "/v1/refund"), 404, [("path_unknown", "")]),
    "no such method": (lambda o: o.call("agent", "PUT", "/v1/refunds"), 405, [("method_not_allowed", "")]),
    "no key": (
        lambda o: o.call("agent", "GET", "/v1/refunds", headers={"authorization": "Bearer sk_1"}),
        401,
        [("credentials_refused", "")],
    ),
    "decided": (lambda o: evidence(o, o.dispute(o.payment(), status="won")), 409, [("dispute_closed", "")]),
    "with the bank": (
        lambda o: evidence(o, o.dispute(o.payment(), status="under_review")),
        409,
        [("evidence_submitted", "")],
    ),
    "too late": (lambda o: evidence(o, o.dispute(o.payment(), due_in_days=-1)), 409, [("evidence_overdue", "")]),
    "changed": (lambda o: evidence(o, o.dispute(o.payment()), version=7), 409, [("version_conflict", "version")]),
    "evidence": (
        lambda o: evidence(o, o.dispute(o.payment()), evidence={"explanation": "Two", "purchase_ip": "::1"}),
        422,
        [
            ("evidence_not_applicable", "evidence.purchase_ip"),
            ("evidence_missing", "evidence.duplicate_payment"),
        ],
    ),
    "own approval": (
        lambda o: o.call("agent", "POST", f"/v1/approvals/{o.approval(o.payment(), 1, granted=False)}/grant"),
        403,
        [("role_not_permitted", "")],
    ),
    "decided approval": (
        lambda o: o.call("supervisor", "POST", f"/v1/approvals/{o.approval(o.payment(), 1)}/deny"),
        409,
        [("approval_decided", "")],
    ),
    "processor": (without_processor, 502, [("processor_unavailable", "")]),
}


@rows("name", REFUSALS)
def test_a_refusal_has_a_status_a_code_and_a_place_and_moves_no_money(name: str) -> None:
    office = Office()
    call, status, complaints = REFUSALS[name]
    answer = call(office)
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert [(one["code"], one["field"]) for one in error["details"]] == complaints
    assert error["code"] == complaints[0][0]
    assert error["message"]
    assert answer.headers["content-type"] == "application/json"
    moved = len(office.stripe.refunds)
    assert moved == {"above the day": 2, "nothing left": 1}.get(name, 0)


def test_the_description_lists_every_code() -> None:
    listed = set(DESCRIPTION["components"]["schemas"]["Code"]["enum"])
    met = {code for _, _, complaints in REFUSALS.values() for code, _ in complaints}
    assert met <= listed
    assert listed - met == {
        *(f"{kind}_not_found" for kind in ("approval", "dispute", "refund")),
        *("body_too_large", "body_unreadable", "idempotency_key_reused", "parameter_missing"),
    }


def test_a_refund_moves_money_at_the_processor_and_is_remembered() -> None:
    office = Office()
    payment = office.payment(lines=[CUP, {**CUP, "sku": "pot"}], amount=None)
    answer = office.refund(payment=payment, lines=[{"sku": "pot", "quantity": 2}])
    assert answer.status_code == 201
    assert office.stripe.refunds == [("ch_0", 1000)]
    shown = office.call("agent", "GET", f"/v1/payments/{payment}").json()
    assert (shown["refunded"], shown["refundable"]) == (1000, 1000)
    assert [line["left"] for line in shown["lines"]] == [2, 0]
    assert office.call("agent", "GET", "/v1/policy").json()["refunds"]["left_today"] == 59000
    listed = office.call("agent", "GET", "/v1/refunds").json()["data"]
    assert listed == [answer.json()]


def test_an_idempotency_key_moves_money_once() -> None:
    office = Office()
    payment = office.payment()
    key = {"idempotency-key": "k-1"}
    first, second = (office.refund(payment=payment, headers=key) for _ in range(2))
    assert (first.status_code, first.json()) == (second.status_code, second.json())
    other = office.refund(payment=payment, amount=2000, headers=key)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_key_reused")
    assert office.stripe.refunds == [("ch_0", 1000)]


def test_an_approval_is_used_up_by_the_refund_it_was_for() -> None:
    office = Office()
    payment = office.payment(amount=40000)
    approval = office.approval(payment, 15000)
    assert office.refund(payment=payment, amount=15000, approval=approval).status_code == 201
    again = office.refund(payment=payment, amount=15000, approval=approval)
    assert again.json()["error"]["code"] == "approval_unusable"


def test_money_that_went_back_elsewhere_is_seen_once_the_processor_objects() -> None:
    office = Office()
    payment = office.payment()
    office.stripe.charges["ch_0"]["amount_refunded"] = 7500
    assert office.refund(payment=payment).json()["error"]["code"] == "processor_unavailable"
    assert office.refund(payment=payment).json()["error"]["code"] == "amount_exceeds_refundable"
    assert office.refund(payment=payment, amount=500).status_code == 201


def test_accounts_know_nothing_of_each_other() -> None:
    office = Office()
    payment = office.payment()
    office.account += "-other"
    assert office.call("agent", "GET", "/v1/payments").json()["data"] == []
    assert office.refund(payment=payment).status_code == 404


def test_what_lines_come_to_can_be_asked() -> None:
    office = Office()
    payment = office.payment(lines=[CUP, {**CUP, "sku": "pot", "unit_amount": 70}], amount=None)
    assert office.call("agent", "GET", f"/v1/payments/{payment}/quote?lines=cup:2,pot:1").json()["amount"] == 1070
    assert office.call("agent", "GET", f"/v1/payments/{payment}/quote?lines=pan:2").status_code == 422


def test_the_description_is_valid_and_has_the_operations_that_are_there() -> None:
    validate(DESCRIPTION)
    described = {
        f"{method.upper()} {path}": operation["operationId"]
        for path, methods in DESCRIPTION["paths"].items()
        for method, operation in methods.items()
    }
    assert described == dict(OPERATIONS.templates)
    members = DESCRIPTION["components"]["schemas"]["Answer"]["properties"]["evidence"]["properties"]
    assert set(members) == policy().evidence
    currencies = DESCRIPTION["components"]["schemas"]["TestPayment"]["properties"]["currency"]["enum"]
    assert set(currencies) == set(policy().currencies)


def test_it_runs_before_a_stripe_sandbox_and_its_clock_stands_where_it_was_put() -> None:
    with SERVERS[0].start() as stripe, acme(stripe.url, "2031-05-01T00:00:00+00:00").start() as running:
        key = {"authorization": "Bearer acme_test_t_owner"}
        made = httpx.post(
            f"{running.url}/v1/test_helpers/payments",
            json={"order": "A-1", "amount": 700, "days_ago": 1},
            headers=key,
            timeout=60,
        )
        assert made.json()["paid_at"] == "2031-04-30T00:00:00Z"
        wanted = {"payment": "pay_1001", "amount": 300, "currency": "eur", "reason": "damaged"}
        agent = {"authorization": "Bearer acme_test_t_agent"}
        assert httpx.post(f"{running.url}/v1/refunds", json=wanted, headers=agent, timeout=60).status_code == 201
        charge = httpx.get(
            f"{stripe.url}/v1/charges/{made.json()['charge']}",
            headers={"authorization": "Bearer sk_test_acme0000000000000001"},
            timeout=60,
        )
        assert charge.json()["amount_refunded"] == 300
