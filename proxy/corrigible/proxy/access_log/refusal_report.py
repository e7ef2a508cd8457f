"""What was refused, by operation, and what would have mended it: for the author of the program that called.

Where exchanges are judged by the description: in which respects they differ from it, for those who write it.

Knows: entries. Does not know: values that were sent. Names of members and the server's statuses are in it, and no more.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from corrigible.schema.document import is_index, pointer_parts
from corrigible.schema.printable import printable

from .entry import Entry, Verdict, redact_target

if TYPE_CHECKING:
    from .drift import DriftWatch

Rows = Sequence[Mapping[str, Any]]

_MOST: Final = 500
"""Operations, and complaints of each: more are counted together."""
_OTHER: Final = "others"
_TYPES: Final[Mapping[type, str]] = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
_SAID: Final = {
    Verdict.WAIT: "is to be sent again later",
    Verdict.FINAL: "cannot be mended by the caller",
    Verdict.UNCHANGED: "got no correction",
}


@dataclass(slots=True)
class _Operation:
    calls: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    complaints: Counter[str] = field(default_factory=Counter)
    """Refused calls of which each is true."""


class RefusalReport:
    """Counts what programs get wrong, and writes it when they have ended."""

    def __init__(self, path: Path, drift: DriftWatch | None = None) -> None:
        """Make the file. Its suffix says the form. Raises ValueError for one that is none, and OSError."""
        self._drift = drift
        if path.suffix not in _FORMS:
            raise ValueError(f"{path}: expected the suffix {', '.join(_FORMS)}")
        path.touch()
        self._path = path
        self._operations: dict[str, _Operation] = {}

    def write(self, entry: Entry) -> None:
        """Count an exchange, if it is a refusal."""
        if entry.verdict in (Verdict.SUCCESS, Verdict.GONE, Verdict.FAILED):
            return
        name = entry.operation or f"{entry.method} {redact_target(entry.path.partition('?')[0])}"
        name = printable(f"{entry.api}: {name}" if entry.api else name)
        if name not in self._operations and len(self._operations) >= _MOST:
            name = _OTHER
        found = self._operations.setdefault(name, _Operation())
        found.calls += 1
        found.statuses[entry.code or str(entry.status)] += 1
        for complaint in dict.fromkeys(complaints(entry)):
            known = complaint in found.complaints or len(found.complaints) < _MOST
            found.complaints[printable(complaint) if known else _OTHER] += 1

    def close(self) -> None:
        """Write the file. Raises OSError."""
        drift = None if self._drift is None else self._drift.rows()
        self._path.write_text(_FORMS[self._path.suffix](self._rows(), drift), "utf-8")

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return [
            {
                "operation": name,
                "refused": one.calls,
                "statuses": dict(one.statuses.most_common()),
                "complaints": [{"text": text, "calls": calls} for text, calls in one.complaints.most_common()],
            }
            for name, one in sorted(self._operations.items(), key=lambda item: -item[1].calls)
        ]


def complaints(entry: Entry) -> Iterator[str]:
    """Yield what is wrong with a call, each as a sentence without its end: "`amount` is sent as text"."""
    suggestions: Sequence[Mapping[str, Any]] = (entry.feedback or {}).get("suggestions") or ()
    if entry.verdict in _SAID or not suggestions:
        yield f"The call {_SAID.get(entry.verdict, _SAID[Verdict.UNCHANGED])}"
        return
    first = suggestions[0]
    sent = {one["path"]: one.get("value") for one in first.get("patch") or () if one.get("op") == "test"}
    for one in first.get("patch") or ():
        place = f"`{_member(str(one.get('path')))}`"
        match one.get("op"):
            case "remove":
                yield f"{place} is sent, and the API does not take it"
            case "move":
                yield f"`{_member(str(one.get('from')))}` is sent, and the API knows it as {place}"
            case "add":
                yield f"{place} is missing"
            case "replace":
                before, after = (_TYPES.get(type(value)) for value in (sent.get(one["path"]), one.get("value")))
                is_typed = one["path"] in sent and before != after
                yield f"{place} is sent as {before}" if is_typed else f"{place} has a value that the API does not take"
    for one in first.get("placeholders") or ():
        yield f"`{_member(str(one.get('pointer') or one.get('path')))}` needs another value"


def _member(pointer: str) -> str:
    """Return the place as programs write it, for all elements of a list: `items[].amount`."""
    parts = (pointer_parts(pointer) or ())[1:] or ("request",)
    return "".join("[]" if is_index(part) or part == "-" else f".{part}" for part in parts).lstrip(".")


def _json(rows: Rows, drift: Rows | None) -> str:
    report = {"operations": rows} | ({} if drift is None else {"drift": drift})
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def _issues(rows: Rows, drift: Rows | None) -> str:
    """Return an issue for each complaint, the most frequent operations first."""
    lines = []
    for row in rows:
        for one in row["complaints"]:
            lines.append(f"## {one['text']} in {_calls(one['calls'])} of {row['operation']}\n")
            statuses = ", ".join(f"{calls} x {status}" for status, calls in row["statuses"].items())
            lines.append(f"Refused of this operation: {_calls(row['refused'])} ({statuses}).\n")
    for row in drift or ():
        for one in row["complaints"]:
            lines.append(f"## {one['text']} in {_calls(one['calls'])} of {row['operation']}\n")
            lines.append(f"Judged by the description: {_calls(row['judged'])} of this operation.\n")
    return "\n".join(lines) or "No call was refused.\n"


def _calls(number: int) -> str:
    return f"{number:,} call{'' if number == 1 else 's'}"


def _page(rows: Rows, drift: Rows | None) -> str:
    refused = _lines(rows, "refused") or '<tr><td colspan="3">No call was refused.</td></tr>'
    judged = "" if drift is None else _DRIFT.replace("<!-- rows -->", _lines(drift, "judged"))
    return _PAGE.replace("<!-- rows -->", refused).replace("</html>", f"{judged}</html>")


def _lines(rows: Rows, number: str) -> str:
    return "".join(
        f"<tr><td>{escape(row['operation'])}</td><td>{row[number]:,}</td><td><ul>"
        + "".join(f"<li>{escape(one['text'])}: {_calls(one['calls'])}</li>" for one in row["complaints"])
        + "</ul></td></tr>"
        for row in rows
    )


_PAGE: Final = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Refused calls</title>
<style>
  :root { color-scheme: light dark }
  body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
  td, th { border-top: 1px solid; padding: .5rem; text-align: left; vertical-align: top }
  ul { margin: 0; padding-left: 1rem }
</style>
<h1>Refused calls</h1>
<table>
<tr><th>Operation</th><th>Refused</th><th>What is wrong with the calls</th></tr>
<!-- rows -->
</table>
</html>
"""
_DRIFT: Final = """\
<h1>Not as described</h1>
<table>
<tr><th>Operation</th><th>Judged</th><th>What differs from the description</th></tr>
<!-- rows -->
</table>
"""
_FORMS: Final[Mapping[str, Callable[[Rows, Rows | None], str]]] = {
    ".html": _page,
    ".json": _json,
    ".md": _issues,
}
