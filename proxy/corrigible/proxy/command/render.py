"""`corrigible pack render`: a pack, its rules, and the answer to each case in every mode, as JSON lines."""

from __future__ import annotations

import argparse
import sys

import orjson

from corrigible.proxy.pack_tools.export import render
from corrigible.rules.pack.load import built_in


def add(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = verbs.add_parser(
        "render",
        help="print packs, rules, and the answer to each case, as JSON lines",
        description="Print packs, their rules, and the answer to each case in every mode, as JSON lines.",
    )
    parser.add_argument("packs", nargs="*", metavar="NAME_OR_PATH", help="default: all built-in packs")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    for name in args.packs or built_in():
        for document in render(name):
            sys.stdout.write(orjson.dumps(document).decode() + "\n")
    return 0
