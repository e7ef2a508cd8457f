"""What the admission plugins of the Kubernetes API write into a 403: limits, quotas, Pod Security, PSP, RBAC."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from corrigible.rules.language.quantity import quantity
from corrigible.rules.pointer import MISSING, escape, resolve
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json

from .field_path import Container, members
from .status_errors import FieldError, Said, field_errors

_RANGE = re.compile(
    r"(?P<bound>maximum|minimum) (?P<resource>\S+) usage per (?P<scope>\w+) is (?P<allowed>[\w.+-]*\w)"
    r"(?:, but (?P<side>limit|request) is (?P<given>[\w.+-]*\w)"
    r"|(?:,|\.) +(?:but )?[Nn]o (?P<absent>limit|request) is specified)?"
)
_RATIO = re.compile(
    r"(?<!\S)\[?(?P<resource>[^\s\[]{1,300}) max limit to request ratio per (?P<scope>\w+) "
    r"is (?P<allowed>[\w.+-]*\w), but "
    r"(?:provided ratio is (?P<given>[\d.]*\d)|no (?P<absent>limit|request) is specified)"
)
_EXCEEDED = re.compile(
    r"exceeded quota: (?P<quota>[\w.-]+), requested: (?P<requested>\S+), used: (?P<used>\S+), limited: (?P<limited>\S+)"
)
_UNSPECIFIED = re.compile(
    r"failed quota: (?P<quota>[\w.-]+): must specify (?P<what>.+?)(?=, failed quota: |\]$|$)", re.S
)
_POD_SECURITY = re.compile(r'violates PodSecurity "(?P<level>[^":]*)(?::(?P<profile>[^"]*))?": (?P<clauses>.+)', re.S)
_SUBJECTS = re.compile(r'(?:containers?|volumes?) (?P<names>"[^"]*"(?:, "[^"]*")*)')
_POLICY = re.compile(r"PodSecurityPolicy: unable to (?:admit|validate) (?:pod|\w+): (?P<list>.+)", re.S)
_UNUSABLE = re.compile(r'provider "[^"]*": Forbidden: not usable by user or serviceaccount[, ]*')
_HOST_FLAG = re.compile(r"^(?P<head>.*spec)\.securityContext\.(?P<flag>hostNetwork|hostPID|hostIPC)$")
_HOST_PORT = re.compile(r"^(?P<container>.*\[\d+\])\.hostPort$")
_RBAC = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) (?:resource "(?P<resource>[^"/]*)(?:/(?P<subresource>[^"]*))?" '
    r'in API group "(?P<api_group>[^"]*)"(?: in the namespace "(?P<namespace>[^"]*)")?|path "(?P<path>[^"]*)")'
)
_ESCALATION = re.compile(
    r'user "(?P<user>[^"]*)".{0,400}? attempting to grant RBAC permissions not currently held', re.S
)
_ACCOUNT = re.compile(r"error looking up service account (?P<namespace>[^/\s]+)/(?P<name>[^:\s]+)")
_PRIORITY = re.compile(r"no PriorityClass with name (?P<name>\S+) was found")
_RUNTIME = re.compile(r'RuntimeClass "(?P<name>[^"]*)" not found')
_TERMINATING = re.compile(
    r"unable to create new content in namespace (?P<namespace>\S+) because it is being terminated"
)

_CHECKS: Mapping[str, tuple[str, str]] = {
    # The head of a clause: what the check is called, and the member of a container that it is about.
    "privileged": ("privileged", "securityContext/privileged"),
    "allowPrivilegeEscalation": ("allowPrivilegeEscalation", "securityContext/allowPrivilegeEscalation"),
    "unrestricted capabilities": ("capabilities", "securityContext/capabilities"),
    "non-default capabilities": ("capabilities", "securityContext/capabilities"),
    "runAsNonRoot": ("runAsNonRoot", "securityContext/runAsNonRoot"),
    "runAsUser": ("runAsUser", "securityContext/runAsUser"),
    "seccompProfile": ("seccompProfile", "securityContext/seccompProfile/type"),
    "host namespaces": ("hostNamespaces", ""),
    "hostPath volumes": ("hostPath", "hostPath"),
    "hostPort": ("hostPort", "ports"),
    "restricted volume types": ("volumeTypes", ""),
    "forbidden sysctls": ("sysctls", ""),
    "seLinuxOptions": ("seLinuxOptions", "securityContext/seLinuxOptions"),
    "procMount": ("procMount", "securityContext/procMount"),
    "hostProcess": ("hostProcess", "securityContext/windowsOptions/hostProcess"),
    "forbidden AppArmor profile": ("appArmor", "securityContext/appArmorProfile/type"),
}


def read_forbidden(said: Said) -> Iterator[Violation]:
    """Yield what a 403 of the server itself refuses."""
    for reader in (_rbac, _limits, _quotas, pod_security, _pod_security_policy, _objects):
        found = list(reader(said))
        if found:
            yield from found
            return
    yield said.violation("FORBIDDEN", said.body)


def _rbac(said: Said) -> Iterator[Violation]:
    escalation = _ESCALATION.search(said.body)
    if escalation is not None:
        yield said.violation("RBAC_ESCALATION", said.body, user=escalation["user"])
        return
    found = _RBAC.search(said.text)
    if found is not None:
        native: dict[str, Json] = {
            name: found[name] or "" for name in ("user", "verb", "resource", "subresource", "api_group", "namespace")
        }
        yield said.violation(
            "RBAC", found[0], param=found["resource"] or found["path"] or "", pointer="/path", **native
        )


def _limits(said: Said) -> Iterator[Violation]:
    for match in _RANGE.finditer(said.body):
        bound = "max" if match["bound"] == "maximum" else "min"
        side = f"{match['side'] or match['absent'] or ('limit' if bound == 'max' else 'request')}s"
        yield _limit(said, bound, match, side)
    for match in _RATIO.finditer(said.body):
        yield _limit(said, "ratio", match, f"{match['absent']}s" if match["absent"] else "ratio")


def _limit(said: Said, bound: str, match: re.Match[str], side: str) -> Violation:
    resource, scope, given = match["resource"], match["scope"], match["given"] or ""
    concerned: list[Container] = []
    if scope == "PersistentVolumeClaim":
        places = [f"/body/spec/resources/{side}/{escape(resource)}"]
    else:
        under = "requests" if side == "ratio" else side
        counted = [one for one in said.containers if _amount(one, under, resource) is not None] or said.containers
        concerned = [one for one in counted if scope == "Pod"]
        concerned = concerned or [one for one in said.containers if _is_meant(one, resource, side, given)]
        places = [f"{one.pointer}/resources/{under}/{escape(resource)}" for one in concerned]
    there = said.at(places[0]) if places else MISSING
    return said.violation(
        "LIMIT_RANGE", match[0], param=resource, pointer=places[0] if places else said.pod, places=places,
        containers=[one.name for one in concerned], resource=resource, bound=bound, scope=scope,
        allowed=match["allowed"], given=given, rule=side, value=None if there is MISSING else there,
    )  # fmt: skip


def _is_meant(container: Container, resource: str, side: str, given: str) -> bool:
    """Whether a complaint is about this container: its amount is the one named, or it has none where none is said."""
    limit, request = (_amount(container, kind, resource) for kind in ("limits", "requests"))
    if side == "ratio":
        return bool(limit and request) and abs(float(limit or 0) / float(request or 1) - float(given)) < 1e-3
    amount = limit if side == "limits" else request
    if not given:
        return amount is None
    wanted = quantity(given)
    return amount is not None and wanted is not None and abs(amount - wanted) <= 1e-9 * max(1.0, abs(wanted))


def _amount(container: Container, side: str, resource: str) -> float | None:
    """Return how much a container asks for; the API server takes the limit where there is no request."""
    for kind in (side, "limits"):
        there = resolve(container.value, f"/resources/{kind}/{escape(resource)}")
        if there is not MISSING:
            return quantity(there)
    return None


def _quotas(said: Said) -> Iterator[Violation]:
    for match in _EXCEEDED.finditer(said.body):
        requested, used, limited = (_amounts(match[name]) for name in ("requested", "used", "limited"))
        for resource, given in requested.items():
            places, names = _counted(said, resource)
            yield said.violation(
                "QUOTA_EXCEEDED", match[0], param=resource, pointer=places[0] if places else "", places=places,
                containers=names, quota=match["quota"], resource=resource, given=given, used=used.get(resource, ""),
                allowed=limited.get(resource, ""),
            )  # fmt: skip
    for match in _UNSPECIFIED.finditer(said.body):
        for resource, lacking in _lacking(match["what"]):
            places, names = _counted(said, resource, absent=True)
            named = [one for one in zip(names, places, strict=True) if not lacking or one[0] in lacking]
            yield said.violation(
                "QUOTA_MUST_SPECIFY", match[0], param=resource, pointer=named[0][1] if named else "",
                places=[place for _, place in named], containers=[name for name, _ in named], quota=match["quota"],
                resource=resource,
            )  # fmt: skip


def _amounts(listed: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in listed.strip("[]").split(",") if "=" in part)
    return {name: amount for name, _, amount in pairs}


def _lacking(what: str) -> Iterator[tuple[str, list[str]]]:
    """Read `limits.cpu,requests.cpu`, and `limits.cpu for: a,b; requests.cpu for: a` of newer servers."""
    if " for: " in what:
        for part in what.split("; "):
            resource, _, names = part.partition(" for: ")
            yield resource.strip(), [name.strip() for name in names.split(",")]
    else:
        yield from ((resource.strip(), []) for resource in what.split(",") if resource.strip())


def _counted(said: Said, resource: str, *, absent: bool = False) -> tuple[list[str], list[str]]:
    """Return where a request says how much of a quota's resource it takes, and the containers that do."""
    side, dot, name = resource.partition(".")
    if side not in ("requests", "limits") or not dot:
        side, name = "requests", resource
    if name == "storage" and said.at("/body/spec/resources") is not MISSING and not said.pod:
        return ["/body/spec/resources/requests/storage"], [""]
    if not (dot or name in ("cpu", "memory", "ephemeral-storage") or name.startswith("hugepages-")):
        return [], []
    found = [one for one in said.containers if "/initContainers/" not in one.pointer or not absent]
    found = [one for one in found if (_amount(one, side, name) is None) == absent]
    return [f"{one.pointer}/resources/{side}/{escape(name)}" for one in found], [one.name for one in found]


