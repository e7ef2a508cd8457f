"""An environment with the frameworks of agents, a service with its own description, and the proxy in front of it."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from corrigible.adapters.sandbox.runtimes import python_arguments, venv_python
from corrigible.adapters.sandbox.server import Command, Server
from tests._support.raw_proxy import corrected

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PARTS = ("protos", "rules", "adapters", "proxy")


class Bookings(NamedTuple):
    """A service that describes itself."""

    direct: str
    proxy: str
    spec: Path


@pytest.fixture(scope="session")
def agent_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the frameworks, and with what the engine needs."""
    wanted = (HERE / "requirements.txt").read_text("utf-8").splitlines()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted += [
        *extras["dependencies"],
        *extras["optional-dependencies"]["proxy"],
        *extras["optional-dependencies"]["spec"],
    ]
    requirements = tmp_path_factory.mktemp("agents") / "requirements.txt"
    lines = "\n".join(line for line in wanted if not line.startswith(("#", "corrigible")))
    requirements.write_text(lines, "utf-8")
    return venv_python("agents", requirements)


@pytest.fixture(scope="session")
def agent_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a program that sees this source tree as an installed Corrigible."""
    folder = tmp_path_factory.mktemp("installed")
    metadata = Path(str(distribution("corrigible").locate_file(""))).glob("corrigible-*.dist-info")
    for one in metadata:
        (folder / one.name).symlink_to(one)
    places = [folder, *(ROOT / part for part in PARTS)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, places))}


@pytest.fixture(scope="session")
def run_agent(agent_python: Path, agent_environment: dict[str, str]) -> Callable[..., Any]:
    """Run a script of this folder there, and return the JSON that it prints."""

    def run(script: str, *arguments: str | Path) -> Any:
        command = [str(agent_python), "-W", "error::ImportWarning", str(HERE / script), *map(str, arguments)]
        done = subprocess.run(command, env=agent_environment, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def _service(port: int) -> Command:
    return Command(python_arguments((ROOT / "tests/_support/fastapi_service.py").read_text("utf-8"), str(port)))


@pytest.fixture(scope="session")
def bookings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bookings]:
    spec = tmp_path_factory.mktemp("spec") / "openapi.json"
    with Server("bookings", "bookings", "none", _service).start() as service:
        spec.write_bytes(httpx.get(f"{service.url}/openapi.json", timeout=60).content)
        with corrected(service.url, spec=spec) as proxy:
            yield Bookings(service.url, proxy, spec)
