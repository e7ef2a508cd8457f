"""The Kubernetes objects: what other people's judges say, and whether the parts agree with each other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from corrigible.adapters.sandbox.runtimes import venv_python
from corrigible.proxy import cli
from corrigible.proxy.admin.server import PATIENCE
from corrigible.proxy.command.config_file import Config, read_config
from corrigible.proxy.command.options import parse_listen
from corrigible.proxy.mitm.server import DRAIN_SECONDS
from corrigible.proxy.pack_tools.lint import run_cases
from corrigible.rules.pack.load import built_in
from tests._support.deployment import (
    COMPONENTS,
    DEPLOY,
    MOUNTS,
    OVERLAYS,
    ROOT,
    Rendered,
    dockerfile,
    metric,
    said_by,
    tool,
)

EACH = pytest.mark.parametrize("overlay", OVERLAYS)
WITH_ALL = pytest.mark.parametrize(
    ("overlay", "components"), [(overlay, more) for overlay in OVERLAYS for more in ((), COMPONENTS)]
)
UNWANTED_CHECKS = {
    "CKV_K8S_11": "a limit of CPU would slow down everybody's calls",
    "CKV_K8S_15": "the image has a version: it need not be pulled each time",
    "CKV_K8S_43": "only who builds the image knows its digest",
    "CKV_DOCKER_2": "the image has no admin address: compose.yaml and the Deployment have, and ask there",
}


def judged(objects: Any, version: str, file: Path) -> str:
    """Return what the schemas of a version of Kubernetes say against objects."""
    file.write_text(yaml.safe_dump_all(objects), "utf-8")
    done = said_by(tool("kubernetes-validate"), "--strict", "-k", version, file)
    assert (done.returncode == 0) is ("ERROR" not in done.stdout + done.stderr), done
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.parametrize("version", ["1.25.0", "1.37.0"])
@WITH_ALL
def test_the_schemas_of_kubernetes_hold(
    rendered: Any, overlay: str, components: tuple[str, ...], version: str, tmp_path: Path
) -> None:
    assert judged(rendered(overlay, *components).objects, version, tmp_path / "objects.yaml") == ""


def test_an_unknown_member_does_not_pass_the_schemas(rendered: Any, tmp_path: Path) -> None:
    budget = rendered("api").one("PodDisruptionBudget")
    wrong = {**budget, "spec": {**budget["spec"], "maxUnavailble": 1}}
    assert "maxUnavailble" in judged([wrong], "1.37.0", tmp_path / "objects.yaml")


@pytest.mark.nightly
def test_checkov_has_no_objection_but_those_that_have_an_answer(rendered: Any, tmp_path: Path) -> None:
    for overlay in OVERLAYS:
        text = yaml.safe_dump_all(rendered(overlay, *COMPONENTS).objects)
        (tmp_path / f"{overlay}.yaml").write_text(text, "utf-8")
    (tmp_path / "Dockerfile").write_bytes((DEPLOY / "Dockerfile").read_bytes())
    program = venv_python("checkov", ROOT / "tests/integration/kubernetes/webhooks/checkov.txt").with_name("checkov")
    words = ("--directory", tmp_path, "--framework", "kubernetes", "dockerfile", "--skip-download", "--compact")
    done = said_by(program, *words)
    assert int(re.findall(r"Passed checks: (\d+)", done.stdout)[-1]) > 100, done.stdout + done.stderr
    failed = set(re.findall(r"^Check: (\w+).*\n\tFAILED", done.stdout, re.MULTILINE))
    assert failed == set(UNWANTED_CHECKS), done.stdout


@WITH_ALL
def test_what_selects_the_proxy_selects_its_pods_alone(
    rendered: Any, overlay: str, components: tuple[str, ...]
) -> None:
    objects: Rendered = rendered(overlay, *components)
    own = {f"app.kubernetes.io/{name}" for name in ("name", "instance", "component")}
    wanted = objects.one("Deployment")["spec"]["selector"]["matchLabels"]
    assert set(wanted) == own
    assert wanted.items() <= objects.one("Deployment")["spec"]["template"]["metadata"]["labels"].items()
    policy = objects.one("NetworkPolicy")["spec"]
    selectors = [
        {"matchLabels": objects.one("Service")["spec"]["selector"]},
        objects.one("PodDisruptionBudget")["spec"]["selector"],
        policy["podSelector"],
        *(one["labelSelector"] for one in objects.pod["topologySpreadConstraints"]),
    ]
    assert selectors == [{"matchLabels": wanted}] * 5
    peers = [
        peer for way in ("from", "to") for rule in policy["ingress"] + policy["egress"] for peer in rule.get(way, [])
    ]
    labels = [set(peer.get("podSelector", {}).get("matchLabels", {})) for peer in peers]
    assert len(peers) >= 3 and not own & set().union(*labels)


@EACH
def test_each_object_is_labelled_and_has_its_namespace(rendered: Any, overlay: str) -> None:
    for one in rendered(overlay).objects:
        assert one["metadata"]["namespace"] == OVERLAYS[overlay]
        assert "app.kubernetes.io/instance" in one["metadata"]["labels"]


@EACH
def test_the_autoscaler_scales_the_deployment_by_the_metric_that_the_adapter_makes(rendered: Any, overlay: str) -> None:
    objects: Rendered = rendered(overlay)
    scaler, deployment = objects.one("HorizontalPodAutoscaler")["spec"], objects.one("Deployment")
    assert scaler["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert "replicas" not in deployment["spec"] and scaler["minReplicas"] >= 2
    names = [one["pods"]["metric"]["name"] for one in scaler["metrics"] if one["type"] == "Pods"]
    assert names == [metric()[1]]


def config_of(objects: Rendered, root: Path) -> Config:
    """Return the configuration of a pod whose files are laid out below a folder."""
    args = cli.parser().parse_args(objects.container["args"])
    return read_config(root / str(args.config).removeprefix("/"))


def others_files(objects: Rendered) -> dict[str, dict[str, str]]:
    """Return the names of what a user brings, with the files that each must have. Their content is not looked at."""
    keys = {"ca": ["ca.crt"], "tls": ["tls.crt", "tls.key"], "key": ["relay.key"]}
    volumes = [volume for _, volume in objects.mounted() if "emptyDir" not in volume]
    names = [one["secret"]["secretName"] if "secret" in one else one["configMap"]["name"] for one in volumes]
    brought = [name for name in names if objects.config_map(name) is None]
    return {name: dict.fromkeys(keys[name.rpartition("-")[2]], "x") for name in brought}


@WITH_ALL
def test_the_configuration_is_one_whose_files_are_all_mounted(
    rendered: Any, overlay: str, components: tuple[str, ...], tmp_path: Path
) -> None:
    objects: Rendered = rendered(overlay, *components)
    objects.lay_out(tmp_path, others_files(objects))
    config = config_of(objects, tmp_path)
    options = {**config.options(), **named_by_environment(objects, tmp_path)}
    paths = [Path(value) for name, value in options.items() if name in FILE_OPTIONS]
    paths += [Path(value) for value in (*options.get("spec", ()), *(set(options["pack"]) - set(built_in())))]
    assert len(paths) == {"api": 2, "admission-webhook": 3}[overlay] + {"api": 3, "admission-webhook": 1}[
        overlay
    ] * bool(components)
    assert [path for path in paths if not path.exists()] == []


FILE_OPTIONS = {"upstream_ca", "upstream_cert", "tls_cert", "tls_key", "relay_key"}


def named_by_environment(objects: Rendered, root: Path) -> dict[str, str]:
    """Return the options that the container has as variables, and paths below a folder."""
    known = {f"CORRIGIBLE_{name.upper()}": name for name in FILE_OPTIONS}
    return {known[name]: f"{root}{value}" for name, value in objects.environment.items()}


@WITH_ALL
def test_all_ports_are_those_that_the_proxy_listens_on(
    rendered: Any, overlay: str, components: tuple[str, ...], tmp_path: Path
) -> None:
    objects: Rendered = rendered(overlay, *components)
    objects.lay_out(tmp_path, others_files(objects))
    options = config_of(objects, tmp_path).options()
    listening = {"proxy": parse_listen(options["listen"]), "admin": parse_listen(options["admin"])}
    assert {name: address.port for name, address in listening.items()} == objects.ports
    assert {address.host for address in listening.values()} == {"0.0.0.0"}  # the pod's address; elsewhere 127.0.0.1
    (service,) = objects.one("Service")["spec"]["ports"]
    secure = overlay == "admission-webhook" or "tls" in components
    assert (service["targetPort"], service["name"], service["port"]) == (
        "proxy",
        *(("https", 443) if secure else ("http", 80)),
    )
    assert {probe["httpGet"]["port"] for probe in objects.probes} == {"admin"}
    rules = objects.one("NetworkPolicy")["spec"]["ingress"]
    assert sorted(port["port"] for rule in rules for port in rule["ports"]) == ["admin", "proxy"]
    template = objects.one("Deployment")["spec"]["template"]["metadata"]["annotations"]
    assert template["prometheus.io/port"] == str(objects.ports["admin"])


@EACH
def test_a_probe_waits_longer_than_the_admin_address_and_a_stop_longer_than_the_proxy(
    rendered: Any, overlay: str
) -> None:
    objects: Rendered = rendered(overlay)
    assert all(probe["timeoutSeconds"] > PATIENCE for probe in objects.probes)
    pause = float(objects.container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert objects.pod["terminationGracePeriodSeconds"] >= 2 * (pause + DRAIN_SECONDS)


@EACH
def test_the_pod_runs_as_the_user_of_the_image_and_can_write_where_the_image_writes(
    rendered: Any, overlay: str
) -> None:
    objects: Rendered = rendered(overlay)
    image = dict(dockerfile())
    context = objects.pod["securityContext"]
    assert image["USER"] == f"{context['runAsUser']}:{context['runAsGroup']}" and context["runAsNonRoot"]
    assert objects.container["securityContext"]["readOnlyRootFilesystem"]
    writable = [place for place, volume in objects.mounted() if "emptyDir" in volume]
    written = re.findall(r"(?:HOME|CORRIGIBLE_CACHE)=(\S+)", image["ENV"])
    assert len(written) == 2 and all(f"{one}/".startswith(f"{place}/") for one in written for place in writable)
    assert all(place.startswith(f"{MOUNTS}/") for place, volume in objects.mounted() if "emptyDir" not in volume)


def test_the_pack_of_the_example_is_whole_in_its_config_map(rendered: Any) -> None:
    folder = DEPLOY / "kustomize/overlays/api/bookings"
    (data,) = (one["data"] for one in rendered("api").all("ConfigMap") if "pack.yaml" in one["data"])
    cases = {path.name for path in folder.glob("*.cases.yaml")}
    assert set(data) == {path.name for path in folder.iterdir()} - cases
    result = run_cases(folder)
    assert len(result.cases) == 2 and not any(verdict.failures for verdict in result.cases)
