"""The configuration of Envoy as data: one listener, one API, the filters that ask correctors.

Knows: Envoy's schema (v3). Does not know: processes, sockets. `envoy --mode validate` reads what comes of it.

A success costs one look at its status: the filter for refusals is skipped by a matcher. The routes say which of three
it is: one keeps the bodies of requests as well, and one looks for callers with a loop besides. The last is taken while
there may be such callers: correctors say so by a runtime key. Where Envoy has no admin interface for them, it is taken
for all requests with a body. Everything that Envoy adds to messages of its own accord is turned off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from corrigible.proxy.access_log.statistics import REQUEST_BUCKETS
from corrigible.proxy.http.message_head import DIGESTS
from corrigible.proxy.http.messages import DOCUMENTS
from corrigible.proxy.http.own_location import Rewritten

from .gateway import (
    API_CLUSTER,
    API_HTTP1,
    BODY_IDLES,
    BUFFER,
    HELD,
    METADATA_KB,
    PROBE_AFTER,
    PROBE_EVERY,
    PROBES,
    Gateway,
    certificate,
    clusters,
    corrector_clusters,
    corrector_name,
    has_both,
    http1,
    http2,
    seconds,
    socket,
    transport_socket,
    typed,
)
from .log_line import COUNT, FORMAT, MILLISECONDS, PASSED_CLASSES, REQUEST_LATE

Json = dict[str, Any]

WATCHED: Final = "corrigible.loops"
"""The runtime key that has successes watched for the end of a loop, in percent."""
_WATCHING: Final = "corrigible.watching"
"""Keeps the bodies of requests, and watches successes."""
_EXCHANGE: Final = "corrigible.exchange"
"""Keeps the bodies of requests, too."""
_REFUSAL: Final = "corrigible.refusal"
_ASK: Final = "corrigible.ask"
_LOCATION: Final = "corrigible.location"
_PROTO: Final = "x-forwarded-proto"
_CALLERS_PROTO: Final = "x-corrigible-proto"
"""Where a caller's own X-Forwarded-Proto is kept, while Envoy writes its own."""
_CALLERS_HTTP: Final = "x-corrigible-http"
"""Where routes find by which version of HTTP a caller calls."""
_UPGRADES: Final = ("websocket", "SPDY/3.1", "tcp", "h2c", "connect-udp")
_PRESSURE: Final = "injected_resource"
_STREAMS: Final = 100
"""Of one connection; each has a connection to an API that speaks HTTP/1.1."""
_PRESENT: Final[Json] = {"present_match": True}
_DEATHS: Final = ("UF", "UH", "UC", "UT", "LR", "UR", "UPE", "URX", "DPE", "NR", "DC", "DR")


def bootstrap(gateway: Gateway) -> Json:
    """Return the whole configuration."""
    config: Json = {
        "static_resources": {"listeners": [listener(gateway)], "clusters": clusters(gateway)},
        "layered_runtime": {
            "layers": [{"name": "static", "static_layer": {WATCHED: 0}}, {"name": "admin", "admin_layer": {}}]
        },
        "overload_manager": _overload_manager(gateway),
    }
    if gateway.admin is not None:
        config["admin"] = {"address": {"pipe": {"path": gateway.admin, "mode": 0o600}}}
        buckets = [bound * 1000 for bound in REQUEST_BUCKETS]
        config["stats_config"] = {
            "histogram_bucket_settings": [{"match": {"prefix": MILLISECONDS}, "buckets": buckets}]
        }
    return config


def _overload_manager(gateway: Gateway) -> Json:
    """Return how many connections of callers there may be, and that idle ones make room before that."""
    most = {"max_active_downstream_connections": gateway.connections}
    kind = "downstream_connections.v3.DownstreamConnectionsConfig"
    monitors = [_monitor("global_downstream_max_connections", kind, **most)]
    manager: Json = {"refresh_interval": "0.25s", "resource_monitors": monitors}
    if gateway.pressure is not None:
        monitors.append(_monitor(_PRESSURE, f"{_PRESSURE}.v3.InjectedResourceConfig", filename=gateway.pressure))
        pressure = f"envoy.resource_monitors.{_PRESSURE}"
        idle = {"timer": "HTTP_DOWNSTREAM_CONNECTION_IDLE", "min_timeout": "0.1s"}
        manager["actions"] = [
            {
                "name": "envoy.overload_actions.reduce_timeouts",
                "triggers": [{"name": pressure, "scaled": {"scaling_threshold": 0.5, "saturation_threshold": 0.9}}],
                "typed_config": {
                    "@type": "type.googleapis.com/envoy.config.overload.v3.ScaleTimersOverloadActionConfig",
                    "timer_scale_factors": [idle],
                },
            },
            {
                "name": "envoy.overload_actions.stop_accepting_connections",
                "triggers": [{"name": pressure, "threshold": {"value": 0.95}}],
            },
        ]
    return manager


