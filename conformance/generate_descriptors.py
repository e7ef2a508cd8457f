"""Write shop.binpb, the descriptors of shop.proto. Needs grpcio-tools.

python conformance/generate_descriptors.py            write it
python conformance/generate_descriptors.py --check    exit 1 if it is stale
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent / "corrigible/conformance/reference"
OUT = HERE / "shop.binpb"


def generate() -> bytes:
    """Return what protoc makes of shop.proto now."""
    with tempfile.TemporaryDirectory() as scratch:
        out_file = Path(scratch, OUT.name)
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{HERE}", f"--descriptor_set_out={out_file}"]
        subprocess.run([*command, "shop.proto"], check=True)
        return out_file.read_bytes()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if it is stale")
    if not parser.parse_args().check:
        OUT.write_bytes(generate())
        return 0
    if OUT.exists() and OUT.read_bytes() == generate():
        return 0
    command = "python conformance/generate_descriptors.py"
    print(f"{OUT.name} is stale: run {command}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
