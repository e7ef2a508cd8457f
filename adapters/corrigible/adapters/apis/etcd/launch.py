"""The process that `corrigible sandbox etcd` starts: it runs etcd and ends with it."""

from __future__ import annotations

import sys
import tempfile

from corrigible.adapters.sandbox.children import children
from corrigible.adapters.sandbox.server import HOST, free_port


def launch(port: str, etcd: str) -> None:
    """Run a member until SIGTERM or until it ends. Leaves no file behind."""
    clients, peers = f"http://{HOST}:{port}", f"http://{HOST}:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="corrigible-etcd-") as folder, children() as started:
        process = started.start(
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
            ]
        )
        sys.exit(process.wait())
