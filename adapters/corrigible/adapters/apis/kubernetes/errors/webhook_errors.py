"""Denials of admission webhooks: Gatekeeper, Kyverno, Istio, checkov and others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import yaml

from corrigible.rules.pointer import MISSING, escape, resolve
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json

from .admission_errors import pod_security
from .status_errors import MOST_COMPLAINTS, Refusal, field_errors, mentioned

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
