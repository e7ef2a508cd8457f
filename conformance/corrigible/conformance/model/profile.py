"""The profiles and roles of the contract."""

from __future__ import annotations

from typing import Final, Literal

PROFILES: Final = (
    "http-json",
    "problem+json",
    "grpc",
    "kubernetes-api",
    "kubernetes-webhook",
    "graphql",
    "mcp",
    "recipe",
)
ROLES: Final = ("producer", "proxy", "consumer", "pack")
Role = Literal["producer", "proxy", "consumer", "pack"]
