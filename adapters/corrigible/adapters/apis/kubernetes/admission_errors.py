"""Errors of the Kubernetes API's admission plugins in a 403: limits, quotas, Pod Security, PSP, RBAC."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import yaml

from corrigible.rules.functions.builtin import quantity
from corrigible.rules.pointer import MISSING, escape, resolve
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json

from .status_errors import MOST_COMPLAINTS, Container, FieldError, Refusal, field_errors, members, mentioned

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
_REFERENCES = (
    (
        re.compile(r"error looking up service account [^/\s]+/(?P<name>[^:\s]+)"),
        "SERVICE_ACCOUNT_NOT_FOUND", "serviceAccountName",
    ),
    (
        re.compile(r"no PriorityClass with name (?P<name>\S+) was found"),
        "PRIORITY_CLASS_NOT_FOUND", "priorityClassName",
    ),
    (re.compile(r'RuntimeClass "(?P<name>[^"]*)" not found'), "RUNTIME_CLASS_NOT_FOUND", "runtimeClassName"),
)  # fmt: skip
_TERMINATING = re.compile(
    r"unable to create new content in namespace (?P<namespace>\S+) because it is being terminated"
)

_CHECKS: Mapping[str, tuple[str, str]] = {
    # The head of a clause: the name of the check, and the member of a container that it is about.
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


def read_forbidden(refusal: Refusal) -> Iterator[Violation]:
    """Yield what a 403 of the server itself refuses."""
    for reader in (_rbac, _limits, _quotas, pod_security, _pod_security_policy, _objects):
        violations = list(reader(refusal))
        if violations:
            yield from violations
            return
    yield refusal.violation("FORBIDDEN", refusal.body)


def _rbac(refusal: Refusal) -> Iterator[Violation]:
    escalation = _ESCALATION.search(refusal.body)
    if escalation is not None:
        yield refusal.violation("RBAC_ESCALATION", refusal.body, user=escalation["user"])
        return
    match = _RBAC.search(refusal.text)
    if match is not None:
        native: dict[str, Json] = {name: value or "" for name, value in match.groupdict().items()}
        path = native.pop("path")
        param = str(native["resource"] or path)
        yield refusal.violation("RBAC", match[0], param=param, pointer="/path", **native)


def _limits(refusal: Refusal) -> Iterator[Violation]:
    for match in _RANGE.finditer(refusal.body):
        bound = "max" if match["bound"] == "maximum" else "min"
        side = f"{match['side'] or match['absent'] or ('limit' if bound == 'max' else 'request')}s"
        yield _limit(refusal, bound, match, side)
    for match in _RATIO.finditer(refusal.body):
        yield _limit(refusal, "ratio", match, f"{match['absent']}s" if match["absent"] else "ratio")


def _limit(refusal: Refusal, bound: str, match: re.Match[str], side: str) -> Violation:
    resource, scope, limit = match["resource"], match["scope"], match["given"] or ""
    concerned: list[Container] = []
    if scope == "PersistentVolumeClaim":
        places = [f"/body/spec/resources/{side}/{escape(resource)}"]
    else:
        under = "requests" if side == "ratio" else side
        counted_containers = [
            container for container in refusal.containers if _amount(container, under, resource) is not None
        ] or refusal.containers
        concerned = [container for container in counted_containers if scope == "Pod"]
        concerned = concerned or [
            container for container in refusal.containers if _is_concerned(container, resource, side, limit)
        ]
        places = [f"{container.pointer}/resources/{under}/{escape(resource)}" for container in concerned]
    return refusal.about(
        "LIMIT_RANGE", match[0], places, param=resource, fallback=refusal.pod, rule=side,
        containers=[container.name for container in concerned], resource=resource, bound=bound, scope=scope,
        allowed=match["allowed"], given=limit,
    )  # fmt: skip


def _is_concerned(container: Container, resource: str, side: str, given: str) -> bool:
    """Whether an error is about this container: its amount is the one named, or both are absent."""
    limit, request = (_amount(container, kind, resource) for kind in ("limits", "requests"))
    if side == "ratio":
        return bool(limit and request) and abs(float(limit or 0) / float(request or 1) - float(given)) < 1e-3
    amount = limit if side == "limits" else request
    if not given:
        return amount is None
    limit_quantity = quantity(given)
    return (
        amount is not None
        and limit_quantity is not None
        and abs(amount - limit_quantity) <= 1e-9 * max(1.0, abs(limit_quantity))
    )


def _amount(container: Container, side: str, resource: str) -> float | None:
    """Return the amount that a container requests; its limit where it has no request, as the API server does."""
    for kind in (side, "limits"):
        value = resolve(container.value, f"/resources/{kind}/{escape(resource)}")
        if value is not MISSING:
            return quantity(value)
    return None


def _quotas(refusal: Refusal) -> Iterator[Violation]:
    for match in _EXCEEDED.finditer(refusal.body):
        requested, used, limited = (_amounts(match[name]) for name in ("requested", "used", "limited"))
        for resource, amount in requested.items():
            places, names = _counted_amounts(refusal, resource)
            yield refusal.about(
                "QUOTA_EXCEEDED", match[0], places, param=resource, value=None, containers=names, resource=resource,
                quota=match["quota"], given=amount, used=used.get(resource, ""), allowed=limited.get(resource, ""),
            )  # fmt: skip
    for match in _UNSPECIFIED.finditer(refusal.body):
        for resource, lacking in _lacking(match["what"]):
            places, names = _counted_amounts(refusal, resource, absent=True)
            concerned = [pair for pair in zip(names, places, strict=True) if not lacking or pair[0] in lacking]
            yield refusal.about(
                "QUOTA_MUST_SPECIFY", match[0], [place for _, place in concerned], param=resource,
                containers=[name for name, _ in concerned], quota=match["quota"], resource=resource,
            )  # fmt: skip


def _amounts(listed: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in listed.strip("[]").split(",") if "=" in part)
    return {name: amount for name, _, amount in pairs}


def _lacking(text: str) -> Iterator[tuple[str, list[str]]]:
    """Read `limits.cpu,requests.cpu`, and `limits.cpu for: a,b; requests.cpu for: a` of newer servers."""
    if " for: " in text:
        for part in text.split("; "):
            resource, _, names = part.partition(" for: ")
            yield resource.strip(), [name.strip() for name in names.split(",")]
    else:
        yield from ((resource.strip(), []) for resource in text.split(",") if resource.strip())


def _counted_amounts(refusal: Refusal, resource: str, *, absent: bool = False) -> tuple[list[str], list[str]]:
    """Return the places of the amounts of a quota's resource, and the containers that have them."""
    side, dot, name = resource.partition(".")
    if side not in ("requests", "limits") or not dot:
        side, name = "requests", resource
    if name == "storage" and refusal.at("/body/spec/resources") is not MISSING and not refusal.pod:
        return ["/body/spec/resources/requests/storage"], [""]
    if not (dot or name in ("cpu", "memory", "ephemeral-storage") or name.startswith("hugepages-")):
        return [], []
    counted_containers = [
        container
        for container in refusal.containers
        if (_amount(container, side, name) is None) == absent
        and not (absent and "/initContainers/" in container.pointer)
    ]
    return [f"{container.pointer}/resources/{side}/{escape(name)}" for container in counted_containers], [
        container.name for container in counted_containers
    ]


