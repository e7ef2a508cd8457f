"""`corrigible description`: what an API that ships with Corrigible says of itself, for clients that read OpenAPI."""

from __future__ import annotations

import argparse
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import yaml

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

_KNOWN: Final = ("acme", "recipe")
"""The project's own examples. What others made has a description of its own, from them."""


def add(subparsers: Subparsers) -> None:
    """Add the command's options."""
    parser = subparsers.add_parser(
        "description",
        help="print the OpenAPI description of a sandbox of ours",
        description="Print the OpenAPI description of a sandbox that is an example of this project, as JSON.",
    )
    parser.add_argument("api", choices=_KNOWN)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write it to standard output."""
    text = files(f"corrigible.adapters.demo.{arguments.api}").joinpath("openapi.yaml").read_text("utf-8")
    print(json.dumps(yaml.safe_load(text), ensure_ascii=False))
    return 0
