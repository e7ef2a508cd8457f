"""Each overlay, rendered once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests._support.deployment import Rendered, render

Rendering = Callable[..., Rendered]


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Rendering:
    known: dict[tuple[str, ...], Rendered] = {}

    def get(overlay: str, *components: str) -> Rendered:
        key = (overlay, *components)
        if key not in known:
            known[key] = render(overlay, tmp_path_factory.mktemp(overlay), components)
        return known[key]

    return get
