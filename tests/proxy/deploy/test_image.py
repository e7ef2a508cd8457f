"""The Dockerfile and compose.yaml. No image is built here: other people's programs read them, and we compare."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import yaml

from corrigible.proxy import cli
from tests._support.deployment import DEPLOY, ROOT, dockerfile, said_by, tool

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
UPSTREAM = "http://api.test:9000"


def compose(**environment: str) -> Any:
    return said_by(
        tool("docker-compose"), "--file", DEPLOY / "compose.yaml", "config", "--format", "json", HOME="/", **environment
    )


def test_hadolint_has_no_objection() -> None:
    done = said_by(tool("hadolint"), "--no-color", DEPLOY / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_is_built_from_what_the_wheel_is_built_from() -> None:
    copied = [
        value.split()[:-1] for instruction, value in dockerfile() if instruction == "COPY" and "--from" not in value
    ]
    names = {name for names in copied for name in names}
    project = PROJECT["project"]
    packages = {path.partition("/")[0] for path in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]}
    assert names == {"pyproject.toml", project["readme"], *project["license-files"], *packages}
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_the_image_has_extras_that_exist_and_starts_a_command_that_exists() -> None:
    image = dict(dockerfile())
    installed = next(value for instruction, value in dockerfile() if instruction == "RUN")
    extras = re.search(r"\"\.\[([\w,]+)\]\"", installed)
    assert extras is not None
    assert {*extras[1].split(",")} <= {*PROJECT["project"]["optional-dependencies"]}
    assert {"mitmproxy", "prometheus"} <= {*extras[1].split(",")}  # of the engine, and of --admin
    (program,) = json.loads(image["ENTRYPOINT"])
    assert program in PROJECT["project"]["scripts"]
    places = [value.split()[-1] for instruction, value in dockerfile() if value.startswith("--from=build")]
    assert [f"python -m venv {place} && {place}/bin/pip install" in installed for place in places] == [True]
    assert image["ENV"].startswith(f"PATH={places[0]}/bin:")


def test_the_python_of_the_image_is_one_that_the_project_takes() -> None:
    bases = [value for instruction, value in dockerfile() if instruction == "FROM"]
    versions = {re.match(r"python:3\.(\d+)-slim", base) for base in bases}
    assert len(bases) == 2 and None not in versions
    (minor,) = {int(found[1]) for found in versions if found}
    assert minor >= int(PROJECT["project"]["requires-python"].removeprefix(">=3."))


def test_the_version_is_the_same_everywhere() -> None:
    version = PROJECT["project"]["version"]
    base = yaml.safe_load((DEPLOY / "kustomize/base/kustomization.yaml").read_text("utf-8"))
    (image,) = base["images"]
    labels = [one["pairs"].get("app.kubernetes.io/version") for one in base["labels"]]
    assert (image["newTag"], labels) == (version, [None, version])
    tagged = re.findall(r"corrigible:(\d[\w.]*)", (DEPLOY / "Dockerfile").read_text("utf-8"))
    tagged += re.findall(r"corrigible:(\d[\w.]*)", (DEPLOY / "compose.yaml").read_text("utf-8"))
    assert tagged == [version] * 2


def test_compose_starts_the_proxy_as_the_deployment_does(rendered: Any) -> None:
    done = compose(UPSTREAM=UPSTREAM)
    assert done.returncode == 0, done.stderr
    service = json.loads(done.stdout)["services"]["proxy"]
    overlay = rendered("api")
    assert service["command"] == overlay.container["args"]
    assert service["environment"] == {"CORRIGIBLE_UPSTREAM": UPSTREAM}
    places = [place for place, volume in overlay.mounted() if "emptyDir" not in volume]
    files = {volume["target"]: volume for volume in service["volumes"]}
    assert all(any(f"{target}/".startswith(f"{place}/") for place in places) for target in files) and len(files) == 3
    for target, volume in files.items():
        assert volume["read_only"]
        source = DEPLOY / volume["source"].partition("/proxy/deploy/")[2]
        assert source.exists() and source.name == target.rpartition("/")[2]
    ports = {int(port["published"]): (port["target"], port["host_ip"]) for port in service["ports"]}
    assert ports == {port: (port, "127.0.0.1") for port in overlay.ports.values()}
    assert service["read_only"] and service["cap_drop"] == ["ALL"]
    build = service["build"]
    assert (DEPLOY / "Dockerfile").samefile(f"{build['context']}/{build['dockerfile']}") and ROOT.samefile(
        build["context"]
    )
    assert service["healthcheck"]["test"][:2] == ["CMD", dict(dockerfile())["ENTRYPOINT"][2:-2]]
    asked = cli.parser().parse_args(service["healthcheck"]["test"][2:])
    assert asked.admin == f"127.0.0.1:{overlay.ports['admin']}"


def test_compose_without_an_upstream_says_what_is_missing() -> None:
    done = compose()
    assert done.returncode != 0
    assert "UPSTREAM is missing a value: the address of the API, such as http://" in done.stderr