def _monitor(name: str, kind: str, **config: Any) -> Json:
    return typed(f"envoy.resource_monitors.{name}", f"resource_monitors.{kind}", **config)


def listener(gateway: Gateway) -> Json:
    chain: Json = {"filters": [connection_manager(gateway)]}
    timeouts = gateway.timeouts
    if timeouts.head:
        chain["transport_socket_connect_timeout"] = seconds(timeouts.head)
    if gateway.identity is not None:
        own = gateway.identity
        chain["transport_socket"] = transport_socket(
            "DownstreamTlsContext",
            {
                "alpn_protocols": ["h2", "http/1.1"],
                "tls_certificates": [certificate(str(own.certificate), str(own.key or own.certificate))],
            },
        )
    return {
        "name": "callers",
        "address": socket(gateway.host, gateway.port),
        "enable_reuse_port": False,  # two proxies at one address would share its callers between their APIs
        "per_connection_buffer_limit_bytes": BUFFER,
        **({"per_connection_buffer_high_watermark_timeout": seconds(timeouts.idle)} if timeouts.idle else {}),
        "socket_options": _probes(),
        "filter_chains": [chain],
    }


def _probes() -> list[Json]:
    """Return what has the system look for callers that are gone: an exchange may be silent for hours."""
    level, tcp = 1, 6  # SOL_SOCKET, IPPROTO_TCP
    options = ((level, 9, 1), (tcp, 4, PROBE_AFTER), (tcp, 5, PROBE_EVERY), (tcp, 6, PROBES))
    return [{"level": kind, "name": name, "int_value": value} for kind, name, value in options]


def connection_manager(gateway: Gateway) -> Json:
    """Return the filter that reads HTTP, with all that is below it."""
    manager: Json = {
        "stat_prefix": "callers",
        "codec_type": "AUTO",
        "http_protocol_options": {
            **http1(),
            "accept_http_10": True,
            "default_host_for_http_10": gateway.upstream.authority,
        },
        "http2_protocol_options": _callers_http2(gateway),
        # Envoy's limit for silence is for both directions at once, and a watch may be silent: a whole request has one.
        "stream_idle_timeout": "0s",
        "request_timeout": seconds(gateway.timeouts.idle * BODY_IDLES) if gateway.times_bodies else "0s",
        "request_headers_timeout": seconds(gateway.timeouts.head),
        "drain_timeout": "0.5s",
        "generate_request_id": False,
        "always_set_request_id_in_response": False,
        "server_header_transformation": "PASS_THROUGH",
        "skip_xff_append": True,
        "use_remote_address": False,
        "early_header_mutation_extensions": [
            typed(
                "keep",
                "http.early_header_mutation.header_mutation.v3.HeaderMutation",
                mutations=[
                    {"append": _header_from(_CALLERS_PROTO, _PROTO)},
                    *([{"append": _version()}] if has_both(gateway) else []),
                ],
            )
        ],
        "forward_client_cert_details": "ALWAYS_FORWARD_ONLY",
        "proxy_100_continue": True,
        "normalize_path": False,
        "merge_slashes": False,
        "path_with_escaped_slashes_action": "KEEP_UNCHANGED",
        "max_request_headers_kb": METADATA_KB if gateway.is_grpc else 64,
        "common_http_protocol_options": {
            "max_headers_count": 256,
            "headers_with_underscores_action": "ALLOW",
            "idle_timeout": seconds(gateway.timeouts.idle),
        },
        "upgrade_configs": [{"upgrade_type": name, "filters": [_router()]} for name in _UPGRADES],
        "route_config": {"name": "api", "virtual_hosts": [virtual_host(gateway)]},
        "http_filters": http_filters(gateway),
        "access_log": [_access_log(gateway), *_passed_counts(gateway)],
    }
    if not gateway.is_grpc:
        manager["local_reply_config"] = local_replies()
    return typed("http", "filters.network.http_connection_manager.v3.HttpConnectionManager", **manager)


