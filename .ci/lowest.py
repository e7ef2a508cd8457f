"""Print pip constraints with the lowest versions that pyproject.toml allows: `>=` becomes `==`."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path


def lowest(pyproject: str) -> Iterator[str]:
    """Yield a pin for each requirement of the project and its extras that has a lower bound."""
    project = tomllib.loads(pyproject)["project"]
    for requirement in (
        *project["dependencies"],
        *(r for extra in project["optional-dependencies"].values() for r in extra),
    ):
        bound = re.match(r"([\w.-]+)\s*[>=]=\s*([\w.]+)", requirement)
        if bound is not None:
            yield f"{bound[1]}=={bound[2]}"


if __name__ == "__main__":
    pins = dict.fromkeys(lowest(Path(sys.argv[1]).read_text("utf-8")))
    print("\n".join(pins))
