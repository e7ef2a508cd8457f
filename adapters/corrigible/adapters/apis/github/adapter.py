"""The GitHub adapter."""

from __future__ import annotations

import functools
from importlib.resources import files

from corrigible.adapters.base import Adapter
from corrigible.adapters.openapi.compiled_file import CompiledFile, decompress
from corrigible.adapters.openapi.description import Description
from corrigible.adapters.operation import Operations
from corrigible.rules.schema_repair.schema_violation import SchemaViolation
from corrigible.schema.exchange import Request

from .format import GATEWAY, GITHUB

ENTERPRISE = "/api/v3"
"""The base path of GitHub Enterprise Server."""


class GitHubDescription(Description):
    """A description of both: github.com and Enterprise Servers are other hosts, so no path is suggested for another."""

    def written_paths(self, method: str, path: str) -> None:
        """Return nothing: where it is mounted is known."""

    def nearest_operation(self, request: Request) -> SchemaViolation | None:
        """Return what is near. What is right below the base path is near to nothing."""
        near = super().nearest_operation(request)
        is_top = near is not None and near.keyword == "around" and f"{ENTERPRISE}/" in near.schema["enum"]
        return None if is_top else near


def operations() -> Operations:
    """Return every operation, under its own path and under that of an Enterprise Server."""
    plain = Operations.load(files(__package__).joinpath("operations.yaml").read_text("utf-8"))
    return plain.merged_with(plain.with_prefix(ENTERPRISE))


@functools.cache
def description() -> GitHubDescription:
    """Read GitHub's description; `corrigible.adapters.openapi.generate` makes `description.bin`."""
    data = decompress(files(__package__).joinpath("description.bin").read_bytes())
    return GitHubDescription(CompiledFile(data), ENTERPRISE)


ADAPTER = Adapter(
    name="github",
    formats=(GITHUB, GATEWAY),  # the second reads the errors of validating gateways in front of it
    operations=operations(),
    description=description,
)
