"""Envoy as the API behind all peers, and Envoy as a peer with nothing of ours in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from corrigible.adapters.sandbox.certificate import Files
from corrigible.proxy.envoy import envoy_path
from corrigible.proxy.envoy.bootstrap import connection_manager, listener
from corrigible.proxy.envoy.gateway import Gateway, clusters
from corrigible.proxy.http.api_routes import Upstream
from corrigible.proxy.tls_files import Identity

from .tasks import ANSWERS

Json = dict[str, Any]
_API = "type.googleapis.com/envoy.extensions"
_LARGEST = 1 << 20


def command(config: Json, folder: Path, name: str) -> list[str]:
    """Write the configuration, and return the command of an Envoy with one thread."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps(config), "utf-8")
    return [envoy_path(), "-c", str(path), "--disable-hot-restart", "--concurrency", "1", "--log-level", "error"]


def api(port: int) -> Json:
    """Return the configuration of the API: it answers at once, when it has the whole request."""
    routes = [
        {
            "match": {"path": path},
            "direct_response": {"status": status, "body": {"inline_string": body.decode()}},
            "response_headers_to_add": [{"header": {"key": "content-type", "value": "application/json"}}],
        }
        for path, (status, body) in ANSWERS.items()
    ]
    manager = {
        "@type": f"{_API}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "api",
        "generate_request_id": False,
        "route_config": {
            "max_direct_response_body_size_bytes": _LARGEST,
            "virtual_hosts": [{"name": "api", "domains": ["*"], "routes": routes}],
        },
        "http_filters": [
            {
                "name": "whole",
                "typed_config": {"@type": f"{_API}.filters.http.buffer.v3.Buffer", "max_request_bytes": _LARGEST},
            },
            {"name": "router", "typed_config": {"@type": f"{_API}.filters.http.router.v3.Router"}},
        ],
    }
    own = {
        "name": "api",
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
        "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}]}],
    }
    return {"static_resources": {"listeners": [own]}}


def plain(http: int, tls: int, files: Files, upstream: int) -> Json:
    """Return the configuration of our Envoy without our filters: the same listener, cluster and limits."""
    gateways = [
        Gateway("127.0.0.1", http, Upstream("http", "127.0.0.1", upstream), ()),
        Gateway(
            "127.0.0.1",
            tls,
            Upstream("http", "127.0.0.1", upstream),
            (),
            identity=Identity(files.certificate, files.key),
        ),
    ]
    listeners = []
    for gateway in gateways:
        manager = connection_manager(gateway)["typed_config"]
        for name in ("early_header_mutation_extensions", "access_log", "local_reply_config"):
            del manager[name]
        route = {"match": {"prefix": "/"}, "route": {"cluster": "api", "timeout": "0s"}}
        manager["route_config"]["virtual_hosts"] = [{"name": "api", "domains": ["*"], "routes": [route]}]
        manager["http_filters"] = manager["http_filters"][-1:]
        own = listener(gateway)
        own["name"] = f"callers {gateway.port}"
        own["filter_chains"][0]["filters"] = [{"name": "http", "typed_config": manager}]
        listeners.append(own)
    return {"static_resources": {"listeners": listeners, "clusters": clusters(gateways[0])[:1]}}
