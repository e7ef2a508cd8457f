"""The process that `corrigible sandbox kubernetes` starts: it runs etcd and kube-apiserver, and ends with them."""

from __future__ import annotations

import os
import shutil
import sys

from corrigible.adapters.sandbox.certificate import make_certificate, make_key
from corrigible.adapters.sandbox.server import HOST, children, free_port, last_lines

from .sandbox import GROUPS, TOKENS, folder_of, kubeconfig


def launch(port: str, apiserver: str, etcd: str, plugins: str) -> None:
    """Run both until SIGTERM or until one of them ends. Leaves no file behind."""
    os.umask(0o077)  # tokens and keys: for this user alone
    folder = folder_of(int(port))
    shutil.rmtree(folder, ignore_errors=True)  # of one that was killed
    folder.mkdir(parents=True, mode=0o700)
    try:
        with children() as started:
            tls = make_certificate(folder)
            make_key(folder / "service-account.key")
            (folder / "tokens.csv").write_text(
                "".join(f'{token},{user},{user},"{GROUPS[user]}"\n' for user, token in TOKENS.items()), "utf-8"
            )
            (folder / "kubeconfig").write_text(kubeconfig(f"https://{HOST}:{port}", tls.authority), "utf-8")
            store = f"http://{HOST}:{free_port()}"
            peers = f"http://{HOST}:{free_port()}"
            commands = {
                "etcd": [
                    etcd,
                    f"--data-dir={folder / 'etcd'}",
                    f"--listen-client-urls={store}",
                    f"--advertise-client-urls={store}",
                    f"--listen-peer-urls={peers}",
                    "--unsafe-no-fsync",
                    "--log-level=error",
                ],
                "kube-apiserver": [
                    apiserver,
                    f"--etcd-servers={store}",
                    f"--bind-address={HOST}",
                    f"--advertise-address={HOST}",
                    f"--secure-port={port}",
                    f"--cert-dir={folder / 'made'}",
                    f"--tls-cert-file={tls.certificate}",
                    f"--tls-private-key-file={tls.key}",
                    f"--service-account-key-file={folder / 'service-account.key'}",
                    f"--service-account-signing-key-file={folder / 'service-account.key'}",
                    "--service-account-issuer=https://kubernetes.default.svc",
                    f"--token-auth-file={folder / 'tokens.csv'}",
                    "--authorization-mode=RBAC",
                    "--service-cluster-ip-range=10.0.0.0/24",
                    "--disable-admission-plugins=ServiceAccount",  # no controller creates the accounts that it requires
                    *([f"--enable-admission-plugins={plugins}"] if plugins else []),
                    "--allow-privileged=true",
                    "--endpoint-reconciler-type=none",
                ],
            }
            for name, arguments in commands.items():
                with (folder / f"{name}.log").open("wb") as log:
                    started.start(arguments, log)
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            for name, process in zip(commands, started.running, strict=True):
                if (status := process.poll()) is not None:
                    print(f"{name} ended with status {status}:\n{last_lines((folder / f'{name}.log').read_text())}")
                    sys.exit(1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
