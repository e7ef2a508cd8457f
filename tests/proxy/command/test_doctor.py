"""`corrigible doctor`: clients of this machine that work, that ignore the proxy, and that trust nobody new."""

from __future__ import annotations

import os
from pathlib import Path

from tests._support.command import run

IGNORES = """#!/bin/sh
unset HTTPS_PROXY https_proxy
for url; do :; done
exec /usr/bin/curl --silent "$url"
"""
TRUSTS_NOBODY = """#!/bin/sh
unset CURL_CA_BUNDLE SSL_CERT_FILE
exec /usr/bin/curl "$@"
"""


def test_each_client_is_tried_and_what_does_not_work_has_its_reason(tmp_path: Path) -> None:
    for name, script in (("node", IGNORES), ("curl", TRUSTS_NOBODY)):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    environment = {
        **os.environ,
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "KUBECONFIG": str(tmp_path / "none"),
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "HTTPS_PROXY": "http://127.0.0.1:9",
    }
    done = run(["corrigible", "doctor"], env=environment)
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("note: HTTPS_PROXY=http://127.0.0.1:9 is not used")
    assert [name for name in ("urllib", "requests", "httpx") if f"Python, {name}: works" not in lines] == []
    assert "Node.js, fetch: does not call through the proxy: it reads no HTTPS_PROXY" in lines
    assert any(line.startswith("curl: does not trust the proxy: curl: (60) ") for line in lines), lines
