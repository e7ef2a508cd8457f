"""What `make bench` measured, as data: `bench.json` in the folder where it runs, one section for each program."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path("bench.json")


class Goal(NamedTuple):
    """A ratio that a program has to reach: at least, or at most."""

    name: str
    measured: float
    bound: float
    at_least: bool = True

    @property
    def is_met(self) -> bool:
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound

    def line(self) -> str:
        wanted = f"{'>=' if self.at_least else '<='} {self.bound:g}"
        return f"{self.name:>44} {self.measured:>8.2f}   {wanted:>8}   {'met' if self.is_met else 'MISSED'}"


def record(section: str, data: dict[str, Any], goals: list[Goal]) -> None:
    """Put the results of one program into the file, and print how they stand to the goals."""
    try:
        known = json.loads(FILE.read_text("utf-8"))
    except (OSError, ValueError):
        known = {}
    known[section] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"system": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()},
        **data,
        "goals": [{**goal._asdict(), "met": goal.is_met} for goal in goals],
    }
    FILE.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
    if goals:
        print(f"\n{'goal':>44} {'measured':>8}")
    for goal in goals:
        print(goal.line())
    print(f"written to {FILE}: {section}")
