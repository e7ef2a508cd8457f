"""Check the wheel without extras: it reads feedback, brings nothing heavy, and says what the rest needs.

Run by the Python that has only the wheel, away from the checkout.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import distributions
from importlib.resources import files
from pathlib import Path

import corrigible.client
from corrigible.schema import Next, Request, apply

HEAVY = {
    *("cryptography", "google-re2", "grpcio", "jsonschema", "jsonschema-rs", "mitmproxy", "numpy"),
    *("orjson", "protobuf", "pyyaml", "rapidfuzz", "rich", "schemathesis", "scipy"),
}
VECTORS = files("corrigible.conformance").joinpath("vectors", "consumer", "comparison.json")
COMMANDS = {
    "corrigible pack test stripe": ("corrigible pack", "proxy"),
    "corrigible proxy --upstream http://127.0.0.1:1": ("corrigible proxy", "mitmproxy"),
    "conformance list": ("conformance list", "conformance"),
}


def main() -> int:
    installed = {one.metadata["Name"].lower().replace("_", "-") for one in distributions()}
    wrong = [f"brings {name}" for name in sorted(installed & HEAVY)]
    for vector in json.loads(VECTORS.read_text("utf-8"))["vectors"]:
        request = Request(**{"query": {}, "headers": {}, **vector["request"]})
        outcome = apply(vector["feedback"], request)
        if isinstance(outcome, Next) is not ("next" in vector["expect"]):
            wrong.append(f"vector {vector['id']}: {outcome}")
        if vector["feedback"]["message"] not in corrigible.client.explain(vector["feedback"], request):
            wrong.append(f"vector {vector['id']} is not explained")
    for line, (user, extra) in COMMANDS.items():
        name, *words = line.split()
        done = subprocess.run([Path(sys.executable).parent / name, *words], capture_output=True, text=True, check=False)
        said = re.fullmatch(rf"{user} needs: pip install '?(/.+\.whl)\[{extra}\]'?\n", done.stderr)
        if done.returncode != 1 or said is None or not Path(said[1]).is_file():
            wrong.append(f"{line}: {done.returncode} {done.stderr}")
    print("\n".join(wrong) or f"{len(installed)} distributions, none heavy: {', '.join(sorted(installed))}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
