"""A local GitHub-compatible server of a third party, at a pinned version."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from corrigible.adapters.sandbox.runtimes import find_node, npm_folder
from corrigible.adapters.sandbox.server import HOST, Command, Server

SEED = Path(str(files(__package__).joinpath("seed.yaml")))
"""Users octocat (owns octocat/hello-world, runs the organization acme), dev and reviewer, each with a token."""


def emulate(seed: Path = SEED) -> Server:
    """Describe the server, started with the users, tokens and repositories of a seed file."""

    def command(port: int) -> Command:
        folder = npm_folder("emulate")
        start = ["start", "--host", HOST, "--service", "github", "--port", str(port), "--seed", str(seed.resolve())]
        return Command(find_node().arguments("node_modules/emulate/dist/index.js", *start), folder)

    return Server(
        name="emulate",
        title="emulate 0.12.2",
        deviation="takes an unknown token for the first user's, says no errors[], and has no rulesets or rate limits",
        command=command,
        seeded=emulate,
    )


SERVERS = (emulate(),)
"""The default first."""