def _callers_http2(gateway: Gateway) -> Json:
    """Return the windows of callers, and how many streams a connection may have."""
    if gateway.is_grpc:
        return http2()
    return {**http2(), "initial_stream_window_size": BUFFER, "max_concurrent_streams": _STREAMS}


def virtual_host(gateway: Gateway) -> Json:
    """Return the routes: they say which filters run, so that what most requests do not need costs them nothing."""
    if gateway.is_ext_proc:
        return _host(_of_both(gateway, [_route(gateway, {"prefix": "/"}, {})]))
    if gateway.is_grpc:
        return _host(
            _of_both(gateway, [*_watched(gateway, {"prefix": "/"}), _route(gateway, {"prefix": "/"}, _on(_EXCHANGE))])
        )
    routes = [_route(gateway, {"prefix": DOCUMENTS}, _on(_ASK) | _on(_REFUSAL))]
    if gateway.asks_for_target:
        match = {"prefix": "/", "query_parameters": [{"name": "mode", "present_match": True}]}
        routes += [*_watched(gateway, match, _on(_ASK)), _route(gateway, match, _on(_EXCHANGE) | _on(_ASK))]
    return _host(_of_both(gateway, [*routes, *_by_method(gateway)]))


def _watched(gateway: Gateway, match: Json, more: Json | None = None) -> list[Json]:
    """Return the route that is taken while there may be loops: none where nobody could say so."""
    if gateway.admin is None:
        return []
    fraction = {"default_value": {"numerator": 0}, "runtime_key": WATCHED}
    return [_route(gateway, {**match, "runtime_fraction": fraction}, _on(_WATCHING) | (more or {}))]


def _host(routes: list[Json]) -> Json:
    # Envoy tells the API by X-Forwarded-Proto how it was called. Only a caller's own one goes on.
    return {
        "name": "api",
        "domains": ["*"],
        "routes": routes,
        "request_headers_to_remove": [_CALLERS_PROTO, _CALLERS_HTTP],
    }


def _of_both(gateway: Gateway, routes: list[Json]) -> list[Json]:
    """Return routes with those before them that take callers over HTTP/1.1 to the API over HTTP/1.1."""
    if not has_both(gateway):
        return routes
    is_http1 = {"name": _CALLERS_HTTP, "string_match": {"prefix": "HTTP/1"}}

    def of_http1(route: Json) -> Json:
        match = route["match"]
        match = {**match, "headers": [*match.get("headers", ()), is_http1]}
        return {**route, "match": match, "route": {**route["route"], "cluster": API_HTTP1}}

    return [*map(of_http1, routes), *routes]


def _by_method(gateway: Gateway) -> list[Json]:
    """Return the routes of requests without a body, unless they are watched, and of all others."""

    def without(name: str) -> Json:
        return {"name": name, "present_match": True, "invert_match": True}

    reads = [
        {"prefix": "/", "headers": [{"name": ":method", "string_match": {"exact": method}}, *bodiless]}
        for method in ("GET", "HEAD", "OPTIONS")
        for bodiless in [[without("content-length"), without("transfer-encoding")]]
    ]
    return [
        *_watched(gateway, {"prefix": "/"}),
        *(_route(gateway, match, _on(_REFUSAL)) for match in reads),
        _route(gateway, {"prefix": "/"}, _on(_EXCHANGE)),
    ]


def _route(gateway: Gateway, match: Json, filters: Json) -> Json:
    action: Json = {
        "cluster": API_CLUSTER,
        "timeout": "0s",
        "host_rewrite_literal": gateway.upstream.authority,
    }
    if gateway.timeouts.answer and not gateway.is_grpc:
        action["retry_policy"] = {"num_retries": 0, "per_try_timeout": seconds(gateway.timeouts.answer)}
    return {
        "match": match,
        "route": action,
        "request_body_buffer_limit": HELD,  # of both directions
        "request_headers_to_remove": [_PROTO],
        "request_headers_to_add": [_header_from(_PROTO, _CALLERS_PROTO)],
        "typed_per_filter_config": filters,
    }


