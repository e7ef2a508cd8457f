"""What a configuration of Envoy is made from.

Knows: addresses, limits, what packs say about successes that refuse. Does not know: Envoy's own schema, options.

The upstream sides of a configuration of Envoy, the API and the correctors, and what both sides have in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from corrigible.proxy.core.api_profile import ApiProfile
from corrigible.proxy.core.limits import Timeouts
from corrigible.proxy.http.api_routes import Upstream
from corrigible.proxy.http.own_location import Rewritten
from corrigible.proxy.runtime.fork_server import CONNECTIONS
from corrigible.proxy.tls_files import USUAL, Identity, Trust


class RefusingOperation(NamedTuple):
    """An operation whose successes may be refusals."""

    method: str
    path: str
    """A Lua pattern of the whole path."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """One API behind Envoy, and its correctors."""

    host: str
    port: int
    upstream: Upstream
    correctors: Sequence[str]
    """`HOST:PORT` or `unix:PATH`. A caller always gets the same one."""
    is_grpc: bool = False
    body_limit: int = 1 << 20
    seconds: float = 1.0
    """In which a corrector has to answer."""
    is_none: bool = False
    """Whether nothing is added unless the caller asks for it."""
    asks_for_target: bool = True
    """Whether `?mode=` may be ours."""
    refusing: Sequence[RefusingOperation] = ()
    media_types: Sequence[str] = ()
    """Further media types of errors."""
    rewritten: Rewritten = Rewritten.REDIRECTS
    trust: Trust = USUAL
    identity: Identity | None = None
    admin: str | None = None
    """The path of a Unix socket."""
    is_ext_proc: bool = False
    """Whether correctors are asked by `ext_proc`, and not by the filters in Lua."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    connections: int = CONNECTIONS
    """Of callers, at once; more are refused."""
    pressure: str | None = None
    """A file that says which part of the connections is in use: where it is much, idle ones are closed."""
    logs_all: bool = False
    """Whether the log on standard output has successes, too."""

    @property
    def times_bodies(self) -> bool:
        """Whether a request's body that stands still is given up."""
        return bool(self.timeouts.idle) and not self.is_grpc and not self.is_ext_proc


# What a gateway has to know of an API, so that it asks about refusals only: which successes may be some, for instance.
# A hint too many costs a question, no more.

_ANY = "*"


def refusing_operations(profiles: Sequence[ApiProfile]) -> list[RefusingOperation]:
    """Return the operations whose successes may be refusals."""
    found: dict[RefusingOperation, None] = {}
    for profile in profiles:
        if profile.adapter.may_refuse is not None:
            found[RefusingOperation("POST", "")] = None
        names = profile.refuses_with_success
        if not names:
            continue
        if profile.pack.operation is not None:  # the request names it, wherever that stands
            found[RefusingOperation(_ANY, "")] = None
        for key, name in profile.adapter.operations.templates.items():
            if name in names:
                method, _, template = key.partition(" ")
                found[RefusingOperation(method.upper(), lua_pattern(template))] = None
    return list(found)


def media_types(profiles: Sequence[ApiProfile]) -> list[str]:
    """Return the media types of errors that packs name."""
    mappings = [profile.pack.error for profile in profiles]
    return sorted({media for one in mappings if one is not None for media in one.media_types})


def is_asking_for_target(profiles: Sequence[ApiProfile], *, query_mode: bool) -> bool:
    """Whether `?mode=` of a request may be for the proxy: it is described, or the operator says so (`query_mode`)."""
    if any(profile.adapter.native_mode for profile in profiles):
        return False
    return query_mode or any(hasattr(profile.described, "declares") for profile in profiles)


def lua_pattern(template: str) -> str:
    """Return a path template, `/v1/things/{id}`, as a Lua pattern of the whole path."""
    out, variable = ["^"], ""
    for char in template.rstrip("/"):
        if variable or char == "{":
            variable += char
            if char == "}":
                out.append(".+" if variable.startswith("{+") else "[^/]+")
                variable = ""
        else:
            out.append(char if char.isalnum() or char in "/_" else f"%{char}")
    return "".join([*out, "/?$"])


