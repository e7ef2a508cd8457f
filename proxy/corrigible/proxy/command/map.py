"""`corrigible map`: operations that can take the place of another one."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from .options import Subparsers

_MODULES: Final = ("index", "build", "plan", "evaluate", "annotate")
"""Of `corrigible.proxy.map_tools`, each of which adds its verbs."""


def add(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "map",
        description="Find operations that do the same, in other APIs or versions, and the counterpart of each field.",
    )
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for name in _MODULES:
        import_module(f"corrigible.proxy.map_tools.{name}").add(verbs)
