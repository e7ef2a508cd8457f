"""`corrigible description`: print the OpenAPI description of an example API of this project."""

from __future__ import annotations

import argparse
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import yaml

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_EXAMPLES: Final = ("acme", "recipe")
"""The project's own examples. Other APIs publish their own description."""


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "description",
        help="print the OpenAPI description of an example API",
        description="Print the OpenAPI description of an example API of this project, as JSON.",
    )
    parser.add_argument("api", choices=_EXAMPLES)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write it to standard output."""
    text = files(f"corrigible.adapters.demo.{arguments.api}").joinpath("openapi.yaml").read_text("utf-8")
    print(json.dumps(yaml.safe_load(text), ensure_ascii=False))
    return 0
