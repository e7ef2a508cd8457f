"""The bodies that Acme takes, and its refusals: errors that name the fault, also of a shape, and never the fix."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, StrictInt, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from corrigible.adapters.sandbox.asgi import field


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that is wrong."""

    code: str
    message: str
    field: str = ""
    """Where: `amount`, `lines[1].quantity`; empty for all of the request."""


class Refused(Exception):
    """The call is not carried out."""

    def __init__(self, status: int, *complaints: Complaint) -> None:
        super().__init__("; ".join(complaint.message for complaint in complaints))
        self.status = status
        self.complaints: Sequence[Complaint] = complaints

    def document(self) -> dict[str, Any]:
        """Return the body of the answer."""
        first = self.complaints[0]
        message = first.message if len(self.complaints) == 1 else f"{len(self.complaints)} things are wrong."
        details = [asdict(complaint) for complaint in self.complaints]
        return {"error": {"code": first.code, "message": message, "details": details}}


def refuse(status: int, code: str, message: str, field: str = "") -> Refused:
    """Return a refusal for one reason."""
    return Refused(status, Complaint(code, message, field))


Model = TypeVar("Model", bound=BaseModel)

LARGEST: Final = 99_999_999


def _minor(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise PydanticCustomError("amount_not_integer", "is not a number of minor units")
    if not 0 < value <= LARGEST:
        raise PydanticCustomError("parameter_invalid", "is out of range")
    return value


Amount = Annotated[int, PlainValidator(_minor)]
Count = Annotated[StrictInt, Field(ge=1, le=9999)]
Text = Annotated[str, Field(strict=True, min_length=1, max_length=500)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Returned(_Body):
    """One line of a payment that comes back."""

    sku: Text
    quantity: Count


class Refund(_Body):
    """Body of `POST /v1/refunds`."""

    payment: Text
    amount: Amount
    currency: Text
    reason: Text
    note: Text | None = None
    approval: Text | None = None
    lines: Annotated[list[Returned], Field(min_length=1, max_length=100)] | None = None


class ApprovalWish(_Body):
    """Body of `POST /v1/approvals`."""

    payment: Text
    amount: Amount


class Evidence(_Body):
    """What the bank is to see."""

    shipping_carrier: Text | None = None
    shipping_date: Text | None = None
    shipping_tracking_number: Text | None = None
    product_description: Text | None = None
    refund_policy: Text | None = None
    duplicate_payment: Text | None = None
    explanation: Text | None = None
    customer_email: Text | None = None
    purchase_ip: Text | None = None


class Answered(_Body):
    """Body of `POST /v1/disputes/{dispute}/evidence`."""

    evidence: Evidence
    version: StrictInt | None = None
    """The version of the dispute that the caller has seen."""


class Nothing(_Body):
    """An empty body."""


class Sold(_Body):
    """A line of a payment that is made up for tests."""

    sku: Text
    quantity: Count
    unit_amount: Amount


class TestPayment(_Body):
    """Body of `POST /v1/test_helpers/payments`."""

    order: Text
    amount: Amount | None = None
    currency: Text = "eur"
    kind: Text = "goods"
    days_ago: Annotated[StrictInt, Field(ge=0, le=3650)] = 0
    lines: list[Sold] = []


class TestDispute(_Body):
    """Body of `POST /v1/test_helpers/disputes`."""

    payment: Text
    reason: Text
    status: Text = "needs_response"
    due_in_days: Annotated[StrictInt, Field(ge=-3650, le=3650)] = 7


_CODES: Final = {"missing": "parameter_missing", "extra_forbidden": "parameter_unknown"}
_PLAIN: Final = {"missing": "is required", "extra_forbidden": "is not a parameter of this call"}


def _complaint(error: ErrorDetails) -> Complaint:
    kind, place = error["type"], field(error["loc"])
    code = _CODES.get(kind) or (kind if kind == "amount_not_integer" else "parameter_invalid")
    problem = _PLAIN.get(kind) or (
        error["msg"] if kind in (code, "parameter_invalid") else "is not what this call takes"
    )
    return Complaint(code, f"{place or 'The body'} {problem}.", place)


def read(model: type[Model], body: bytes) -> Model:
    """Return the body as `model`. Raises Refused where it is no JSON or has another shape."""
    try:
        data: Any = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise Refused(400, Complaint("body_unreadable", "The body is no JSON.")) from None
    try:
        return model.model_validate(data)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_input=False)[:16]
        raise Refused(400, *map(_complaint, errors)) from None
