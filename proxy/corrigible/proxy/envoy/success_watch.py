"""Has Envoy look for the successes of callers with a loop, while there may be any: else none is looked at.

Knows: the runtime of Envoy's admin interface. Does not know: loops.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Final

import httpx

from .bootstrap import WATCHED

_AGAIN: Final = 60.0
"""Seconds after which Envoy is told again: whoever ends the watching may have done so."""


class SuccessWatch:
    """Tells one Envoy."""

    def __init__(self, admin: Path) -> None:
        """`admin` is the socket of its admin interface."""
        transport = httpx.AsyncHTTPTransport(uds=str(admin))
        self._client = httpx.AsyncClient(transport=transport, base_url="http://envoy", timeout=1.0)
        self._told: float | None = None

    async def begin(self) -> None:
        """Have successes watched from now on."""
        now = asyncio.get_running_loop().time()
        if self._told is not None and now - self._told < _AGAIN:
            return
        with contextlib.suppress(httpx.HTTPError):  # the loop ends later then
            await self._client.post("/runtime_modify", params={WATCHED: "100"})
            self._told = now

    async def close(self) -> None:
        await self._client.aclose()
