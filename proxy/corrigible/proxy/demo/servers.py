"""The local servers: those of other projects, our own examples, and the proxy itself."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from corrigible.adapters.apis.etcd.sandbox import SERVERS as ETCD
from corrigible.adapters.apis.github.sandbox import SERVERS as GITHUB
from corrigible.adapters.apis.kubernetes.sandbox import SERVERS as KUBERNETES
from corrigible.adapters.apis.stripe.sandbox import SERVERS as STRIPE
from corrigible.adapters.demo.acme.sandbox import ACME
from corrigible.adapters.described.sandboxes import BETTER_AUTH, KINTO
from corrigible.adapters.sandbox.runtimes import python_arguments
from corrigible.adapters.sandbox.server import HOST, Command, Server


def _recipe(port: int) -> Command:
    code = f"import sys; from corrigible.proxy.demo.recipe_service import serve; serve('{HOST}', int(sys.argv[1]))"
    return Command(python_arguments(code, str(port)))


RECIPE = Server(
    name="recipe",
    title="recipe service",
    deviation="is this project's own example and stands for no other API",
    command=_recipe,
)
SANDBOXES = {
    "stripe": STRIPE,
    "github": GITHUB,
    "kubernetes": KUBERNETES,
    "etcd": ETCD,
    "recipe": (RECIPE,),
    "acme": (ACME,),
    "kinto": (KINTO,),
    "better-auth": (BETTER_AUTH,),
}
"""API -> the servers that behave like it, the default first."""


def find_server(api: str, name: str | None = None) -> Server | None:
    """Return the named server of an API, or its default; None where there is no such server."""
    servers = SANDBOXES[api]
    return servers[0] if name is None else next((server for server in servers if server.name == name), None)


def proxy_for(upstream: str, *packs: str, mode: str = "reflective", options: Sequence[str] = ()) -> Server:
    """Describe `corrigible proxy` in front of this upstream, with these additional options."""
    scheme = "https" if "--tls-cert" in options else "http"

    def command(port: int) -> Command:
        code = "import sys; from corrigible.proxy.cli import main; sys.exit(main())"
        arguments = ["--upstream", upstream, "--listen", f"{HOST}:{port}", "--mode", mode, *options]
        for pack in packs:
            arguments += ["--pack", pack]
        return Command(python_arguments(code, "proxy", *arguments, executable=sys.executable))

    return Server(
        name="proxy", title="corrigible proxy", deviation="adds recovery_feedback", command=command, scheme=scheme
    )
