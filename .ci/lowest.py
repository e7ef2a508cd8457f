"""Print pip constraints with the lowest versions that pyproject.toml allows: `>=` becomes `==`."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path


def lowest(pyproject: str, extra: str = "all") -> Iterator[str]:
    """Yield a pin for each requirement of the project and of what an extra brings that has a lower bound."""
    project = tomllib.loads(pyproject)["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    for requirement in (*project["dependencies"], *_requirements(extras, extra, project["name"])):
        bound = re.match(r"([\w.-]+)\s*[>=]=\s*([\w.]+)", requirement)
        if bound is not None:
            yield f"{bound[1]}=={bound[2]}"


def _requirements(extras: Mapping[str, Sequence[str]], extra: str, project: str) -> Iterator[str]:
    """Yield the requirements of an extra, and of the project's own extras that it names."""
    for requirement in extras[extra]:
        own = re.match(rf"{project}\[([\w,\s-]+)\]", requirement)
        if own is None:
            yield requirement
        else:
            for name in own[1].split(","):
                yield from _requirements(extras, name.strip(), project)


if __name__ == "__main__":
    pins = dict.fromkeys(lowest(Path(sys.argv[1]).read_text("utf-8")))
    print("\n".join(pins))
