"""`corrigible completion`: what a shell makes of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from corrigible.proxy.cli import main

COMPLETED = {
    ("corrigible", "pro"): "proxy",
    ("corrigible", "proxy", "--grpc"): "--grpc-upstream",
    ("corrigible", "proxy", "--mode", "ver"): "verbose",
    ("corrigible", "proxy", "--pack", "str"): "stripe",
    ("corrigible", "sandbox", "kube"): "kubernetes",
    ("corrigible", "pack", "cov"): "coverage",
}


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_commands_options_and_their_values(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "completion"
    asked = [
        f'COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _shtab_corrigible; echo "${{COMPREPLY[@]}}"'
        for words in COMPLETED
    ]
    script.write_text("\n".join([capsys.readouterr().out, *asked]))
    done = subprocess.run(["bash", str(script)], capture_output=True, text=True, timeout=240)
    assert (done.stdout.splitlines(), done.stderr) == (list(COMPLETED.values()), "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "--grpc-upstream" in capsys.readouterr().out.replace("-l grpc-upstream", "--grpc-upstream")