def _header_from(name: str, other: str) -> Json:
    return {"header": {"key": name, "value": f"%REQ({other})%"}, "keep_empty_value": False}


def _version() -> Json:
    header = {"key": _CALLERS_HTTP, "value": "%PROTOCOL%"}
    return {"header": header, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}


def _on(name: str) -> Json:
    """Return what turns a filter on that is off by default."""
    return {name: {"@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig", "config": {}}}


def http_filters(gateway: Gateway) -> list[Json]:
    """Return all filters. Answers pass them from the last to the first. Routes turn on what most do without."""
    filters = our_filters(gateway)
    if not gateway.is_ext_proc and not gateway.is_grpc:
        filters.append(_refusal(_REFUSAL, "refusal", gateway))
    off = {"disabled": True}
    by_route = (_ASK, _WATCHING, _EXCHANGE, _REFUSAL)
    return [*({**one, **off} if one["name"] in by_route else one for one in filters), _router()]


def our_filters(gateway: Gateway) -> list[Json]:
    """Return the filters that ask correctors, for all routes."""
    if gateway.is_ext_proc:
        return [ext_proc_filter(gateway, corrector_name(0))]
    exchange = [_exchange(_EXCHANGE, gateway, is_watching=gateway.admin is None)]
    if gateway.admin is not None:
        exchange.append(_exchange(_WATCHING, gateway, is_watching=True))
    if gateway.is_grpc:
        return exchange
    filters = [_lua(_ASK, "ask", gateway), *exchange]
    if gateway.rewritten is Rewritten.ALL:
        filters.append(_lua(_LOCATION, "location", gateway))
    return filters


def _exchange(name: str, gateway: Gateway, *, is_watching: bool) -> Json:
    if gateway.is_grpc:
        return _lua(name, "grpc", gateway, is_watching=is_watching)
    return _refusal(name, "exchange", gateway, is_watching=is_watching)


def _refusal(name: str, text: str, gateway: Gateway, *, is_watching: bool = False) -> Json:
    return _skipped_if(_successes(gateway, is_watching=is_watching), _lua(name, text, gateway, is_watching=is_watching))


def _successes(gateway: Gateway, *, is_watching: bool) -> Json:
    """Return what tells the answers that no corrector has to see."""
    has_loop = {
        "single_predicate": {
            "input": typed(
                "envoy.matching.inputs.dynamic_metadata",
                "matching.common_inputs.network.v3.DynamicMetadataInput",
                **_our("loop"),
            ),
            "custom_match": typed(
                "envoy.matching.matchers.metadata_matcher",
                "matching.input_matchers.metadata.v3.Metadata",
                value={"string_match": {"exact": "1"}},
            ),
        }
    }
    seen = [has_loop] if is_watching else []
    if gateway.refusing:
        regex = {"safe_regex": {"google_re2": {}, "regex": "(?i).*json.*|text/.*"}}
        seen.append(_header("content-type", regex))
    success = _header(":status", {"prefix": "2"})
    if gateway.rewritten is not Rewritten.REDIRECTS:  # else the filter makes references of redirects relative
        success = {"or_matcher": {"predicate": [success, _header(":status", {"prefix": "3"})]}}
    return {"and_matcher": {"predicate": [success, *map(_not, seen)]}} if seen else success


def _header(name: str, match: Json) -> Json:
    """Return what a header of the answer matches."""
    kind = "type.googleapis.com/envoy.type.matcher.v3.HttpResponseHeaderMatchInput"
    return {
        "single_predicate": {
            "input": {"name": name, "typed_config": {"@type": kind, "header_name": name}},
            "value_match": match,
        }
    }


def _not(predicate: Json) -> Json:
    return {"not_matcher": predicate}


def _skipped_if(predicate: Json, http_filter: Json) -> Json:
    skip = typed("skip", "filters.common.matcher.action.v3.SkipFilter")
    return typed(
        http_filter["name"],
        "common.matching.v3.ExtensionWithMatcher",
        extension_config=http_filter,
        xds_matcher={"matcher_list": {"matchers": [{"predicate": predicate, "on_match": {"action": skip}}]}},
    )


