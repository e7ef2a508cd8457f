"""Acme billing as a server that runs here."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ..sandbox.python import python_arguments
from ..sandbox.server import HOST, Command, Server

_CODE: Final = (
    "import sys; from corrigible.adapters.acme.service import serve; serve('{}', int(sys.argv[1]), *sys.argv[2:])"
)


def _command(port: int, stripe: str = "") -> Command:
    return Command(python_arguments(_CODE.format(HOST), str(port), *([stripe] if stripe else [])))


ACME: Final = Server(
    name="acme",
    title="Acme billing",
    deviation="is this project's own example: refunds and disputes under a policy, in front of a Stripe sandbox",
    command=_command,
    access=lambda port: "keys: acme_test_ACCOUNT_agent, acme_test_ACCOUNT_supervisor, acme_test_ACCOUNT_owner",
)


def before(stripe: str) -> Server:
    """Return the server in front of a Stripe-compatible server that runs already."""
    return replace(ACME, command=lambda port: _command(port, stripe))
