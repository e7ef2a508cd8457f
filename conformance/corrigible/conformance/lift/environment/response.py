"""A response of the API, as every part of an episode passes it on: the client, the arm, the agent, the score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from corrigible.schema.exchange import Json


@dataclass(frozen=True, slots=True)
class Response:
    """What came back. For gRPC the status is the code, and the body {code, message, details} of an error."""

    status: int
    body: Json
    """Decoded JSON, or text where it is not JSON."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case. An agent sees those that a client acts on: retry-after, warning, link."""
    succeeded: bool = False
