"""The GitHub adapter."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from corrigible.adapters.base import Adapter
from corrigible.adapters.openapi.description import Description, read
from corrigible.adapters.operation import Operations, Vocabulary
from corrigible.rules.schema_repair.schema_violation import DeclaredPlace, SchemaViolation
from corrigible.schema.exchange import Json, Request

from .format import GATEWAY, GITHUB

ENTERPRISE = "/api/v3"
"""The base path of GitHub Enterprise Server."""


@dataclass(frozen=True, slots=True)
class GitHubDescription:
    """A description that does not mind where the API begins."""

    plain: Description
    operations: Operations

    def schema_violations(self, request: Request, operation: str, at: str = "") -> Sequence[SchemaViolation]:
        base, path = _parted(request.path)
        if not base:
            return self.plain.schema_violations(request, operation, at)
        violations = self.plain.schema_violations(replace(request, path=path), operation, at)
        return [
            _under(violation, base, request.path) if violation.keyword == "path" else violation
            for violation in violations
        ]

    def declares(self, operation: str, name: str) -> bool:
        return self.plain.declares(operation, name)

    def nearest_operation(self, method: str, path: str) -> SchemaViolation | None:
        base, plain = _parted(path)
        violation = self.plain.nearest_operation(method, plain)
        return (
            _under(violation, base, path)
            if violation is not None and base and violation.keyword == "path"
            else violation
        )

    def body_schemas(self, operation: str) -> Mapping[str, Json]:
        return self.plain.body_schemas(operation)

    def produced(self, operation: str) -> Sequence[str]:
        return self.plain.produced(operation)

    def declared_place(self, request: Request, operation: str, pointer: str) -> DeclaredPlace:
        return self.plain.declared_place(request, operation, pointer)

    def misspellings(self, request: Request, operation: str) -> Sequence[SchemaViolation]:
        return self.plain.misspellings(request, operation)

    def misplaced_members(self, request: Request, operation: str) -> Sequence[SchemaViolation]:
        return self.plain.misplaced_members(request, operation)

    def misspelt_words(self, request: Request, message: str) -> Sequence[SchemaViolation]:
        return self.plain.misspelt_words(request, message)

    def written_paths(self, method: str, path: str) -> None:
        """Return nothing: github.com and Enterprise Servers are other hosts."""

    def vocabulary(self, operation: str, body: Json = None) -> Vocabulary:
        return self.plain.vocabulary(operation)

    def facts(self, operation: str) -> Json:
        return self.plain.facts(operation)

    def refusals(self, operation: str) -> Mapping[str, Sequence[str]]:
        return self.plain.refusals(operation)


def _under(wrong: SchemaViolation, base: str, path: str) -> SchemaViolation:
    schema: dict[str, Any] = {**wrong.schema, "enum": [base + allowed_path for allowed_path in wrong.schema["enum"]]}
    return wrong._replace(schema=schema, value=path)


def _parted(path: str) -> tuple[str, str]:
    if path.startswith(ENTERPRISE + "/"):
        return ENTERPRISE, path[len(ENTERPRISE) :]
    return "", path


def operations() -> Operations:
    """Return every operation, under its own path and under that of an Enterprise Server."""
    plain = Operations.load(files(__package__).joinpath("operations.yaml").read_text("utf-8"))
    return plain.merged_with(plain.with_prefix(ENTERPRISE))


@functools.cache
def description() -> GitHubDescription:
    """Read GitHub's description; `corrigible.adapters.openapi.generate` makes `description.bin`."""
    plain = read(files(__package__).joinpath("description.bin").read_bytes())
    return GitHubDescription(plain, plain.operations.merged_with(plain.operations.with_prefix(ENTERPRISE)))


ADAPTER = Adapter(
    name="github",
    formats=(GITHUB, GATEWAY),  # the second reads the errors of validating gateways in front of it
    operations=operations(),
    description=description,
)
