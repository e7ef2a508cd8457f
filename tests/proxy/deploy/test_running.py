"""The container's command line, run here: with the files of its ConfigMaps and Secrets, and other addresses."""

from __future__ import annotations

import signal
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from corrigible.adapters.sandbox.certificate import make_certificate
from corrigible.adapters.sandbox.runtimes import python_arguments
from corrigible.adapters.sandbox.server import Command, Running, Server
from tests._support.deployment import COMPONENTS, ROOT, Container, Rendered, metric, running

BOOKING = {"room": "double", "nights": 3, "arrival": "2027-03-01", "guests": [{"name": "Ann", "age": 30}]}


@pytest.fixture(scope="module")
def bookings() -> Iterator[Running]:
    """A service of somebody, made with FastAPI."""
    code = (ROOT / "tests/_support/fastapi_service.py").read_text("utf-8")
    server = Server("bookings", "bookings", "", lambda port: Command(python_arguments(code, str(port))))
    with server.start() as service:
        yield service


@pytest.fixture
def secrets(tmp_path: Path) -> dict[str, dict[str, str]]:
    """What a user brings, by the names that the manifests have."""
    files = make_certificate(tmp_path)
    tls = {"tls.crt": files.certificate.read_text(), "tls.key": files.key.read_text()}
    return {
        "corrigible-tls": tls,
        "policy-corrigible-tls": tls,
        "policy-ca": {"ca.crt": files.authority.read_text()},
        "corrigible-relay-key": {"relay.key": "0123456789abcdef" * 4},
    }


def probed(objects: Rendered, container: Container) -> list[tuple[int, str]]:
    """Return what the probes get."""
    assert {probe["httpGet"]["port"] for probe in objects.probes} == {"admin"}
    answers = [httpx.get(f"{container.admin}{probe['httpGet']['path']}", timeout=60) for probe in objects.probes]
    return [(answer.status_code, answer.text) for answer in answers]


def written(root: Path) -> set[Path]:
    return {path.relative_to(root) for path in root.rglob("*") if path.relative_to(root).parts[0] != "tmp"}


@pytest.mark.parametrize("components", [(), COMPONENTS])
def test_the_proxy_in_front_of_an_api(
    rendered: Any, bookings: Running, secrets: Any, components: tuple[str, ...], tmp_path: Path
) -> None:
    objects: Rendered = rendered("api", *components)
    root = tmp_path / "root"
    objects.lay_out(root, secrets)
    before = written(root)
    with running(objects, root, bookings.url) as container:
        assert probed(objects, container) == [(200, "ok\n")] * 3
        trust = ssl.create_default_context(cafile=tmp_path / "ca.crt")
        with httpx.Client(base_url=container.proxy.url, verify=trust, timeout=60) as client:
            assert client.post("/bookings", json=BOOKING).status_code == 201
            by_description = client.post("/bookings", json={**BOOKING, "room": "doubel"}).json()["recovery_feedback"]
            by_rule = client.post("/bookings", json={**BOOKING, "nights": 42}).json()["recovery_feedback"]
        assert by_description["suggestions"][0]["parameters"] == {"room": "double"}
        assert by_rule["suggestions"][0]["evidence"]["rule"] == "bookings.longest-stay@1"
        annotations = objects.one("Deployment")["spec"]["template"]["metadata"]["annotations"]
        page = httpx.get(f"{container.admin}{annotations['prometheus.io/path']}", timeout=60).text
        refused = [line for line in page.splitlines() if line.startswith(metric()[0]) and 'status="422"' in line]
        assert [line.rpartition(" ")[2] for line in refused] == ["2.0"], refused
        container.proxy.process.send_signal(signal.SIGTERM)
        assert container.proxy.process.wait(objects.pod["terminationGracePeriodSeconds"]) == 0
    assert written(root) == before


def test_the_proxy_in_front_of_a_webhook_is_well_before_the_webhook_is(
    rendered: Any, secrets: Any, tmp_path: Path
) -> None:
    objects: Rendered = rendered("admission-webhook")
    root = tmp_path / "root"
    objects.lay_out(root, secrets)
    with running(objects, root, "https://127.0.0.1:1") as container:
        assert probed(objects, container) == [(200, "ok\n")] * 3
        trust = ssl.create_default_context(cafile=tmp_path / "ca.crt")
        assert httpx.post(f"{container.proxy.url}/validate", verify=trust, json={}, timeout=60).status_code == 502
