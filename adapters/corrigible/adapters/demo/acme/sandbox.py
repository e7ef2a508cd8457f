"""Acme billing as a server that runs here."""

from __future__ import annotations

from typing import Final

from corrigible.adapters.sandbox.runtimes import python_arguments
from corrigible.adapters.sandbox.server import HOST, Command, Server

_CODE: Final = (
    "import sys; from corrigible.adapters.demo.acme.service import serve; serve('{}', int(sys.argv[1]), *sys.argv[2:])"
)


def acme(stripe: str = "", now: str = "") -> Server:
    """Return the server; `stripe`: in front of the one that runs there, `now`: with its clock at that moment."""

    def command(port: int) -> Command:
        return Command(python_arguments(_CODE.format(HOST), str(port), stripe, now))

    return Server(
        name="acme",
        title="Acme billing",
        deviation="is this project's own example: refunds and disputes under a policy, in front of a Stripe sandbox",
        command=command,
        access=lambda port: "keys: acme_test_ACCOUNT_agent, acme_test_ACCOUNT_supervisor, acme_test_ACCOUNT_owner",
    )


ACME: Final = acme()
