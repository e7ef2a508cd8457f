"""Servers of others at pinned versions: Better Auth (accounts and organizations), Kinto (JSON documents),
json-graphql-server (GraphQL), server-memory (Model Context Protocol), llama.cpp's server (models).
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
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


def _graphql(port: int) -> Command:
    folder, data = npm_folder("json-graphql-server"), str(files(__package__).joinpath("books.json"))
    script = "node_modules/json-graphql-server/bin/json-graphql-server.cjs"
    return Command(find_node().arguments(script, data, "--port", str(port), "--host", HOST), folder)


GRAPHQL: Final = Server(
    name="json-graphql-server",
    title="json-graphql-server 3.3.2",
    deviation="keeps all in memory, and answers introspection at /",
    command=_graphql,
)


def memory_on_pipes(kept: Path) -> Command:
    """Return the command of a server of the Model Context Protocol on pipes. Its file is in the folder `kept`."""
    folder = npm_folder("server-memory")
    script = "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
    return Command([str(find_node().executable), script], folder, {"MEMORY_FILE_PATH": str(kept / "memory.jsonl")})


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


_LLAMA: Final = f"""\
import signal, sys, threading, xllamacpp
chosen = xllamacpp.CommonParams()
chosen.model.path, chosen.offline = sys.argv[2], True
chosen.hostnames, chosen.port = ["{HOST}"], int(sys.argv[1])
chosen.n_ctx, chosen.n_parallel = 1024, 2
chosen.cpuparams.n_threads = chosen.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(chosen)
signal.sigwait([signal.SIGTERM, signal.SIGINT])
"""


def _llama(port: int) -> Command:
    model = str(files(__package__).joinpath("tiny.gguf"))
    return Command(python_arguments(_LLAMA, str(port), model, executable=venv_python("xllamacpp")))


LLAMA: Final = Server(
    name="llama.cpp",
    title="llama.cpp of xllamacpp 2026.10.11549",
    deviation="has a model of 30 KB that reads 512 tokens and says one sentence",
    command=_llama,
)