def pod_security(said: Said) -> Iterator[Violation]:
    """Yield one violation for every clause of a Pod Security denial."""
    found = _POD_SECURITY.search(said.text)
    if found is None:
        return
    for clause in _clauses(found["clauses"]):
        head, _, detail = clause.partition(" (")
        detail = detail.removesuffix(")")
        check, member = next((known for start, known in _CHECKS.items() if head.startswith(start)), (head, ""))
        names, places = _pod_places(said, check, member, detail)
        there = said.at(places[0]) if places else MISSING
        yield said.violation(
            "POD_SECURITY", detail or head, param=check, pointer=places[0] if places else said.pod, places=places,
            containers=names, level=found["level"], profile=found["profile"] or "latest", rule=head,
            value=there if isinstance(there, (str, int, bool)) else None,
        )  # fmt: skip


def _clauses(text: str) -> list[str]:
    out, depth, quoted, start = [], 0, False, 0
    for at, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif not quoted and char in "()":
            depth += 1 if char == "(" else -1
        elif char == "," and depth == 0 and not quoted:
            out.append(text[start:at].strip())
            start = at + 1
    return [clause for clause in (*out, text[start:].strip()) if clause]


def _pod_places(said: Said, check: str, member: str, detail: str) -> tuple[list[str], list[str]]:
    """Return the containers that a clause names, and the members that it is about."""
    pod = said.pod
    if check == "hostNamespaces":
        return [], [f"{pod}/{flag}" for flag in re.findall(r"(host\w+)=true", detail)]
    if check == "sysctls":
        return [], _named(said, f"{pod}/securityContext/sysctls", [name.strip() for name in detail.split(",")])
    if check in ("hostPath", "volumeTypes"):
        volumes = [name for names in _SUBJECTS.findall(detail) for name in re.findall(r'"([^"]*)"', names)]
        tail = "/hostPath" if check == "hostPath" else ""
        return [], [f"{place}{tail}" for place in _named(said, f"{pod}/volumes", volumes)]
    names: list[str] = []
    places: list[str] = []
    for part in detail.split("; "):
        subject = _SUBJECTS.search(part)
        asked = re.findall(r'"([^"]*)"', subject["names"]) if subject else []
        deeper = member
        if check == "capabilities":
            deeper = f"{member}/{'drop' if 'capabilities.drop' in part else 'add'}"
        for container in said.containers:
            if container.name in asked:
                names.append(container.name)
                places += _host_ports(container) if check == "hostPort" else [f"{container.pointer}/{deeper}"]
        if subject is None and member and part.startswith("pod "):
            places.append(f"{pod}/{deeper}")
    return list(dict.fromkeys(names)), list(dict.fromkeys(places))


