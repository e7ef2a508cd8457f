"""Kubernetes paths follow one grammar for every group and kind, so operations are named after what they do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from corrigible.adapters.operation import Operations

_ROOTS = ("/api/{version}", "/apis/{group}/{version}")
_DISCOVERY = ("/api", "/apis", "/api/{version}", "/apis/{group}", "/apis/{group}/{version}")
_OBJECT = {"GET": "get", "PUT": "replace", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_ANY = {**_OBJECT, "POST": "create"}
_OWN = {
    "binding": {"POST": "bind"},
    "ephemeralcontainers": dict.fromkeys(("PUT", "PATCH"), "ephemeral"),
    "eviction": {"POST": "evict"},
    "log": {"GET": "log"},
    "proxy": dict.fromkeys(_ANY, "proxy"),
    "scale": {"GET": "get-scale", "PUT": "replace-scale", "PATCH": "patch-scale"},
    "status": {"GET": "get-status", "PUT": "replace-status", "PATCH": "patch-status"},
    "token": {"POST": "token"},
    **{name: dict.fromkeys(("GET", "POST"), name) for name in ("attach", "exec", "portforward")},
}
"""Subresources with a name of their own; every other one is `<verb>-subresource`."""
_PARAMS = ("group", "version", "namespace", "resource", "name", "subresource")


class KubernetesOperations(Operations):
    """The same names for every group and kind. All path parameters are always there, empty where not in the path."""

    def __init__(self, table: Mapping[str, str] | None = None) -> None:
        super().__init__(dict(_table()) if table is None else table)

    def find(self, method: str, path: str) -> tuple[str, dict[str, str]] | None:
        match = super().find(method, path)
        if match is None:
            return None
        operation, params = match
        whole = dict.fromkeys(_PARAMS, "") | params
        if not whole["resource"] and operation != "discover":
            _, _, rest = path.partition("/namespaces")
            whole["resource"] = "namespaces"
            whole["namespace"] = whole["name"]
            whole["subresource"] = whole["subresource"] or rest.strip("/").partition("/")[2]
        elif not whole["subresource"] and operation not in _OBJECT_VERBS:
            last = path.rstrip("/").rpartition("/")[2] if whole["name"] else ""
            whole["subresource"] = "proxy" if "path" in params else last
        return operation, whole

    def merged_with(self, more: Operations) -> Operations:
        return KubernetesOperations({**more.templates, **self.templates})

    def with_prefix(self, base: str) -> Operations:
        return KubernetesOperations(super().with_prefix(base).templates)


_OBJECT_VERBS = frozenset(_OBJECT.values()) | frozenset(_COLLECTION.values())


def _table() -> Iterator[tuple[str, str]]:
    for path in _DISCOVERY:
        yield f"GET {path}", "discover"
    for root in _ROOTS:
        yield from _objects(f"{root}/{{resource}}")
        yield from _objects(f"{root}/namespaces/{{namespace}}/{{resource}}")
    yield from _objects("/api/{version}/namespaces")
    # `finalize` is the one subresource of namespaces beside `status`; others would read as kinds inside a namespace.
    for name in ("status", "finalize"):
        for method, verb in _OBJECT.items():
            operation = _OWN.get(name, {}).get(method, f"{verb}-subresource")
            yield f"{method} /api/{{version}}/namespaces/{{name}}/{name}", operation


def _objects(collection: str) -> Iterator[tuple[str, str]]:
    for method, verb in _COLLECTION.items():
        yield f"{method} {collection}", verb
    object_path = f"{collection}/{{name}}"
    for method, verb in _OBJECT.items():
        yield f"{method} {object_path}", verb
    if collection.endswith("/namespaces"):
        return
    for name, verbs in _OWN.items():
        for method, operation in verbs.items():
            yield f"{method} {object_path}/{name}", operation
    for method, verb in _ANY.items():
        yield f"{method} {object_path}/{{subresource}}", f"{verb}-subresource"
        yield f"{method} {object_path}/proxy/{{+path}}", "proxy"
