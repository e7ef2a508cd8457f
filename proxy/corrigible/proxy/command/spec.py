"""`corrigible spec`: what an API's description lets the proxy do. `corrigible description` and `corrigible descriptors`
print those that come with this project.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

import yaml

from .options import Subparsers
from .spec_option import spec_files

if TYPE_CHECKING:
    from corrigible.adapters.openapi.description import Description
    from corrigible.adapters.openapi.report import OperationReport, Part

_EXAMPLES: Final = ("acme", "recipe")
"""The project's own examples. Other APIs publish their own description."""
_WIDTH: Final = 120
"""Columns where the output is no terminal."""
_MOST_NAMES: Final = 60
"""Of one place of an operation: `--json` lists all."""


def add(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "spec",
        description="Work on the OpenAPI description of an API.",
    )
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    check = verbs.add_parser(
        "check",
        help="list which parts of each operation the proxy can check",
        description="List for each operation which parts of a request the proxy can check by an OpenAPI description, "
        "which it cannot, and which paths a look-up may read. Exit status 1: the description has formal mistakes.",
    )
    check.add_argument("file", metavar="FILE", help="OpenAPI 3 or Swagger 2.0, JSON or YAML; or a URL")
    check.add_argument("--json", action="store_true", help="print one JSON object per operation and line")
    check.set_defaults(run=_check)


def add_description(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "description", description="Print the OpenAPI description of an example API of this project, as JSON."
    )
    parser.add_argument("api", choices=_EXAMPLES)
    parser.set_defaults(run=_print_description)


def add_descriptors(commands: Subparsers) -> None:
    from corrigible.adapters.registry import ADAPTERS, adapter_for

    described = {adapter.name: adapter.descriptors for adapter in map(adapter_for, ADAPTERS) if adapter.descriptors}

    def print_descriptors(args: argparse.Namespace) -> int:
        sys.stdout.buffer.write(described[args.api]())
        return 0

    parser = commands.add_parser(
        "descriptors",
        description="Print the FileDescriptorSet of a gRPC API, in the format that `grpcurl -protoset` reads.",
    )
    parser.add_argument("api", choices=sorted(described))
    parser.set_defaults(run=print_descriptors)


def _print_description(args: argparse.Namespace) -> int:
    text = files(f"corrigible.adapters.demo.{args.api}").joinpath("openapi.yaml").read_text("utf-8")
    print(json.dumps(yaml.safe_load(text), ensure_ascii=False))
    return 0


def _check(args: argparse.Namespace) -> int:
    from corrigible.adapters.openapi.load import load
    from corrigible.adapters.openapi.report import report

    (file,) = spec_files([args.file])
    description = load(file, check=True)
    reports = list(report(description))
    if args.json:
        for one in reports:
            print(json.dumps(_document(one), ensure_ascii=False))
    else:
        _print(description, description.operations.base_paths, reports)
    for problem in description.problems:
        print(problem, file=sys.stderr)
    return 1 if description.problems else 0


def _document(one: OperationReport) -> dict[str, object]:
    return {
        "operation": one.operation,
        "id": one.name,
        "judged": [{"in": part.place, "name": part.name} for part in one.parts if not part.reason],
        "not_judged": [{"in": part.place, "name": part.name, "why": part.reason} for part in one.parts if part.reason],
        "lookups": list(one.lookups),
        "refusals": {status: list(codes) for status, codes in one.refusals.items()},
    }


def _print(description: Description, bases: Sequence[str], reports: Sequence[OperationReport]) -> None:
    title = " ".join(filter(None, (description.title, description.version))) or "no title"
    converted = f", converted from {description.converted}" if description.converted else ""
    print(f"{title}{converted}: {len(reports)} operations")
    print(f"Paths as they are described, and below {_below(bases)}." if any(bases) else _NO_BASE)
    rows = [_HEADINGS]
    for one in reports:
        judged, not_judged = _listed(one.parts, judged=True), _listed(one.parts, judged=False)
        rows.append((one.operation, judged, not_judged, ", ".join(one.lookups), ", ".join(one.refusals)))
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH
    print(*_table(rows, room), sep="\n")
    parts = [part for one in reports for part in one.parts]
    count = sum(not part.reason for part in parts)
    print(f"{count} of {len(parts)} parts are judged. Paths and methods are, whatever is described.")


def _table(rows: Sequence[Sequence[str]], room: int) -> Iterator[str]:
    """Yield rows in columns: the widest columns are wrapped where the room is too small."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * len(widths) > max(room, 12 * len(widths)):
        widths[widths.index(max(widths))] -= 1
    for row in rows:
        cells = [textwrap.wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in zip_longest(*cells, fillvalue=""):
            yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


_HEADINGS: Final = ("Operation", "Judged", "Not judged", "Look-ups", "Refusals")
_NO_BASE: Final = "Paths as they are described: no server has a base path."


def _below(bases: Sequence[str]) -> str:
    return ", ".join(base for base in bases if base)


def _listed(parts: Sequence[Part], *, judged: bool) -> str:
    """Return the parts of one kind by their place: `query limit, tags; body application/json`."""
    places: dict[str, list[str]] = {}
    for part in parts:
        if bool(part.reason) is not judged:
            places.setdefault(part.place, []).append(part.name if judged else f"{part.name} ({part.reason})")
    return "; ".join(f"{place} {_short(names)}" for place, names in places.items())


def _short(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
