"""The policy rules of the Kubernetes pack, judged by the policy itself: Pod Security as its checks are written."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jsonpatch
import orjson
import pytest

from corrigible.proxy.core.decision import Annotate
from corrigible.proxy.core.engine import Engine
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.lookup import LookupAnswer
from corrigible.rules.pack.cases import load_cases
from corrigible.rules.pack.load import rule_files
from corrigible.schema.exchange import Exchange, Request
from tests._support.built_in_packs import pack_of, profile_of
from tests._support.rows import rows

Pod = dict[str, Any]

BASELINE = frozenset(
    {
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
        *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    }
)
QUIET = {"/spec/securityContext/seccompProfile", "/spec/securityContext/runAsNonRoot"}


def quoted(names: list[str], one: str = "container") -> str:
    return f"{one}{'' if len(names) == 1 else 's'} " + ", ".join(f'"{name}"' for name in names)


def at(value: Mapping[str, Any], *path: str) -> Any:
    here: Any = value
    for name in path:
        here = (here or {}).get(name)
    return here


def violations(pod: Pod, level: str) -> Iterator[str]:
    """Yield the clauses that Pod Security would refuse a pod with (k8s.io/pod-security-admission/policy)."""
    spec, context = pod["spec"], pod["spec"].get("securityContext") or {}
    containers = [*spec.get("initContainers", []), *spec["containers"]]

    def those(holds: Callable[[Mapping[str, Any]], bool]) -> list[str]:
        return [c["name"] for c in containers if holds(c.get("securityContext") or {})]

    def added(security: Mapping[str, Any]) -> set[str]:
        return set(at(security, "capabilities", "add") or ()) - ({"NET_BIND_SERVICE"} if restricted else BASELINE)

    def who(member: str, value: object) -> str:
        inside = those(lambda s: at(s, *member.split(".")) == value)
        named = ["pod"] if at(context, *member.split(".")) == value else []
        return " and ".join([*named, *([quoted(inside)] if inside else [])])

    restricted = level == "restricted"
    if bad := those(lambda s: s.get("privileged") is True):
        yield f"privileged ({quoted(bad)} must not set securityContext.privileged=true)"
    if restricted and (bad := those(lambda s: s.get("allowPrivilegeEscalation") is not False)):
        said = "must set securityContext.allowPrivilegeEscalation=false"
        yield f"allowPrivilegeEscalation != false ({quoted(bad)} {said})"
    details = []
    if restricted and (bad := those(lambda s: "ALL" not in (at(s, "capabilities", "drop") or ()))):
        details.append(f'{quoted(bad)} must set securityContext.capabilities.drop=["ALL"]')
    if bad := those(lambda s: bool(added(s))):
        which = sorted(set().union(*(added(c.get("securityContext") or {}) for c in containers)))
        listed = ", ".join(f'"{name}"' for name in which)
        details.append(f"{quoted(bad)} must not include {listed} in securityContext.capabilities.add")
    if details:
        yield f"{'unrestricted' if restricted else 'non-default'} capabilities ({'; '.join(details)})"
    if shared := [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]:
        yield f"host namespaces ({', '.join(shared)})"
    if ports := sorted({str(p["hostPort"]) for c in containers for p in c.get("ports", ()) if p.get("hostPort")}):
        bad = [c["name"] for c in containers if any(p.get("hostPort") for p in c.get("ports", ()))]
        yield f"hostPort ({quoted(bad)} uses hostPorts {', '.join(ports)})"
    if restricted:
        unset = those(lambda s: s.get("runAsNonRoot") is None)
        if bad_ones := who("runAsNonRoot", False):
            yield f"runAsNonRoot != true ({bad_ones} must not set securityContext.runAsNonRoot=false)"
        elif unset and context.get("runAsNonRoot") is None:
            yield f"runAsNonRoot != true (pod or {quoted(unset)} must set securityContext.runAsNonRoot=true)"
        if bad_ones := who("runAsUser", 0):
            yield f"runAsUser=0 ({bad_ones} must not set runAsUser=0)"
    if bad_ones := who("seccompProfile.type", "Unconfined"):
        yield f'seccompProfile ({bad_ones} must not set securityContext.seccompProfile.type to "Unconfined")'
    elif restricted and not context.get("seccompProfile") and (bad := those(lambda s: not s.get("seccompProfile"))):
        said = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        yield f"seccompProfile (pod or {quoted(bad)} {said})"


def random_pod(dice: random.Random) -> Pod:
    def security(*members: tuple[float, str, Sequence[object]]) -> dict[str, object]:
        return {name: dice.choice(values) for odds, name, values in members if dice.random() < odds}

    everywhere = (
        (0.2, "runAsNonRoot", [True, False]),
        (0.3, "runAsUser", [0, 1000]),
        (0.25, "seccompProfile", [{"type": "RuntimeDefault"}, {"type": "Unconfined"}]),
    )
    capabilities = [{"add": ["NET_ADMIN", "CHOWN"]}, {"drop": ["ALL"]}, {"drop": ["NET_RAW"], "add": ["SYS_TIME"]}]
    members = (
        *everywhere,
        (0.1, "privileged", [True, False]),
        (0.35, "allowPrivilegeEscalation", [True, False]),
        (0.4, "capabilities", [*capabilities, {}]),
    )
    ports = [[{"containerPort": 80}], [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81}]]

    def container(name: str) -> dict[str, Any]:
        return {"name": name, "image": "x:1", "securityContext": security(*members), "ports": dice.choice(ports)}

    names = dice.sample(["c", "web", "c-2", "sidecar"], dice.randint(1, 3))
    spec: dict[str, Any] = {"containers": [container(name) for name in names]}
    if dice.random() < 0.3:
        spec["initContainers"] = [{"name": "init", "image": "x:1"}]
    if dice.random() < 0.5:
        spec["securityContext"] = security(*everywhere)
    spec.update({name: True for name in ("hostNetwork", "hostPID") if dice.random() < 0.1})
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine([profile_of("kubernetes")])


def feedback(engine: Engine, pod: Pod, level: str) -> dict[str, Any]:
    said = f'pods "p" is forbidden: violates PodSecurity "{level}:latest": {", ".join(violations(pod, level))}'
    status = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": said}
    request = Request("POST", "/api/v1/namespaces/t/pods", {}, {"content-type": "application/json"}, pod, False)
    exchange = Exchange(request, 403, {"content-type": "application/json"}, orjson.dumps(status), "e", 0.0, 0.0)
    decision = run_with_lookups_sync(engine.decide(exchange), lambda _: LookupAnswer(0))
    assert isinstance(decision, Annotate), decision
    found: dict[str, Any] = orjson.loads(decision.encoded)
    return found


def agreed(pod: Pod, answer: Mapping[str, Any]) -> Pod:
    """Return the pod with everything that is suggested, as somebody who agrees to all of it would send it."""
    document = {"body": copy.deepcopy(pod)}
    for suggestion in answer["suggestions"]:
        document = jsonpatch.apply_patch(document, suggestion["patch"])
    body: Pod = document["body"]
    return body


def changes(before: Any, after: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each place where two documents differ, with what stood there."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in {**before, **after}:
            yield from changes(before.get(name), after.get(name), f"{place}/{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from changes(one, other, f"{place}/{index}")
    elif before != after:
        yield place, before


@rows("seed", range(8))
def test_what_is_suggested_satisfies_the_policy(engine: Engine, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(15):
        pod, level = random_pod(dice), dice.choice(["baseline", "restricted"])
        for _ in range(2):  # what stands in for a removed setting may have a clause of its own
            if list(violations(pod, level)):
                pod = agreed(pod, feedback(engine, pod, level))
        assert list(violations(pod, level)) == []


@rows("seed", range(8))
def test_what_was_asked_for_by_name_goes_only_by_agreement(engine: Engine, seed: int) -> None:
    dice = random.Random(100 + seed)
    for _ in range(15):
        pod, level = random_pod(dice), dice.choice(["baseline", "restricted"])
        if not list(violations(pod, level)):
            continue
        answer = feedback(engine, pod, level)
        changed = dict(changes(pod, agreed(pod, answer)))
        given = {place for place, value in changed.items() if value not in (None, {}, []) and "/drop" not in place}
        assert (answer["type"] == "intent_disambiguation") is bool(given)
        for suggestion in answer["suggestions"]:
            safety = suggestion["safety"]
            assert safety["changes_intent"] or {place for place in changed if place != "/spec/securityContext"} <= QUIET
            assert bool(given) is safety.get("requires_confirmation", False)


def test_no_policy_is_talked_out_of_it_by_a_label() -> None:
    """Law 5: no literal edit writes a label or an annotation that a policy might go by."""
    pack = pack_of("kubernetes")
    known = Engine([profile_of("kubernetes")])
    allowed = ("ingress.allow-http", "apparmor.security", "seccomp.security")
    seen = 0
    for file in rule_files(pack.path):
        for case in load_cases(file):
            message = case.text.response.body.get("message", "") if isinstance(case.text.response.body, dict) else ""
            if not ("denied the request" in message or "violates PodSecurity" in message or "Policy" in message):
                continue
            decision = run_with_lookups_sync(known.decide(case.exchange), lambda _: LookupAnswer(0))
            if not isinstance(decision, Annotate):
                continue
            for suggestion in orjson.loads(decision.encoded)["suggestions"]:
                for op in suggestion.get("patch", ()):
                    seen += 1
                    guarded = "/metadata/labels" in op["path"] or "/metadata/annotations" in op["path"]
                    assert op["op"] in ("test", "remove") or not guarded or any(n in op["path"] for n in allowed), op
    assert seen > 40
