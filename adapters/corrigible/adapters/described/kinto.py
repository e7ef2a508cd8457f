"""Kinto, a server of JSON documents in collections, at a pinned version."""

from __future__ import annotations

from typing import Final

from corrigible.adapters.sandbox.python import python_arguments, venv_python
from corrigible.adapters.sandbox.server import HOST, Command, Server

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


def _command(port: int) -> Command:
    python = venv_python("kinto")
    return Command(python_arguments(_CODE, str(port), executable=python), environment={"PYTHONWARNINGS": "ignore"})


KINTO: Final = Server(
    name="kinto",
    title="Kinto 26.5.0",
    deviation="keeps all in memory, takes any name and password, and describes itself at /v1/__api__",
    command=_command,
)