Json = dict[str, Any]

_API: Final = "type.googleapis.com/envoy.extensions"
_OPTIONS: Final = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
API_CLUSTER: Final = "api"
API_HTTP1: Final = "api-http1"
"""The API over HTTP/1.1 only: for callers over HTTP/1.1, who may upgrade, and see names as the API spells them."""
BUFFER: Final = 4 << 20
"""Bytes that a connection, or a stream of HTTP/2, keeps for a side that reads slowly."""
BODY_IDLES: Final = 12
"""Limits for silence that a whole request may take: an hour, where that limit is 5 minutes."""
HELD: Final = 64 << 20
"""Bytes of a refusal without a length: what becomes larger cannot be held back until it is whole."""
METADATA_KB: Final = 1024
"""Of a gRPC call: as much as the other engine takes."""
PROBE_AFTER: Final = 60
PROBE_EVERY: Final = 15
PROBES: Final = 4
"""A peer that sends nothing is probed after a minute, and counts as gone after two."""
_IDLE: Final = "4s"
"""Node.js servers close idle connections after 5 s: a request at that moment would be lost."""


def clusters(gateway: Gateway) -> list[Json]:
    """Return the API and the correctors: each is a cluster of its own, and the filters choose one by the caller."""
    apis = [_api_cluster(gateway)]
    if has_both(gateway):
        apis.append(_api_cluster(gateway, API_HTTP1))
    return [*apis, *corrector_clusters(gateway)]


def has_both(gateway: Gateway) -> bool:
    """Whether the API is called over HTTP/2 where it speaks that.

    Callers in the clear speak HTTP/1.1, and so it does, too: what they see is spelled as without the proxy.
    """
    return not gateway.is_grpc and gateway.upstream.scheme == "https" and gateway.identity is not None


def corrector_clusters(gateway: Gateway) -> list[Json]:
    """Return the correctors, under the names by which the filters call them."""
    found = [_corrector(number, at) for number, at in enumerate(gateway.correctors)]
    if gateway.is_ext_proc:
        options = {
            "@type": f"type.googleapis.com/{_OPTIONS}",
            "explicit_http_config": {"http2_protocol_options": {}},
        }
        # One stream for each exchange, as long as it takes.
        more = {"typed_extension_protocol_options": {_OPTIONS: options}, "circuit_breakers": _no_breakers()}
        return [{**one, **more} for one in found]
    return found


def corrector_name(number: int) -> str:
    """Return the name of a corrector's cluster."""
    return f"corrigible-{number}"


def _api_cluster(gateway: Gateway, name: str = API_CLUSTER) -> Json:
    upstream = gateway.upstream
    is_secure = upstream.scheme == "https"
    options: Json = {
        "@type": f"type.googleapis.com/{_OPTIONS}",
        "common_http_protocol_options": {"idle_timeout": _IDLE, "max_headers_count": 256},
    }
    if gateway.is_grpc:
        options["explicit_http_config"] = {"http2_protocol_options": http2()}
        options["common_http_protocol_options"] = {"max_response_headers_kb": METADATA_KB}
    elif has_both(gateway) and name == API_CLUSTER:
        options["auto_config"] = {"http_protocol_options": http1(), "http2_protocol_options": http2()}
    else:
        options["explicit_http_config"] = {"http_protocol_options": http1()}
    cluster: Json = {
        "name": name,
        "type": "STRICT_DNS",
        "dns_lookup_family": "ALL",
        "connect_timeout": "10s",
        "per_connection_buffer_limit_bytes": BUFFER,
        "load_assignment": _endpoints(name, socket(upstream.host, upstream.port)),
        "circuit_breakers": _no_breakers(),
        "ignore_health_on_host_removal": True,
        "upstream_connection_options": {
            "tcp_keepalive": {
                "keepalive_probes": PROBES,
                "keepalive_time": PROBE_AFTER,
                "keepalive_interval": PROBE_EVERY,
            }
        },
    }
    if is_secure:
        cluster["transport_socket"] = transport_socket("UpstreamTlsContext", _upstream_tls(gateway.trust))
        options["upstream_http_protocol_options"] = {
            "auto_sni": True,
            "auto_san_validation": not gateway.trust.insecure,
        }
    cluster["typed_extension_protocol_options"] = {_OPTIONS: options}
    return cluster


