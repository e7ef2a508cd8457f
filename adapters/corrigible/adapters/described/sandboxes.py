"""Servers without a pack, at pinned versions: Better Auth (accounts and organizations), and Kinto (JSON documents)."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from corrigible.adapters.sandbox.runtimes import find_node, npm_folder, python_arguments, venv_python
from corrigible.adapters.sandbox.server import HOST, Command, Server


def _better_auth(port: int) -> Command:
    folder = npm_folder("better-auth")
    script = str(files(__package__).joinpath("better_auth.mjs"))
    return Command(find_node().arguments(script, str(port)), folder, {"BETTER_AUTH_TELEMETRY": "0"})


BETTER_AUTH: Final = Server(
    name="better-auth",
    title="Better Auth 1.7.25",
    deviation="keeps all in memory, passwords as they are; its description is at /api/auth/open-api/generate-schema",
    command=_better_auth,
    access=lambda port: "an administrator is signed in: token-of-root",
)


_CODE: Final = f"""\
import sys, kinto, waitress
memory = {{f"kinto.{{name}}_backend": f"kinto.core.{{name}}.memory" for name in ("storage", "cache", "permission")}}
settings = {{
    "multiauth.policies": "basicauth",
    "kinto.bucket_create_principals": "system.Authenticated",
    "kinto.experimental_collection_schema_validation": "true",
    "kinto.userid_hmac_secret": "of a server that holds nothing worth a secret",
}}
waitress.serve(kinto.main({{}}, **memory, **settings), host="{HOST}", port=int(sys.argv[1]), threads=4, _quiet=True)
"""


def _kinto(port: int) -> Command:
    python = venv_python("kinto")
    return Command(python_arguments(_CODE, str(port), executable=python), environment={"PYTHONWARNINGS": "ignore"})


KINTO: Final = Server(
    name="kinto",
    title="Kinto 26.5.0",
    deviation="keeps all in memory, takes any name and password, and describes itself at /v1/__api__",
    command=_kinto,
)
