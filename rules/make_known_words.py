"""Write the words that are known to be words: `python rules/make_known_words.py DICTIONARY`.

DICTIONARY has a word in each line: SCOWL, size 35, as in Debian's package wamerican-small. Added are the words of names
(members, parameters, paths) that the descriptions of servers in tests/strangers have: a name that is misspelt there
and taken for a word costs a confirmation.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corrigible.rules.safety.nearness import split_words
from corrigible.rules.safety.spelling import LONGEST

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "rules/corrigible/rules/safety/known_words.txt"
WORD = re.compile(rf"[a-z]{{2,{LONGEST}}}")


def names(part: Any) -> Iterator[str]:
    """Yield the names that a part of an OpenAPI description has."""
    match part:
        case dict():
            for key, inner in part.items():
                if key in ("properties", "paths") and isinstance(inner, dict):
                    yield from (name for one in inner for name in re.split(r"[/{}]", str(one)))
                if key == "name" and isinstance(inner, str) and "in" in part:
                    yield inner
                yield from names(inner)
        case list():
            for inner in part:
                yield from names(inner)


def main() -> int:
    known = {word for word in Path(sys.argv[1]).read_text("utf-8").split() if WORD.fullmatch(word)}
    for file in sorted((ROOT / "tests/strangers").glob("*/openapi.json")):
        found = {word for name in names(json.loads(file.read_text("utf-8"))) for word in split_words(name)}
        known |= {word for word in found if WORD.fullmatch(word)}
    header = [line for line in OUT.read_text("utf-8").splitlines() if line.startswith("#")] if OUT.exists() else []
    OUT.write_text("\n".join([*header, *sorted(known)]) + "\n", "utf-8")
    print(f"{len(known)} words")
    return 0


if __name__ == "__main__":
    sys.exit(main())
