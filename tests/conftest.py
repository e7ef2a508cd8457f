"""What every test may rely on: a sane namespace, and real servers that are started once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from corrigible.adapters.sandbox.server import Running

_ROOT = Path(__file__).resolve().parent.parent
# A stray corrigible/__init__.py hides the four other parts. Checked here since no ordinary test would get
# to run, and before anything of ours is imported: hence the imports inside the fixtures.
_STRAY = [
    str(path.relative_to(_ROOT))
    for area in ("proxy", "rules", "protos", "adapters", "conformance")
    if (path := _ROOT / area / "corrigible" / "__init__.py").exists()
]
if _STRAY:
    raise pytest.UsageError(f"must not exist, it hides the other parts of the namespace: {', '.join(_STRAY)}")


@pytest.fixture(scope="session")
def stripe_server() -> Iterator[Running]:
    """The default Stripe sandbox, fresh for this run of the tests and shared by them."""
    from corrigible.proxy.sandbox import SANDBOXES

    with SANDBOXES["stripe"][0].start() as running:
        yield running


@pytest.fixture(scope="session")
def stripe_proxy(stripe_server: Running) -> Iterator[Running]:
    """`corrigible proxy --pack stripe` in front of `stripe_server`."""
    from corrigible.proxy.sandbox import proxy_for

    with proxy_for(stripe_server.url, "stripe").start() as running:
        yield running


@pytest.fixture(scope="session")
def recipe_server() -> Iterator[Running]:
    """The recipe service."""
    from corrigible.proxy.sandbox import RECIPE

    with RECIPE.start() as running:
        yield running