def _corrector(number: int, address: str) -> Json:
    name = corrector_name(number)
    path = address.removeprefix("unix:")
    if path != address:
        kind, place = "STATIC", {"pipe": {"path": path}}
    else:
        host, _, port = address.rpartition(":")
        kind, place = "STRICT_DNS", socket(host.strip("[]"), int(port))
    return {
        "name": name,
        "type": kind,
        "connect_timeout": "1s",
        "load_assignment": _endpoints(name, place),
        "circuit_breakers": {
            "thresholds": [{"max_connections": 512, "max_pending_requests": 512, "max_requests": 512}]
        },
    }


def _no_breakers() -> Json:
    """Return limits that are none: how much the API takes is its own business."""
    most = (1 << 32) - 1
    names = ("max_connections", "max_pending_requests", "max_requests", "max_retries")
    return {"thresholds": [dict.fromkeys(names, most)]}


def _endpoints(name: str, address: Json) -> Json:
    return {"cluster_name": name, "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}]}


def typed(name: str, kind: str, **config: Any) -> Json:
    """Return an extension of Envoy, by its name and the type of its configuration."""
    return {"name": name, "typed_config": {"@type": f"{_API}.{kind}", **config}}


def seconds(number: float) -> str:
    return f"{number:g}s"


def socket(host: str, port: int) -> Json:
    return {"socket_address": {"address": host, "port_value": port}}


def http1() -> Json:
    """Return what keeps heads as they are spelled, and trailers."""
    keeping = typed(
        "preserve_case",
        "http.header_formatters.preserve_case.v3.PreserveCaseFormatterConfig",
        forward_reason_phrase=True,
        formatter_type_on_envoy_headers="PROPER_CASE",
    )
    return {
        "enable_trailers": True,
        "allow_custom_methods": True,
        "header_key_format": {"stateful_formatter": keeping},
    }


def http2() -> Json:
    """Return windows that hold back a sender whose messages nobody takes. What is malformed ends its own stream."""
    return {
        "allow_connect": True,
        "override_stream_error_on_invalid_http_message": True,
        "max_concurrent_streams": 1 << 20,
        "initial_stream_window_size": 1 << 20,
        "initial_connection_window_size": 4 << 20,
    }


def transport_socket(kind: str, context: Mapping[str, Any]) -> Json:
    common = {
        name: value
        for name, value in context.items()
        if name in ("alpn_protocols", "tls_certificates", "validation_context")
    }
    return typed("envoy.transport_sockets.tls", f"transport_sockets.tls.v3.{kind}", common_tls_context=common)


def _upstream_tls(trust: Trust) -> Json:
    context: Json = {}
    if trust.insecure:
        context["validation_context"] = {"trust_chain_verification": "ACCEPT_UNTRUSTED"}
    elif trust.ca is not None:
        context["validation_context"] = {
            "trusted_ca": {"filename": str(trust.ca.absolute())},
            "only_verify_leaf_cert_crl": True,
        }
    else:
        import certifi

        context["validation_context"] = {"trusted_ca": {"filename": certifi.where()}}
    if trust.certificate is not None:
        own = str(trust.certificate.absolute())
        context["tls_certificates"] = [certificate(own, own)]
    return context


def certificate(chain: str, key: str) -> Json:
    return {"certificate_chain": {"filename": chain}, "private_key": {"filename": key}}
