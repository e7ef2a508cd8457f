"""Compare what a wheel and an sdist hold with what git holds: `wheel_files.py WHEEL SDIST`, from the checkout."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOTS = ("adapters", "conformance", "protos", "proxy", "rules")
ROOT = Path(__file__).resolve().parents[1]


def listed(*folders: str) -> set[str]:
    """Return what git holds, in these folders or everywhere."""
    command = ["git", "ls-files", "-z", *folders]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return {name for name in done.stdout.split("\0") if name}


def main() -> int:
    with zipfile.ZipFile(sys.argv[1]) as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
        metadata = next(wheel.read(name) for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    with tarfile.open(sys.argv[2]) as sdist:
        sources = {name.partition("/")[2] for name in sdist.getnames()}
    kept = {name.partition("/")[2] for name in listed(*(f"{root}/corrigible" for root in ROOTS))}
    wrong = [f"not in the wheel: {name}" for name in sorted(kept - packed)]
    wrong += [f"in the wheel and not in git: {name}" for name in sorted(packed - kept)]
    wrong += [f"not in the sdist: {name}" for name in sorted(listed() - sources)]
    if any(line.startswith(b"Requires-Dist: localstripe") for line in metadata.splitlines()):
        wrong.append("GPL in our dependencies: localstripe")
    print("\n".join(wrong) or f"{len(packed)} files in the wheel, {len(sources)} in the sdist, as in git")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
