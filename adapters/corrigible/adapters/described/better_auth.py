"""Better Auth, a server of accounts and organizations, at a pinned version."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from corrigible.adapters.sandbox.nodejs import find_node, npm_folder
from corrigible.adapters.sandbox.server import Command, Server


def _command(port: int) -> Command:
    folder = npm_folder("better-auth")
    script = str(files(__package__).joinpath("better_auth.mjs"))
    return Command(find_node().arguments(script, str(port)), folder, {"BETTER_AUTH_TELEMETRY": "0"})


BETTER_AUTH: Final = Server(
    name="better-auth",
    title="Better Auth 1.7.25",
    deviation="keeps all in memory, passwords as they are; its description is at /api/auth/open-api/generate-schema",
    command=_command,
    access=lambda port: "an administrator is signed in: token-of-root",
)
