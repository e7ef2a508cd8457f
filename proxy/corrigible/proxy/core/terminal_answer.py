"""Answers after which nothing is sent: what was wished is so already, or somebody has to change something first.

Knows: what such answers have. Does not know: refusals, why they are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from corrigible.rules.schema_repair.suggestion import Repair
from corrigible.schema.exchange import Json, Request


class Told(NamedTuple):
    """What is said about a reason for which no other request helps."""

    message: str
    needed: str
    actor: str
    diagnosis: str
    code: str


def escalation(told: Told, of_request: Mapping[str, Json]) -> Repair:
    """Tell who has to act. `of_request` says which call it is about."""
    parameters: dict[str, Json] = {"needed": told.needed, "actor": told.actor, **of_request}
    return _terminal("ESCALATE", told.message, parameters, told.diagnosis, told.code)


def already_done(request: Request) -> Repair:
    """Tell that the goal holds: the server says so of what the path names, and nothing else was wished."""
    message = "The server says that this has been done already."
    diagnosis = "The resource is already as the request would make it."
    return _terminal("ALREADY_DONE", message, {"path": request.path}, diagnosis, "ALREADY_DONE")


def _terminal(action: str, message: str, parameters: Mapping[str, Json], diagnosis: str, code: str) -> Repair:
    suggestion: dict[str, Json] = {
        "action": action,
        "message": message,
        "parameters": dict(parameters),
        "safety": {"side_effects": "none", "changes_intent": False},
        "evidence": {"kind": "mapping"},
    }
    return Repair((suggestion,), "recovery_guidance", diagnosis, code, "terminal")
