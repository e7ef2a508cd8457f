"""A real kube-apiserver behind the proxy: people's clients work as they did, and refusals say more."""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests._support.command import run
from tests._support.rows import rows

SECONDS = 30
VARIABLE = {"date", "audit-id", "content-length"}
"""Headers that no two answers share."""
WARNING = re.compile(r"^Warning: .{1,200}$")


def test_kubectl_version_and_discovery_are_the_same(cluster: Any, kubectl: Any) -> None:
    for words in (["version"], ["api-resources"], ["get", "namespaces", "default", "-o", "yaml"]):
        direct, through = (kubectl(where, *words) for where in (cluster.direct, cluster.through))
        assert direct.returncode == 0
        assert (through.returncode, through.stdout, through.stderr) == (0, direct.stdout, direct.stderr)


@rows("accept", ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"])
@rows("path", ["/api/v1/namespaces/default", "/openapi/v2", "/version", "/metrics"])
def test_a_success_is_byte_identical(cluster: Any, path: str, accept: str) -> None:
    def ask(where: Any) -> httpx.Response:
        with where.client() as client:
            answer: httpx.Response = client.get(path, headers={"accept": accept})
            return answer

    direct, through = ask(cluster.direct), ask(cluster.through)
    if path == "/metrics":  # counts the very calls
        direct.read(), through.read()
        assert through.status_code == direct.status_code == 200
        return
    assert (through.status_code, through.content) == (direct.status_code, direct.content)
    assert kept(through) == kept(direct)


def kept(answer: httpx.Response) -> list[tuple[bytes, bytes]]:
    """Return what has to be the same. Envoy joins values of `Vary` that come twice (RFC 9110 section 5.3)."""
    vary = b",".join(value.replace(b", ", b",") for name, value in answer.headers.raw if name.lower() == b"vary")
    rest = [one for one in answer.headers.raw if one[0].decode().lower() not in VARIABLE and one[0].lower() != b"vary"]
    return [(b"vary", vary), *rest]


def test_apply_of_what_the_server_takes_is_the_same_to_the_byte(cluster: Any, kubectl: Any, pod: Any) -> None:
    said = []
    for where in (cluster.direct, cluster.through):
        namespace = cluster.namespace()
        done = kubectl(where, "apply", "-n", namespace, "-f", "-", stdin=json.dumps(pod))
        again = kubectl(where, "apply", "-n", namespace, "-f", "-", stdin=json.dumps(pod))
        said.append([(one.returncode, one.stdout, one.stderr) for one in (done, again)])
    assert said[1] == said[0]
    assert said[1] == [(0, "pod/p created\n", ""), (0, "pod/p unchanged\n", "")]


def test_a_watch_arrives_as_it_happens(cluster: Any, kubectl: Any) -> None:
    namespace = cluster.namespace()
    words = ["get", "configmaps", "-n", namespace, "-w", "-o", "name", "--field-selector=metadata.name=seen"]
    with kubectl.start(cluster.through, *words) as watching, cluster.direct.client() as client:
        try:
            made = f"/api/v1/namespaces/{namespace}/configmaps"
            client.post(made, json={"metadata": {"name": "seen"}}).raise_for_status()
            assert watching.stdout.readline() == "configmap/seen\n"
            client.patch(
                f"{made}/seen", json={"data": {"a": "1"}}, headers={"content-type": "application/merge-patch+json"}
            ).raise_for_status()
            assert watching.stdout.readline() == "configmap/seen\n"
        finally:
            watching.kill()


def test_exec_and_logs_say_what_they_said(cluster: Any, kubectl: Any, pod: Any) -> None:
    """No node here runs anything: there are no logs, and exec is refused before its connection would be upgraded."""
    namespace = cluster.namespace()
    with cluster.direct.client() as client:
        client.post(f"/api/v1/namespaces/{namespace}/pods", json=pod).raise_for_status()
    for words, status in ((["logs", "-f", "p"], 0), (["exec", "p", "--", "true"], 1)):
        direct, through = (kubectl(where, "-n", namespace, *words) for where in (cluster.direct, cluster.through))
        assert (direct.returncode, through.returncode) == (status, status)
        assert through.stdout == direct.stdout
        assert direct.stderr.strip() in through.stderr


def bad_name(pod: dict[str, Any]) -> None:
    pod["metadata"]["name"] = "My_App"


def no_such_policy(pod: dict[str, Any]) -> None:
    pod["spec"]["restartPolicy"] = "always"


def twice_wrong(pod: dict[str, Any]) -> None:
    bad_name(pod)
    no_such_policy(pod)


def lines(text: str) -> list[str]:
    """Return what kubectl says without what it puts before: one cause stands beside the head, several are a list."""
    return [line.removeprefix("* ").strip() for line in text.splitlines() if not WARNING.match(line)]


class TestARefusedApply:
    @pytest.mark.parametrize("break_it", [bad_name, no_such_policy, twice_wrong])
    def test_kubectl_says_what_it_said_and_more(
        self, cluster: Any, kubectl: Any, pod: Any, break_it: Callable[[Any], None]
    ) -> None:
        break_it(pod)
        namespace = cluster.namespace()
        words = ["apply", "-n", namespace, "-f", "-"]
        direct, through = (kubectl(at, *words, stdin=json.dumps(pod)) for at in (cluster.direct, cluster.through))
        assert (direct.returncode, through.returncode) == (1, 1)
        assert through.stdout == direct.stdout == ""
        assert [line for line in through.stderr.splitlines() if WARNING.match(line)] == []
        added = [line for line in lines(through.stderr) if line not in direct.stderr]
        assert len(lines(through.stderr)) > len(lines(direct.stderr))
        assert added
        native = "\n".join(lines(direct.stderr))
        said = "\n".join(lines(through.stderr))
        for cause in re.split(r"is invalid: \n?|\n", native):
            assert cause.strip() in said

    def test_kubectl_of_a_cluster_on_this_machine_is_corrected_by_run(
        self, cluster: Any, kubectl: Any, pod: Any, tmp_path: Path
    ) -> None:
        """Programs in Go call 127.0.0.1 without the proxy of the environment: the kubeconfig names it."""
        words = ["kubectl", "create", "-n", cluster.namespace(), "-f", "-"]
        kept = {"XDG_DATA_HOME": str(tmp_path), "KUBECONFIG": str(cluster.direct.config), "HOME": str(tmp_path)}
        command = ["corrigible", "run", "--quiet", "--", *words]
        good = run(command, env={**os.environ, **kept}, input=json.dumps(pod))
        assert (good.returncode, good.stdout) == (0, "pod/p created\n"), good.stderr
        no_such_policy(pod)
        bad = run(command, env={**os.environ, **kept}, input=json.dumps(pod))
        assert bad.returncode == 1
        assert 'spec.restartPolicy="Always"' in bad.stderr

    def test_the_status_keeps_every_member_and_says_how_to_go_on(self, cluster: Any, pod: Any) -> None:
        bad_name(pod)
        namespace = cluster.namespace()
        path = f"/api/v1/namespaces/{namespace}/pods"
        with cluster.direct.client() as direct, cluster.through.client() as through:
            plain, more = direct.post(path, json=pod), through.post(path, json=pod)
        assert (plain.status_code, more.status_code) == (422, 422)
        native, status = plain.json(), more.json()
        feedback = status.pop("recovery_feedback")
        assert [found["code"] for found in status.pop("validation_errors")] == ["FieldValueInvalid"]
        causes = status["details"]["causes"]
        assert causes[: len(native["details"]["causes"])] == native["details"]["causes"]
        status["details"]["causes"] = causes[: len(native["details"]["causes"])]
        assert status == native
        assert feedback["recovery"] == "correctable"
        patch = feedback["suggestions"][0]["patch"]
        assert {"op": "replace", "path": "/body/metadata/name", "value": "my-app"} in patch

    def test_none_is_what_the_server_says(self, cluster: Any, pod: Any) -> None:
        bad_name(pod)
        path = f"/api/v1/namespaces/{cluster.namespace()}/pods"
        with cluster.direct.client() as direct, cluster.through.client() as through:
            plain = direct.post(path, json=pod)
            same = through.post(path, json=pod, headers={"Prefer": "recovery-feedback=none"})
        assert same.content == plain.content

    def test_a_client_that_speaks_protobuf_gets_what_it_got(self, cluster: Any, kubectl: Any) -> None:
        """`kubectl create` does: the refusal passes as it came."""
        words = ["create", "namespace", "My_App"]
        direct, through = (kubectl(where, *words) for where in (cluster.direct, cluster.through))
        assert (direct.returncode, through.returncode) == (1, 1)
        assert direct.stderr in through.stderr


def test_nobody_is_warned_of_what_a_client_only_looks_for(cluster: Any, kubectl: Any) -> None:
    namespace = cluster.namespace()
    path = f"/api/v1/namespaces/{namespace}/pods/nothing"
    with cluster.through.client() as client:
        answer = client.get(path)
        assert (answer.status_code, answer.headers.get("warning")) == (404, None)
        assert "recovery_feedback" in answer.json()
        assert client.delete(path).headers["warning"].startswith("299 corrigible ")
    words = ["get", "pod", "nothing", "-n", namespace]
    direct, through = (kubectl(where, *words) for where in (cluster.direct, cluster.through))
    assert (through.returncode, through.stderr) == (direct.returncode, direct.stderr)


class TestThePythonClient:
    def api(self, where: Any) -> Any:
        client = importlib.import_module("kubernetes.client")
        configuration = client.Configuration(host=where.url)
        configuration.ssl_ca_cert = str(where.ca)
        configuration.api_key = {"authorization": "Bearer admin-token"}
        return client.CoreV1Api(client.ApiClient(configuration))

    def refused(self, where: Any, namespace: str, pod: Any) -> Any:
        exceptions = importlib.import_module("kubernetes.client.exceptions")
        with pytest.raises(exceptions.ApiException) as caught:
            self.api(where).create_namespaced_pod(namespace, pod)
        return caught.value

    def test_the_exception_has_what_it_had_and_the_feedback_in_its_body(self, cluster: Any, pod: Any) -> None:
        bad_name(pod)
        namespace = cluster.namespace()
        direct, through = (self.refused(where, namespace, pod) for where in (cluster.direct, cluster.through))
        assert (through.status, through.reason) == (direct.status, direct.reason) == (422, "Unprocessable Entity")
        native, status = json.loads(direct.body), json.loads(through.body)
        for member in ("kind", "apiVersion", "status", "message", "reason", "code"):
            assert status[member] == native[member]
        assert status["recovery_feedback"]["suggestions"][0]["action"] == "MODIFY_PARAMS"

    def test_what_works_works(self, cluster: Any, pod: Any) -> None:
        namespace = cluster.namespace()
        api = self.api(cluster.through)
        api.create_namespaced_pod(namespace, pod)
        assert [found.metadata.name for found in api.list_namespaced_pod(namespace).items] == ["p"]


APPLIED = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
spec:
  restartPolicy: never
  containers:
  - name: c
    image: registry.k8s.io/pause:3.9
"""


def test_server_side_apply_in_yaml_is_understood(cluster: Any) -> None:
    path = f"/api/v1/namespaces/{cluster.namespace()}/pods/p?fieldManager=test"
    headers = {"content-type": "application/apply-patch+yaml"}
    with cluster.direct.client() as direct, cluster.through.client() as through:
        plain = direct.patch(path, content=APPLIED, headers=headers)
        more = through.patch(path, content=APPLIED, headers=headers)
        assert (plain.status_code, more.status_code) == (422, 422)
        feedback = more.json()["recovery_feedback"]
        assert {"op": "replace", "path": "/body/spec/restartPolicy", "value": "Never"} in (
            feedback["suggestions"][0]["patch"]
        )
        taken = through.patch(path, content=APPLIED.replace("never", "Never"), headers=headers)
        assert taken.status_code == 201
