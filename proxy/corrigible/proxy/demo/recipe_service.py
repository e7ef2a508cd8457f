"""The recipe API with recovery feedback: the middleware is all that a service needs to adopt the contract.

The service answers with its diagnosis and knows nothing of feedback; the middleware adds the rest.
"""

from __future__ import annotations

from corrigible.adapters.demo.recipe import service
from corrigible.proxy.asgi import ReflectiveMiddleware

app = ReflectiveMiddleware(service.app, packs=["recipe"], mode="verbose")


def serve(host: str = "127.0.0.1", port: int = 8090) -> None:
    """Run until interrupted. Needs the extra `sandboxes`."""
    import uvicorn

    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False)
