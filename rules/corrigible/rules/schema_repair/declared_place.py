"""What a description declares at one place of a request, whether or not anything is sent there."""

from __future__ import annotations

from typing import NamedTuple

from .json_schema import Schema


class DeclaredPlace(NamedTuple):
    """The schema of a place and what is declared around it."""

    schema: Schema
    """Self-contained; empty where the description does not declare the place."""
    siblings: tuple[str, ...] = ()
    """The names that are declared in the object around it, its own included."""
    parent_schema: Schema | None = None
    """The object around it, closed; `x-required` (nesting.REQUIRED) names the members that must be there."""
    outer_schema: Schema | None = None
    """The members that are declared one level above that object."""
