"""`corrigible doctor`: clients of this machine that work, that ignore the proxy, and that trust nobody new."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests._support.command import run

IGNORES = """#!/bin/sh
unset HTTPS_PROXY https_proxy
exec {curl} "$@"
"""
TRUSTS_NOBODY = """#!/bin/sh
unset CURL_CA_BUNDLE SSL_CERT_FILE
exec {curl} "$@"
"""


def doctor(folder: Path, **more: str) -> tuple[int, list[str]]:
    environment = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "KUBECONFIG": str(folder / "none"), **more}
    done = run(["corrigible", "doctor"], env=environment)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_clients_that_read_the_environment_work(tmp_path: Path) -> None:
    _, lines = doctor(tmp_path, HTTPS_PROXY="http://127.0.0.1:9")
    assert lines[0].startswith("note: HTTPS_PROXY=http://127.0.0.1:9 is not used")
    for name in ("curl", "Python, urllib", "Python, requests", "Python, httpx"):
        assert f"{name}: works" in lines


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (IGNORES, "curl: does not call through the proxy: it reads no HTTPS_PROXY"),
        (TRUSTS_NOBODY, "curl: does not trust the proxy: curl: (60) "),
    ],
)
def test_a_client_that_does_not_work_is_named_with_the_reason(script: str, says: str, tmp_path: Path) -> None:
    curl = tmp_path / "bin" / "curl"
    curl.parent.mkdir()
    curl.write_text(script.format(curl="/usr/bin/curl"))
    curl.chmod(curl.stat().st_mode | stat.S_IXUSR)
    status, lines = doctor(tmp_path, PATH=f"{curl.parent}{os.pathsep}{os.environ['PATH']}")
    assert status == 1
    assert any(line.startswith(says) for line in lines), lines
