"""Compile an OpenAPI description into a file that an adapter ships.

    python -m corrigible.adapters.openapi.generate openapi.json description.bin

What is kept is the request side: operations, parameters, bodies, the statuses of refusals, and the media types of
successes; no prose, no schemas of answers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import orjson

from corrigible.rules.errors import AuthoringError

from .compiled_file import compress, confine
from .compiler import compile_description


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compile an OpenAPI description into a file that an adapter ships.")
    parser.add_argument("description", type=Path, metavar="IN")
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--as-is", action="store_true", help="not compressed; problems as JSON, for the cache")
    parser.add_argument("--check", action="store_true", help="keep what is formally wrong with it")
    parser.add_argument("--while-open", type=int, metavar="FD", help="end as soon as nobody holds the other end")
    args = parser.parse_args(arguments)
    if args.while_open is not None:
        confine(args.while_open)
    try:
        data = compile_description(args.description, check=args.check)
    except AuthoringError as error:
        if args.as_is:
            report = {"path": str(error.place.path), "line": error.place.line, "problem": error.problem}
            sys.stdout.buffer.write(orjson.dumps(report))
        else:
            print(error, file=sys.stderr)
        return 1
    data = data if args.as_is else compress(data)
    args.out.write_bytes(data)
    if not args.as_is:
        print(f"{args.out}: {len(data):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
