"""What admission webhooks write into their denials: Gatekeeper, Kyverno, Istio, checkov and others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import yaml

from corrigible.rules.pointer import MISSING, escape, resolve
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json

from .admission_errors import pod_security
from .status_errors import MOST_COMPLAINTS, Said, field_errors, mentioned

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


def read_webhook(said: Said, denial: str) -> list[Violation]:
    """Return what a denial complains about, by the dialect it is written in; else all of it as one complaint."""
    denial = denial.strip("\n ")
    readers: Sequence[Callable[[Said, str], Iterator[Violation]]] = (_kyverno, _gatekeeper, _checkov, _istio, _fields)
    for reader in readers:
        found = list(islice(reader(said, denial), MOST_COMPLAINTS))
        if found:
            return found
    return list(pod_security(said)) or [said.violation("WEBHOOK", denial, param=said.webhook, policy=said.webhook)]


def _gatekeeper(said: Said, denial: str) -> Iterator[Violation]:
    for match in _GATEKEEPER.finditer(denial):
        text = match["text"].strip()
        places, names = _containers(said, text)
        yield said.violation(
            "GATEKEEPER", text, param=match["constraint"], pointer=places[0] if places else "", places=places,
            containers=names, policy=match["constraint"],
        )  # fmt: skip


def _containers(said: Said, text: str) -> tuple[list[str], list[str]]:
    """Return the containers a text names: in angle brackets or quotes anywhere, bare only after the word itself."""
    marked = {*_ANGLED.findall(text), *re.findall(r'"([^"]{1,253})"', text)}
    bare = {
        name for name in mentioned([one.name for one in said.containers], text) if f"container {name}" in text.lower()
    }
    found = [one for one in said.containers if one.name in marked | bare]
    return [one.pointer for one in found], [one.name for one in found]


def _kyverno(said: Said, denial: str) -> Iterator[Violation]:
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
                yield _kyverno_rule(said, str(policy), str(rule), text)


def _kyverno_rule(said: Said, policy: str, rule: str, text: str) -> Violation:
    path = _KYVERNO_PATH.search(text)
    pointer = _slash_pointer(said, path["path"]) if path else ""
    there = said.at(pointer)
    message = text[: path.start()] if path else text
    message = re.sub(rf"\s*rule {re.escape(rule)}\s*$", "", message).removeprefix("validation error: ").strip()
    return said.violation(
        "KYVERNO", message, param=rule.removeprefix("autogen-cronjob-").removeprefix("autogen-"), pointer=pointer,
        places=[pointer] if pointer else [], policy=policy, rule=rule,
        value=there if isinstance(there, (str, int, float, bool)) else None,
        containers=[one.name for one in said.containers if f"{pointer}/".startswith(f"{one.pointer}/")],
    )  # fmt: skip


def _slash_pointer(said: Said, path: str) -> str:
    """Turn Kyverno's `/metadata/labels/app.kubernetes.io/name/` into a pointer: keys have slashes of their own."""
    parts = path.strip("/").split("/")
    here: Json = said.request.body
    pointer = "/body"
    at = 0
    while at < len(parts):
        used = _key_length(here, parts[at:], at > 0 and parts[at - 1] in _MAPS)
        name = "/".join(parts[at : at + used])
        pointer += f"/{escape(name)}"
        here = resolve(here, f"/{escape(name)}") if isinstance(here, (dict, list)) else MISSING
        at += used
    return pointer if pointer != "/body" else ""


def _key_length(here: Json, parts: Sequence[str], keyed: bool) -> int:
    if isinstance(here, Mapping):
        for used in range(1, len(parts) + 1):
            if "/".join(parts[:used]) in here:
                return used
    return len(parts) if keyed else 1


def _checkov(said: Said, denial: str) -> Iterator[Violation]:
    containers = said.containers
    for match in _CHECKOV.finditer(denial):
        yield said.violation(
            "CHECKOV", (match["description"] or match["rest"] or "").strip(), param=match["id"],
            pointer=said.pod, places=[one.pointer for one in containers],
            containers=[one.name for one in containers], policy=match["id"],
        )  # fmt: skip


def _istio(said: Said, denial: str) -> Iterator[Violation]:
    if not denial.startswith(_ISTIO):
        return
    text = denial[len(_ISTIO) :]
    for problem in _BULLET.findall(text) or [text]:
        yield said.violation("ISTIO", problem.strip(), param=said.webhook)


def _fields(said: Said, denial: str) -> Iterator[Violation]:
    """Kubernetes' own field errors, as cert-manager and other controllers written in Go list them."""
    errors = field_errors(denial)
    starts = errors and denial.removeprefix("[").startswith(errors[0].field)
    subject = re.match(r'[\w.\-/]+ "[^"]*" is invalid: ', denial)
    if starts or subject:
        yield from (said.field(error) for error in errors)