def pod_security(refusal: Refusal) -> Iterator[Violation]:
    """Yield one violation for every clause of a Pod Security denial."""
    match = _POD_SECURITY.search(refusal.text)
    if match is None:
        return
    for clause in _clauses(match["clauses"]):
        head, _, detail = clause.partition(" (")
        detail = detail.removesuffix(")")
        check, member = next((check for start, check in _CHECKS.items() if head.startswith(start)), (head, ""))
        names, places = _pod_places(refusal, check, member, detail)
        yield refusal.about(
            "POD_SECURITY", detail or head, places, param=check, fallback=refusal.pod, containers=names,
            level=match["level"], profile=match["profile"] or "latest", rule=head,
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


def _pod_places(refusal: Refusal, check: str, member: str, detail: str) -> tuple[list[str], list[str]]:
    """Return the containers that a clause names, and the members that it is about."""
    pod = refusal.pod
    if check == "hostNamespaces":
        return [], [f"{pod}/{flag}" for flag in re.findall(r"(host\w+)=true", detail)]
    if check == "sysctls":
        return [], _named(refusal, f"{pod}/securityContext/sysctls", [name.strip() for name in detail.split(",")])
    if check in ("hostPath", "volumeTypes"):
        volumes = [name for names in _SUBJECTS.findall(detail) for name in re.findall(r'"([^"]*)"', names)]
        tail = "/hostPath" if check == "hostPath" else ""
        return [], [f"{place}{tail}" for place in _named(refusal, f"{pod}/volumes", volumes)]
    names: list[str] = []
    places: list[str] = []
    for part in detail.split("; "):
        subject = _SUBJECTS.search(part)
        named = re.findall(r'"([^"]*)"', subject["names"]) if subject else []
        deeper = member
        if check == "capabilities":
            deeper = f"{member}/{'drop' if 'capabilities.drop' in part else 'add'}"
        for container in refusal.containers:
            if container.name in named:
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


def _named(refusal: Refusal, pointer: str, names: Sequence[str]) -> list[str]:
    value = refusal.at(pointer)
    return [
        f"{pointer}/{index}"
        for index, element in enumerate(value if isinstance(value, list) else ())
        if isinstance(element, Mapping) and element.get("name") in names
    ]


def _pod_security_policy(refusal: Refusal) -> Iterator[Violation]:
    match = _POLICY.search(refusal.body)
    usable = _UNUSABLE.sub("", match["list"]) if match is not None else ""
    if "PodSecurityPolicy: no providers available" in refusal.body or (match and not usable.strip("[], ")):
        yield refusal.violation("PSP_NO_PROVIDER", refusal.body, pointer=refusal.pod)
        return
    for error in _once(field_errors(usable)):
        yield refusal.field(_moved(refusal, error), "PSP")._replace(param=error.field)


def _once(errors: Iterable[FieldError]) -> list[FieldError]:
    """Drop errors that several policies repeat."""
    return list({(error.field, error.rendered): error for error in errors}.values())


def _moved(refusal: Refusal, error: FieldError) -> FieldError:
    """Turn the places of a PodSecurityPolicy into those of the API, where the host flags are members of the spec."""
    flag = _HOST_FLAG.match(error.field)
    if flag is not None:
        return error._replace(field=f"{flag['head']}.{flag['flag']}")
    port = _HOST_PORT.match(error.field)
    if port is not None:
        base = "/body/" + re.sub(r"[.\[\]]+", "/", port["container"].removeprefix("pod.")).strip("/")
        ports = refusal.at(f"{base}/ports")
        with_value = [place for place in members(ports, "hostPort", "") if resolve(ports, place) == error.value]
        if with_value:
            return error._replace(field=f"{port['container']}.ports[{with_value[0].split('/')[1]}].hostPort")
    return error


def _objects(refusal: Refusal) -> Iterator[Violation]:
    """Objects that a pod refers to and that are not there, and a namespace that is going away."""
    for pattern, code, member in _REFERENCES:
        match = pattern.search(refusal.body)
        if match is not None:
            pointer = f"{refusal.pod}/{member}" if refusal.pod else ""
            yield refusal.about(code, refusal.body, [pointer], param=member, value=match["name"])
            return
    match = _TERMINATING.search(refusal.body)
    if match is not None:
        yield refusal.violation(
            "NAMESPACE_TERMINATING", refusal.body, param="metadata.namespace", pointer="/path",
            namespace=match["namespace"],
        )  # fmt: skip


_GATEKEEPER = re.compile(
    r"^\[(?:denied by )?(?P<constraint>[a-z0-9][\w.-]*)\] (?P<text>.*?)(?=^\[(?:denied by )?[a-z0-9][\w.-]*\] |\Z)",
    re.M | re.S,
)
_ANGLED = re.compile(r"<([^<>]{1,253})>")
_KYVERNO = re.compile(r"was blocked due to the following policies\s*")
_KYVERNO_PATH = re.compile(r"failed at path (?P<path>/\S*)")
_CHECKOV = re.compile(
    r"^(?P<id>CKV2?_[A-Z0-9]+_\d+):?[ \t]*(?P<rest>.*)$(?:\s+Description:[ \t]*(?P<description>.*)$)?", re.M
)
_ISTIO = "configuration is invalid: "
_BULLET = re.compile(r"\n\s{0,40}\* (.*?)(?=\n\s{0,40}\* |\Z)", re.S)
_MAPS = frozenset({"annotations", "data", "labels", "matchLabels", "nodeSelector", "stringData"})
_MOST_TEXT = 64 * 1024


def read_webhook(refusal: Refusal, denial: str) -> list[Violation]:
    """Return the violations of a denial by its dialect; of an unknown one the whole text as one violation."""
    denial = denial.strip("\n ")
    for reader in _READERS:
        violations = list(islice(reader(refusal, denial), MOST_COMPLAINTS))
        if violations:
            return violations
    webhook = refusal.webhook
    return list(pod_security(refusal)) or [refusal.violation("WEBHOOK", denial, param=webhook, policy=webhook)]


def _gatekeeper(refusal: Refusal, denial: str) -> Iterator[Violation]:
    for match in _GATEKEEPER.finditer(denial):
        text = match["text"].strip()
        places, names = _containers(refusal, text)
        constraint = match["constraint"]
        yield refusal.about("GATEKEEPER", text, places, param=constraint, containers=names, policy=constraint)


def _containers(refusal: Refusal, text: str) -> tuple[list[str], list[str]]:
    """Return the containers a text names: in angle brackets or quotes anywhere, bare only after the word itself."""
    marked = {*_ANGLED.findall(text), *re.findall(r'"([^"]{1,253})"', text)}
    containers = refusal.containers
    bare = [name for name in mentioned([one.name for one in containers], text) if f"container {name}" in text.lower()]
    named = [one for one in containers if one.name in marked.union(bare)]
    return [one.pointer for one in named], [one.name for one in named]


def _kyverno(refusal: Refusal, denial: str) -> Iterator[Violation]:
    header = _KYVERNO.search(denial[:_MOST_TEXT])
    if header is None:
        return
    try:
        policies = yaml.load(denial[header.end() : _MOST_TEXT], Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, ValueError):
        return
    for policy, rules in policies.items() if isinstance(policies, Mapping) else ():
        for rule, text in rules.items() if isinstance(rules, Mapping) else (("", rules),):
            if isinstance(text, str):
                yield _kyverno_rule(refusal, str(policy), str(rule), text)


def _kyverno_rule(refusal: Refusal, policy: str, rule: str, text: str) -> Violation:
    path = _KYVERNO_PATH.search(text)
    pointer = _slash_pointer(refusal, path["path"]) if path else ""
    message = text[: path.start()] if path else text
    message = re.sub(rf"\s*rule {re.escape(rule)}\s*$", "", message).removeprefix("validation error: ").strip()
    return refusal.about(
        "KYVERNO", message, [pointer] if pointer else [], policy=policy, rule=rule,
        param=rule.removeprefix("autogen-cronjob-").removeprefix("autogen-"),
        containers=[item.name for item in refusal.containers if f"{pointer}/".startswith(f"{item.pointer}/")],
    )  # fmt: skip


def _slash_pointer(refusal: Refusal, path: str) -> str:
    """Turn Kyverno's `/metadata/labels/app.kubernetes.io/name/` into a pointer: keys have slashes of their own."""
    parts = path.strip("/").split("/")
    node: Json = refusal.request.body
    pointer = "/body"
    at = 0
    while at < len(parts):
        used = _key_length(node, parts[at:], at > 0 and parts[at - 1] in _MAPS)
        name = "/".join(parts[at : at + used])
        pointer += f"/{escape(name)}"
        node = resolve(node, f"/{escape(name)}") if isinstance(node, (dict, list)) else MISSING
        at += used
    return pointer if pointer != "/body" else ""


def _key_length(node: Json, parts: Sequence[str], keyed: bool) -> int:
    if isinstance(node, Mapping):
        for used in range(1, len(parts) + 1):
            if "/".join(parts[:used]) in node:
                return used
    return len(parts) if keyed else 1


def _checkov(refusal: Refusal, denial: str) -> Iterator[Violation]:
    containers = refusal.containers
    for match in _CHECKOV.finditer(denial):
        yield refusal.violation(
            "CHECKOV", (match["description"] or match["rest"] or "").strip(), param=match["id"],
            pointer=refusal.pod, places=[container.pointer for container in containers],
            containers=[container.name for container in containers], policy=match["id"],
        )  # fmt: skip


def _istio(refusal: Refusal, denial: str) -> Iterator[Violation]:
    if not denial.startswith(_ISTIO):
        return
    text = denial[len(_ISTIO) :]
    for problem in _BULLET.findall(text) or [text]:
        yield refusal.violation("ISTIO", problem.strip(), param=refusal.webhook)


def _fields(refusal: Refusal, denial: str) -> Iterator[Violation]:
    """Kubernetes' own field errors, as cert-manager and other controllers written in Go list them."""
    errors = field_errors(denial)
    starts = errors and denial.removeprefix("[").startswith(errors[0].field)
    subject = re.match(r'[\w.\-/]+ "[^"]*" is invalid: ', denial)
    if starts or subject:
        yield from (refusal.field(error) for error in errors)


_READERS: Sequence[Callable[[Refusal, str], Iterator[Violation]]] = (_kyverno, _gatekeeper, _checkov, _istio, _fields)