def _host_ports(container: Container) -> list[str]:
    ports = container.value.get("ports")
    return [
        f"{container.pointer}/ports/{index}/hostPort"
        for index, port in enumerate(ports if isinstance(ports, list) else ())
        if isinstance(port, Mapping) and port.get("hostPort")
    ]


def _named(said: Said, pointer: str, names: Sequence[str]) -> list[str]:
    there = said.at(pointer)
    return [
        f"{pointer}/{index}"
        for index, one in enumerate(there if isinstance(there, list) else ())
        if isinstance(one, Mapping) and one.get("name") in names
    ]


def _pod_security_policy(said: Said) -> Iterator[Violation]:
    if "PodSecurityPolicy: no providers available" in said.body:
        yield said.violation("PSP_NO_PROVIDER", said.body, pointer=said.pod)
        return
    found = _POLICY.search(said.body)
    if found is None:
        return
    usable = _UNUSABLE.sub("", found["list"])
    if not usable.strip("[], "):
        yield said.violation("PSP_NO_PROVIDER", said.body, pointer=said.pod)
        return
    for error in _once(field_errors(usable)):
        moved = _moved(said, error)
        violation = said.field(moved, "PSP")
        yield violation._replace(param=error.field)


def _once(errors: Iterable[FieldError]) -> list[FieldError]:
    """Keep a complaint once that several policies have."""
    return list({(error.field, error.rendered): error for error in errors}.values())


