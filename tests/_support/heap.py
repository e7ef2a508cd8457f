"""The garbage collector leaves alone what lives as long as the run: modules, and fourteen thousand tests."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without it, then leave to it only what tests make."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
