"""The filters and the correctors as patches of gateways that configure Envoy themselves: Istio, Envoy Gateway.

Knows: the two kinds of Kubernetes objects. Does not know: what is in the filters. Their routes are not ours, so all
filters run on all of them.
"""

from __future__ import annotations

from typing import Any

from .bootstrap import our_filters
from .clusters import corrector_clusters
from .gateway import Gateway

Json = dict[str, Any]


def istio(gateway: Gateway, name: str) -> Json:
    """Return an EnvoyFilter for the gateways of a namespace."""
    router = {
        "name": "envoy.filters.network.http_connection_manager",
        "subFilter": {"name": "envoy.filters.http.router"},
    }
    place = {"context": "GATEWAY", "listener": {"filterChain": {"filter": router}}}
    patches = [
        {"applyTo": "HTTP_FILTER", "match": place, "patch": {"operation": "INSERT_BEFORE", "value": one}}
        for one in our_filters(gateway)
    ]
    patches += [
        {"applyTo": "CLUSTER", "match": {"context": "GATEWAY"}, "patch": {"operation": "ADD", "value": one}}
        for one in corrector_clusters(gateway)
    ]
    return {
        "apiVersion": "networking.istio.io/v1alpha3",
        "kind": "EnvoyFilter",
        "metadata": {"name": name},
        "spec": {"configPatches": patches},
    }


def envoy_gateway(gateway: Gateway, name: str, listener: str) -> Json:
    """Return an EnvoyPatchPolicy for a Gateway; `listener` is Envoy Gateway's name of its listener."""
    filters = "/default_filter_chain/filters/0/typed_config/http_filters"
    patches = [
        {
            "type": "type.googleapis.com/envoy.config.listener.v3.Listener",
            "name": listener,
            "operation": {"op": "add", "path": f"{filters}/{number}", "value": one},
        }
        for number, one in enumerate(our_filters(gateway))
    ]
    patches += [
        {
            "type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
            "name": one["name"],
            "operation": {"op": "add", "path": "", "value": one},
        }
        for one in corrector_clusters(gateway)
    ]
    target = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": listener.split("/")[1]}
    return {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "EnvoyPatchPolicy",
        "metadata": {"name": name},
        "spec": {"targetRef": target, "type": "JSONPatch", "jsonPatches": patches},
    }