def _moved(said: Said, error: FieldError) -> FieldError:
    """Turn the places of a PodSecurityPolicy into those of the API: the host flags stand right in the spec."""
    flag = _HOST_FLAG.match(error.field)
    if flag is not None:
        return error._replace(field=f"{flag['head']}.{flag['flag']}")
    port = _HOST_PORT.match(error.field)
    if port is not None:
        base = "/body/" + re.sub(r"[.\[\]]+", "/", port["container"].removeprefix("pod.")).strip("/")
        ports = said.at(f"{base}/ports")
        held = [there for there in members(ports, "hostPort", "") if resolve(ports, there) == error.value]
        if held:
            return error._replace(field=f"{port['container']}.ports[{held[0].split('/')[1]}].hostPort")
    return error


def _objects(said: Said) -> Iterator[Violation]:
    """What a pod refers to and is not there, and a namespace that is going away."""
    for pattern, code, member in (
        (_ACCOUNT, "SERVICE_ACCOUNT_NOT_FOUND", "serviceAccountName"),
        (_PRIORITY, "PRIORITY_CLASS_NOT_FOUND", "priorityClassName"),
        (_RUNTIME, "RUNTIME_CLASS_NOT_FOUND", "runtimeClassName"),
    ):
        found = pattern.search(said.body)
        if found is not None:
            pointer = f"{said.pod}/{member}" if said.pod else ""
            yield said.violation(code, said.body, param=member, pointer=pointer, value=found["name"], places=[pointer])
            return
    found = _TERMINATING.search(said.body)
    if found is not None:
        yield said.violation(
            "NAMESPACE_TERMINATING",
            said.body,
            param="metadata.namespace",
            pointer="/path",
            namespace=found["namespace"],
        )


__all__ = ["pod_security", "read_forbidden"]
