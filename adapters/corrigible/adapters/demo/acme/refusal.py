"""Acme's refusals: a status, and errors that name the fault and never the fix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


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
