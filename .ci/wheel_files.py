"""Compare what a wheel holds with what git holds: `wheel_files.py WHEEL`, from the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOTS = ("adapters", "conformance", "protos", "proxy", "rules")
ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
        metadata = next(wheel.read(name) for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    folders = [f"{root}/corrigible" for root in ROOTS]
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, check=True, capture_output=True, text=True)
    kept = {name.partition("/")[2] for name in listed.stdout.split("\0") if name}
    wrong = [f"not in the wheel: {name}" for name in sorted(kept - packed)]
    wrong += [f"in the wheel and not in git: {name}" for name in sorted(packed - kept)]
    if any(line.startswith(b"Requires-Dist: localstripe") for line in metadata.splitlines()):
        wrong.append("GPL in our dependencies: localstripe")
    print("\n".join(wrong) or f"{len(packed)} files, as in git")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
