"""Servers that tests share: an environment pool that no run closes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from corrigible.conformance.lift.environment import environments
from corrigible.conformance.lift.run import EnvironmentPool


@pytest.fixture(scope="session")
def recipe_pool() -> Iterator[EnvironmentPool]:
    """The recipe service, which keeps no state, and the proxy before it: started once."""
    pool = EnvironmentPool(environments()["recipe"], "recipe")
    try:
        yield pool
    finally:
        pool.close()
