"""The size of the house: lines and modules of each part, held by `tests/house.toml`. It gets smaller, and stays so.

`python -m tests.house` shows the figures, `--shrink` writes them down where a part got smaller, `--begin` as they are.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
FILE: Final = Path(__file__).with_name("house.toml")
SOURCE_ROOT: Final = {
    **dict.fromkeys(("schema", "client", "model"), "protos"),
    **{part: part for part in ("rules", "adapters", "proxy", "conformance")},
}
"""Where each part of the namespace is."""
_PARTS: Final = (
    *("protos/schema", "protos/client", "protos/model", "rules", "rules/language", "rules/schema_repair"),
    "rules/wordings",
    *(
        "adapters",
        "adapters/formats",
        "adapters/graphql",
        "adapters/mapping",
        "adapters/openapi",
        "adapters/reader",
        "proxy",
        "proxy/core",
        "proxy/envoy",
    ),
    *("proxy/mitm", "proxy/pack_tools", "conformance", "conformance/checks", "conformance/lift", "tests"),
)
"""`rules` is what of rules stands in no part of its own."""
_HEAD: Final = """\
# Lines and modules of each part, generated ones left out: a test fails where a part has more than `lines` or `modules`.
# A change that needs more raises them and says why in `reason`, which has to stand where they are above those of
# `start`. `python -m tests.house --shrink` writes the figures down after a change that took away.
"""


class Budget(NamedTuple):
    lines: int
    modules: int
    start_lines: int
    start_modules: int
    reason: str = ""

    @property
    def is_raised(self) -> bool:
        return self.lines > self.start_lines or self.modules > self.start_modules


def _read() -> dict[str, Budget]:
    parts = tomllib.loads(FILE.read_text("utf-8")).get("part", {}) if FILE.is_file() else {}
    return {
        name: Budget(one["lines"], one["modules"], one["start"][0], one["start"][1], one["reason"])
        for name, one in parts.items()
    }


BUDGETS: Final = _read()


def figures() -> dict[str, tuple[int, int]]:
    """Return the lines and the modules of each part."""
    counted = dict.fromkeys(_PARTS, (0, 0))
    for root in sorted({*SOURCE_ROOT.values(), "tests"}):
        for path in (ROOT / root / ("corrigible" if root != "tests" else "")).rglob("*.py"):
            if "_pb2" not in path.name:
                inner = path.relative_to(ROOT).as_posix()
                inner = inner.replace(f"{root}/corrigible/{root}/", f"{root}/").replace("protos/corrigible/", "protos/")
                part = max((one for one in _PARTS if inner.startswith(f"{one}/")), key=len)
                lines, modules = counted[part]
                counted[part] = lines + path.read_bytes().count(b"\n"), modules + 1
    return counted


def over_budget() -> list[str]:
    """Return what is wrong with each part that has more than its budget."""
    return [
        f"{part} has {lines:,} lines in {modules} modules, {budget.lines:,} in {budget.modules} are allowed: take as "
        f"much away, or raise them in tests/house.toml with a reason"
        for part, (lines, modules) in figures().items()
        if lines > (budget := BUDGETS[part]).lines or modules > budget.modules
    ]


def shrunk(budgets: Mapping[str, Budget], now: Mapping[str, tuple[int, int]]) -> dict[str, Budget]:
    """Return the budgets written down to the present figures; a reason goes with what it gave a reason for."""
    out = {}
    for part, old in budgets.items():
        lines, modules = min(old.lines, now[part][0]), min(old.modules, now[part][1])
        new = Budget(lines, modules, min(old.start_lines, lines), min(old.start_modules, modules), old.reason)
        out[part] = new if new.is_raised else new._replace(reason="")
    return out


def _write(budgets: Mapping[str, Budget]) -> None:
    parts = (
        f'[part."{part}"]\nlines = {one.lines}\nmodules = {one.modules}\n'
        f"start = [{one.start_lines}, {one.start_modules}]\nreason = {json.dumps(one.reason)}\n"
        for part, one in budgets.items()
    )
    FILE.write_text("\n".join([_HEAD, *parts]), "utf-8")


def main(arguments: list[str]) -> None:
    now = figures()
    if arguments == ["--shrink"]:
        _write(shrunk(BUDGETS, now))
    elif arguments == ["--begin"]:
        _write({part: Budget(lines, modules, lines, modules) for part, (lines, modules) in now.items()})
    for part, (lines, modules) in now.items():
        print(f"{part:24} {lines:8,} lines {modules:5} modules")
    whole = [one for part, one in now.items() if part != "tests"]
    print(f"{'without tests':24} {sum(a for a, _ in whole):8,} lines {sum(b for _, b in whole):5} modules")


if __name__ == "__main__":
    main(sys.argv[1:])
