"""The process that `corrigible sandbox etcd` starts: it runs etcd and ends with it."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile

from corrigible.adapters.sandbox.server import HOST, free_port

GRACE = 3.0
"""Seconds to end in, before force."""


def launch(port: str, etcd: str) -> None:
    """Run a member of its own until told to stop, or until it dies. Leaves no file behind."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    clients, peers = f"http://{HOST}:{port}", f"http://{HOST}:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="corrigible-etcd-") as folder:
        process = subprocess.Popen(
            [
                etcd,
                f"--data-dir={folder}",
                f"--listen-client-urls={clients}",
                f"--advertise-client-urls={clients}",
                f"--listen-peer-urls={peers}",
                f"--initial-advertise-peer-urls={peers}",
                f"--initial-cluster=default={peers}",
                "--unsafe-no-fsync",
                "--log-level=error",
            ],
            stdin=subprocess.DEVNULL,
        )
        try:
            sys.exit(process.wait())
        finally:
            process.terminate()
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
