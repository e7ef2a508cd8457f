"""The adapter of Acme billing. Its errors have the common shape, and need no format."""

from __future__ import annotations

import functools
from importlib.resources import as_file, files
from typing import Final

from corrigible.adapters.base import Adapter
from corrigible.adapters.formats.generic import GenericFormat
from corrigible.adapters.openapi.description import Description
from corrigible.adapters.openapi.load import load
from corrigible.adapters.operation import Operations

OPERATIONS: Final = Operations.load(files(__package__).joinpath("operations.yaml").read_text(encoding="utf-8"))


@functools.cache
def description() -> Description:
    """Read the service's description of its requests."""
    with as_file(files(__package__).joinpath("openapi.yaml")) as path:
        return load(path)


ADAPTER: Final = Adapter(name="acme", formats=(GenericFormat(),), operations=OPERATIONS, description=description)
