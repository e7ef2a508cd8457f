"""Servers written in Python, each in a virtual environment of its own: nothing of theirs is imported here."""

from __future__ import annotations

import sys
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from corrigible.adapters.cache import fingerprint, installed

from .tool import run_tool

_LIFELINE = """\
import os, signal, threading
def _follow():
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=_follow, daemon=True).start()
"""


def python_arguments(code: str, *arguments: str, executable: Path | str = sys.executable) -> list[str]:
    """Return the command that runs `code`, ending when the process that started it is gone."""
    return [str(executable), "-c", _LIFELINE + code, *arguments]


def venv_python(name: str, requirements: Path | None = None, *, cache: Path | None = None) -> Path:
    """Install a requirements file into a virtual environment and return its Python.

    By default the file shipped here under `python/<name>/requirements.txt`.
    """
    source = requirements or Path(str(files(__package__).joinpath("python", name, "requirements.txt")))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"

    def install(folder: Path) -> None:
        python = str(folder / "bin" / "python")
        make, pip = [sys.executable, "-m", "venv"], [python, "-m", "pip"]
        if find_spec("pip") is not None:  # the one here, mostly newer and much faster than the one that Python brings
            make, pip = [*make, "--without-pip"], [sys.executable, "-m", "pip", "--python", python]
        run_tool([*make, str(folder)], f"making a virtual environment for {name}")
        # Most of what a server brings is never imported: what is, Python compiles then.
        run_tool([*pip, "install", "--quiet", "--no-compile", "-r", str(source)], f"installing {name}")

    key = fingerprint(source.read_bytes(), version.encode(), sys.base_prefix.encode())
    return installed(f"python-{name}-{key}", install, cache=cache) / "bin" / "python"
