"""Local Stripe-compatible servers of third parties, each at a pinned version."""

from __future__ import annotations

from corrigible.adapters.sandbox.runtimes import find_node, npm_folder, python_arguments, venv_python
from corrigible.adapters.sandbox.server import HOST, Command, Server

_LOCALSTRIPE = (
    "import sys; from aiohttp import web; from localstripe.server import app; "
    f"web.run_app(app, host='{HOST}', port=int(sys.argv[1]), print=None)"
)


def _stateful_mock(port: int) -> Command:
    folder = npm_folder("stripe-stateful-mock")
    script = f"require('stripe-stateful-mock').createExpressApp().listen({port}, '{HOST}')"
    return Command(find_node().arguments("--eval", script), folder)


def _emulate(port: int) -> Command:
    folder = npm_folder("emulate")
    start = ["start", "--host", HOST, "--service", "stripe", "--port", str(port)]
    return Command(find_node().arguments("node_modules/emulate/dist/index.js", *start), folder)


def _localstripe(port: int) -> Command:
    python = venv_python("localstripe")  # GPL: a program of its own that we start, never a dependency
    return Command(python_arguments(_LOCALSTRIPE, str(port), executable=python))


SERVERS = (
    Server(
        name="stateful-mock",
        title="stripe-stateful-mock 0.0.16",
        deviation="implements API version 2020-08-27, has no PaymentIntents and accepts unknown parameters",
        command=_stateful_mock,
    ),
    Server(
        name="localstripe",
        title="localstripe 1.15.10",
        deviation="mostly refuses with a bare `Bad request` and does not check refund amounts",
        command=_localstripe,
    ),
    Server(
        name="emulate",
        title="emulate 0.12.2",
        deviation="has no refunds, no POST /v1/charges, no declines and no idempotency",
        command=_emulate,
    ),
)
"""The default first."""