def _lua(name: str, text: str, gateway: Gateway, *, is_watching: bool = False) -> Json:
    source = {"inline_string": lua_filter(text, gateway, watches=is_watching)}
    return typed(name, "filters.http.lua.v3.Lua", default_source_code=source)


def _router() -> Json:
    return typed("envoy.filters.http.router", "filters.http.router.v3.Router", suppress_envoy_headers=True)


def _access_log(gateway: Gateway) -> Json:
    written = {"json_format": dict(FORMAT), "json_format_options": {"sort_properties": False}}
    log = typed("envoy.access_loggers.stdout", "access_loggers.stream.v3.StdoutAccessLog", log_format=written)
    if not gateway.logs_all:
        log["filter"] = _noteworthy(gateway)
    return log


def _passed_counts(gateway: Gateway) -> list[Json]:
    """Return what counts and times successes that are not logged, by class of status: in Envoy, at next to no cost."""
    if gateway.admin is None or gateway.logs_all:
        return []
    unspoken = _has("entry", _PRESENT, inverted=True)
    if gateway.is_grpc:
        unspoken = {"and_filter": {"filters": [unspoken, {"grpc_status_filter": {"statuses": ["OK"]}}]}}
    return [
        {"filter": {"and_filter": {"filters": [_status("GE", first), _status("LE", first + 99), unspoken]}}}
        | typed(
            f"passed.{name}",
            "access_loggers.stats.v3.Config",
            stats_scope={},
            histograms=[{"stat": {"name": MILLISECONDS + name}, "unit": "Milliseconds", "value_format": "%DURATION%"}],
            counters=[{"stat": {"name": COUNT + name}, "value_fixed": 1}],
        )
        for name, first in PASSED_CLASSES.items()
    ]


def _status(comparison: str, status: int) -> Json:
    value = {"default_value": status, "runtime_key": "x"}
    return {"status_code_filter": {"comparison": {"op": comparison, "value": value}}}


def _our(key: str) -> Json:
    """Return where a filter of ours, or a corrector, has said something of an exchange."""
    return {"filter": "corrigible", "path": [{"key": key}]}


def _has(key: str, value: Json, *, inverted: bool = False) -> Json:
    """Return what tells exchanges of which something was said."""
    matcher = {**_our(key), "value": value, **({"invert": True} if inverted else {})}
    return {"metadata_filter": {"matcher": matcher, "match_if_key_not_found": inverted}}


def _noteworthy(gateway: Gateway) -> Json:
    """Return what tells exchanges that are logged anyway: refusals, failures, what a corrector spoke of."""
    filters: list[Json] = [
        _status("GE", 400),
        {"response_flag_filter": {"flags": list(_DEATHS)}},
        _has("entry", _PRESENT),
    ]
    if gateway.is_grpc:
        filters.append({"grpc_status_filter": {"statuses": ["OK"], "exclude": True}})
    return {"or_filter": {"filters": filters}}


# The filter of `ext_proc` as data, for gateways that ask correctors by this protocol only.

NAME: Final = "corrigible.ext_proc"


def ext_proc_filter(gateway: Gateway, cluster: str) -> Json:
    """Return the filter. The corrector says of each exchange what of it is told further (`mode_override`)."""
    return typed(
        NAME,
        "filters.http.ext_proc.v3.ExternalProcessor",
        grpc_service={"envoy_grpc": {"cluster_name": cluster}},
        failure_mode_allow=True,
        message_timeout=seconds(gateway.seconds),
        allow_mode_override=True,
        request_attributes=["source.address"],
        metadata_options={"receiving_namespaces": {"untyped": ["corrigible"]}},
        processing_mode={
            "request_header_mode": "SEND",
            "response_header_mode": "SEND",
            "request_body_mode": "NONE",
            "response_body_mode": "NONE",
            "request_trailer_mode": "SKIP",
            "response_trailer_mode": "SKIP",
        },
    )


# What Envoy answers in the API's place: where that does not answer, or its answer is too large to be held back.

_STATUSES: Final = (*range(400, 432), 451, *range(500, 512))
"""Of refusals that may be held back. One that is too large and has another status becomes a 500."""


