"""`corrigible map`: operations that can take the place of another one."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Final

VERBS: Final = ("index", "search", "build", "plan", "evaluate", "annotate")
"""Each is also the name of its module in `corrigible.proxy.map_tools`."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "map",
        help="find operations that do the same, and map their fields",
        description="Find operations that do the same, in other APIs or versions, and the counterpart of each field.",
    )
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for name in VERBS:
        import_module(f"corrigible.proxy.map_tools.{name}").add(verbs)
