"""The files of `proxy/deploy` as those see them who use them: rendered, and mounted into a container."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from corrigible.adapters.sandbox.runtimes import python_arguments, venv_python
from corrigible.adapters.sandbox.server import HOST, Command, Running, Server, free_port

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "proxy" / "deploy"
OVERLAYS = {"api": "shop", "admission-webhook": "policies"}
"""Overlay -> its namespace."""
COMPONENTS = ("relay-key", "tls")
MOUNTS = "/etc/corrigible"
_REVISION = "..2026_11_23_00_00_00.1"


def tool(name: str) -> Path:
    """Return a program of tools.txt; `python` has the libraries."""
    return venv_python("deploy-tools", ROOT / "tests/proxy/deploy/tools.txt").with_name(name)


def said_by(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    command = list(map(str, words))
    return subprocess.run(command, env=environment or None, capture_output=True, text=True, timeout=240, check=False)


def dockerfile() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, and what stands behind each."""
    code = (
        "import json, sys; from dockerfile_parse import DockerfileParser as Parser;"
        "print(json.dumps([[one['instruction'], one['value']] for one in Parser(sys.argv[1]).structure]))"
    )
    done = said_by(tool("python"), "-c", code, DEPLOY / "Dockerfile")
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    return [(instruction, " ".join(value.split())) for instruction, value in read if instruction != "COMMENT"]


def below(root: Path, text: str) -> str:
    """Return a text with the places of mounts below a folder."""
    return text.replace(MOUNTS, f"{root}{MOUNTS}")


@dataclass(frozen=True)
class Rendered:
    """What an overlay becomes."""

    objects: Sequence[Mapping[str, Any]]

    def one(self, kind: str) -> Any:
        (found,) = self.all(kind)
        return found

    def all(self, kind: str) -> list[Any]:
        return [one for one in self.objects if one["kind"] == kind]

    @property
    def pod(self) -> Any:
        return self.one("Deployment")["spec"]["template"]["spec"]

    @property
    def container(self) -> Any:
        (container,) = self.pod["containers"]
        return container

    @property
    def ports(self) -> dict[str, int]:
        return {port["name"]: port["containerPort"] for port in self.container["ports"]}

    @property
    def environment(self) -> dict[str, str]:
        return {one["name"]: one["value"] for one in self.container.get("env", [])}

    @property
    def probes(self) -> list[Any]:
        return [self.container[f"{name}Probe"] for name in ("startup", "readiness", "liveness")]

    def mounted(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield each place of the container's file system that is mounted, and the volume."""
        volumes = {volume["name"]: volume for volume in self.pod["volumes"]}
        for mount in self.container["volumeMounts"]:
            yield mount["mountPath"], volumes.pop(mount["name"])
        assert not volumes, "volumes that are mounted nowhere"

    def config_map(self, name: str) -> Mapping[str, str] | None:
        """Return the data of a ConfigMap, None of one that others bring."""
        return next((one["data"] for one in self.all("ConfigMap") if one["metadata"]["name"] == name), None)

    def lay_out(self, root: Path, files: Mapping[str, Mapping[str, str]]) -> None:
        """Write the volumes below a folder as the kubelet does. `files` are those of what others bring, by its name."""
        for place, volume in self.mounted():
            folder = root / place.removeprefix("/")
            if "emptyDir" in volume:
                folder.mkdir(parents=True)
                continue
            name = volume["configMap"]["name"] if "configMap" in volume else volume["secret"]["secretName"]
            data = self.config_map(name) or files[name]
            (folder / _REVISION).mkdir(parents=True)
            (folder / "..data").symlink_to(_REVISION)
            for file, text in data.items():
                (folder / _REVISION / file).write_text(below(root, text), "utf-8")
                (folder / file).symlink_to(f"..data/{file}")


def render(overlay: str, folder: Path, components: Sequence[str] = ()) -> Rendered:
    """Render an overlay, with components beside its own, in a copy below `folder`. Skips without kubectl."""
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("no kubectl on PATH")
    copy = folder / "kustomize"
    if not copy.exists():
        shutil.copytree(DEPLOY / "kustomize", copy)
    file = copy / "overlays" / overlay / "kustomization.yaml"
    kustomization = yaml.safe_load(file.read_text("utf-8"))
    used = [*kustomization["components"], *(f"../../components/{name}" for name in components)]
    kustomization["components"] = sorted(set(used))
    file.write_text(yaml.safe_dump(kustomization), "utf-8")
    done = said_by(program, "kustomize", file.parent)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return Rendered(list(yaml.safe_load_all(done.stdout)))


def metric() -> tuple[str, str]:
    """Return the series that prometheus-adapter.yaml takes, and the name of what it makes of it."""
    (rule,) = yaml.safe_load((DEPLOY / "kustomize" / "prometheus-adapter.yaml").read_text("utf-8"))["rules"]["custom"]
    series, _, _ = rule["seriesQuery"].partition("{")
    found = re.fullmatch(rule["name"]["matches"], series)
    assert found is not None
    return series, rule["name"]["as"].replace("${1}", found[1])


@dataclass(frozen=True)
class Container:
    """The proxy, run by the command line of a pod."""

    proxy: Running
    admin: str


@contextmanager
def running(objects: Rendered, root: Path, upstream: str) -> Iterator[Container]:
    """Run the container's command with its files and the variables of the image, until it is ready as a pod is.

    Only the addresses are others, and there is more time: a machine that runs tests is busy.
    """
    image = dict(re.findall(r"(\w+)=(\S+)", dict(dockerfile())["ENV"]))
    admin = f"{HOST}:{free_port()}"
    environment = {name: f"{root}{image[name]}" for name in ("HOME", "CORRIGIBLE_CACHE")}
    environment |= {name: below(root, value) for name, value in objects.environment.items()}
    environment |= {"TMPDIR": f"{root}/tmp", "CORRIGIBLE_TIME_LIMIT": "20"}
    environment |= {"CORRIGIBLE_ADMIN": admin, "CORRIGIBLE_UPSTREAM": upstream}
    words = [below(root, word) for word in objects.container["args"]]
    code = "import sys; from corrigible.proxy.cli import main; sys.exit(main())"

    def command(port: int) -> Command:
        listen = {"CORRIGIBLE_LISTEN": f"{HOST}:{port}"}
        return Command(python_arguments(code, *words), root, {**environment, **listen})

    def is_ready(_: int) -> bool:
        path = objects.probes[0]["httpGet"]["path"]
        with urllib.request.urlopen(f"http://{admin}{path}", timeout=10) as answer:
            return bool(answer.status == 200)

    scheme = "https" if "CORRIGIBLE_TLS_CERT" in objects.environment else "http"
    server = Server("proxy", "corrigible proxy", "", command, scheme=scheme, is_ready=is_ready)
    with server.start() as proxy:
        yield Container(proxy, f"http://{admin}")