def local_replies() -> Json:
    """Return the pages for an API that does not answer. They bear a mark, which the filter takes off."""
    mark = {"header": {"key": "x-corrigible-own", "value": "1"}}

    def mapper(flags: Sequence[str], text: str, status: int = 502, tells: Json | None = None) -> Json:
        return {
            "filter": tells or {"response_flag_filter": {"flags": list(flags)}},
            "status_code": status,
            **({"headers_to_add": [mark]} if flags else {}),  # without a head no filter would take it off
            "body_format_override": _page(text),
        }

    holding = _has("holding", _PRESENT)
    broken = {"and_filter": {"filters": [{"response_flag_filter": {"flags": ["UC", "UR", "UPE"]}}, holding]}}
    return {
        "mappers": [
            mapper([], "the upstream closed the connection before its answer was complete", tells=broken),
            mapper(["UC", "UR"], "the upstream closed the connection without an answer"),
            mapper(["UPE"], "the upstream's answer is not valid HTTP"),
            mapper(["UF", "UH"], "no connection to the upstream"),  # why is in the log: it may say where that is
            mapper(["UT"], "the upstream did not answer in time", 504),
            mapper([], REQUEST_LATE, 408, _status("EQ", 408)),
            *map(_too_large, _STATUSES),
            {"filter": _status("GE", 400), "headers_to_add": [mark]},
        ]
    }


def _too_large(status: int) -> Json:
    """Return the page for a refusal that became too large to be held back. Its status is the API's own."""
    held = _has("held", {"string_match": {"exact": str(status)}})
    return {
        "filter": {"and_filter": {"filters": [_status("EQ", 500), held]}},
        "status_code": status,
        "body_format_override": _page(f"the API's answer has no length, and is over {HELD >> 20} MiB"),
    }


def _page(text: str) -> Json:
    return {
        "text_format_source": {"inline_string": f"corrigible: {text}\n"},
        "content_type": "text/plain; charset=utf-8",
    }


# The texts of the Lua filters, each with its settings before it.

_FOLDER = Path(__file__).parent / "lua"
_TEXTS = {
    "ask": ("common", "ask"),
    "exchange": ("common", "request", "references", "refusal"),
    "refusal": ("common", "references", "refusal", "memory"),
    "grpc": ("common", "request", "grpc", "memory"),
    "location": ("references", "location"),
}
"""What a filter consists of. What is kept of a request is found by who reads its answer only in the same filter."""


@cache
def _text(name: str) -> str:
    return (_FOLDER / f"{name}.lua").read_text("utf-8")


def lua_filter(name: str, gateway: Gateway, *, watches: bool = False) -> str:
    """Return the text of a filter, by its name in `_TEXTS`. `watches`: for successes that end a loop."""
    upstream = gateway.upstream
    config = {
        "correctors": len(gateway.correctors),
        "timeout_ms": round(gateway.seconds * 1000),
        "limit": gateway.body_limit,
        "is_grpc": gateway.is_grpc,
        "asks_for_target": gateway.asks_for_target,
        "is_none": gateway.is_none,
        "watches": watches,
        "media_types": {one: True for one in gateway.media_types},
        "refusing": [one._asdict() for one in gateway.refusing],
        "digests": sorted({*DIGESTS, "etag"}),
        "origin": None if gateway.rewritten is Rewritten.NONE else f"{upstream.scheme}://{upstream.authority.lower()}",
    }
    texts = [_text(one) for one in _TEXTS[name] if one != "memory" or gateway.admin is not None]  # an Envoy of ours
    return "\n".join([f"local CONFIG = {literal(config)}", *texts])


def literal(value: Any) -> str:
    """Return a value as Lua writes it."""
    match value:
        case None:
            return "nil"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return '"' + "".join(_escaped(char) for char in value.encode()) + '"'
        case Mapping():
            return "{" + ", ".join(f"[{literal(key)}] = {literal(each)}" for key, each in value.items()) + "}"
        case Sequence():
            return "{" + ", ".join(map(literal, value)) + "}"
    raise TypeError(type(value).__name__)


def _escaped(byte: int) -> str:
    return chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03d}"


# The filters and the correctors as patches of gateways that configure Envoy themselves: Istio, Envoy Gateway. Their
# routes are not ours, so all filters run on all of them.


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
