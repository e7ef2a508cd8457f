"""The figures of docs/servers.md and README.md: written by `make judge` and `make learn`, and held by tests.

Knows: recorded servers, the form of the pages. Does not know: how figures are found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from .case import FOLDER, Figures, Stranger

PAGE: Final = FOLDER.parents[1] / "docs/servers.md"
README: Final = FOLDER.parents[1] / "README.md"
_KINDS: Final = (("HTTP servers", False), ("gRPC servers", True))
_SHARES: Final = r"(\d+) of (\d+), (\d+) of (\d+)"
_ROW: Final = re.compile(
    rf"\| (.+) \| {_SHARES} \| {_SHARES} \| (\d+) \| (\d+) \| ([^|]+) \| (\d+)(?: \+ (\d+) flagged)? \|"
)
_TABLE_OF_SERVERS: Final = "| server |"
_TABLE_OF_CONFIDENCE: Final = "| said |"


def title(server: Stranger) -> str:
    return f"{server.server} {server.version} ({server.framework}; {server.language})"


def row(server: Stranger, left_out: Figures) -> str:
    """Return the row of a server on the page."""
    return _row(title(server), server.first_run, left_out)


def _row(name: str, first: Figures, left_out: Figures) -> str:
    cells = (name, first.right, left_out.right, left_out.confirmed, left_out.asked_wrong, first.harms, left_out.harms)
    return f"| {' | '.join(map(str, cells))} |"


def _total(figures: Sequence[Figures]) -> Figures:
    return Figures(**{name: sum(getattr(one, name) for one in figures) for name in Figures.model_fields})


def sums(servers: Sequence[Stranger], left_out: Mapping[str, Figures]) -> Iterator[tuple[str, Figures, Figures]]:
    """Yield of each kind of server its name, the first runs together, and all servers left out together."""
    for kind, is_rpc in _KINDS:
        chosen = [one for one in servers if one.is_rpc is is_rpc]
        first, now = _total([one.first_run for one in chosen]), _total([left_out[title(one)] for one in chosen])
        yield f"{len(chosen)} {kind}, {now.refusals} refusals", first, now


def written(page: str, servers: Sequence[Stranger], left_out: Mapping[str, Figures]) -> str:
    """Return docs/servers.md with the figures of servers left out, by title. New servers come last."""
    rows = {title(one): row(one, left_out[title(one)]) for one in servers}
    order = [found[1] for line in page.splitlines() if (found := _ROW.fullmatch(line)) and found[1] in rows]
    table = [rows[name] for name in dict.fromkeys([*order, *rows])]
    totals = [_row(*one) for one in sums(servers, left_out)]
    return with_rows(with_rows(page, _TABLE_OF_SERVERS, table), "| servers |", totals)


def written_readme(text: str, servers: Sequence[Stranger], left_out: Mapping[str, Figures]) -> str:
    """Return README.md with the sums of all servers left out."""
    rows = []
    for name, _, now in sums(servers, left_out):
        asked = f"{now.asked_wrong} of {now.refusals}"
        shares = (f"{now.repaired} of {now.repairable}", f"{now.answered} of {now.others}", asked, now.harms)
        rows.append(f"| {name} | {' | '.join(shares)} |")
    return with_rows(text, "| servers |", rows)


def with_rows(text: str, head: str, rows: Sequence[str]) -> str:
    """Return a text with other rows in the table whose head starts so."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(head)) + 2
    end = next((number for number in range(start, len(lines)) if not lines[number].startswith("|")), len(lines))
    return "\n".join([*lines[:start], *rows, *lines[end:]]) + "\n"


def with_reliability(page: str, rows: Sequence[Mapping[str, float]]) -> str:
    """Return docs/servers.md with how often what was said of a place was right."""
    cells = (
        (f"{one['from']:.2f} to {one['to']:.2f}", one["errors"], f"{one['right'] / one['errors']:.2f}") for one in rows
    )
    return with_rows(page, _TABLE_OF_CONFIDENCE, [f"| {' | '.join(map(str, one))} |" for one in cells])


def read(page: str) -> dict[str, Figures]:
    """Return the figures that a page has of servers left out, by title."""
    found: dict[str, Figures] = {}
    for line in page.splitlines():
        if (cells := _ROW.fullmatch(line)) is not None:
            repaired, repairable, answered, others, confirmed, asked = map(int, cells.groups()[5:11])
            found[cells[1]] = Figures(
                refusals=repairable + others,
                repairable=repairable,
                repaired=repaired,
                others=others,
                answered=answered,
                confirmed=confirmed,
                asked_wrong=asked,
                harm=int(cells[13]),
                flagged_harm=int(cells[14] or 0),
            )
    return found
