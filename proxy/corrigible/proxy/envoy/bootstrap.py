"""The configuration of Envoy as data: one listener, one API, the filters that ask correctors.

Knows: Envoy's schema (v3). Does not know: processes, sockets. `envoy --mode validate` reads what comes of it.

A success costs one look at its status: the filter for refusals is skipped by a matcher. The routes say which of three
it is: one keeps the bodies of requests as well, and one looks for callers with a loop besides. The last is taken while
there may be such callers: correctors say so by a runtime key. Where Envoy has no admin interface for them, it is taken
for all requests with a body. Everything that Envoy adds to messages of its own accord is turned off.
"""

from __future__ import annotations

from typing import Any, Final

from corrigible.proxy.http.feedback_store import DOCUMENTS
from corrigible.proxy.http.own_location import Rewritten

from .clusters import (
    API_CLUSTER,
    API_HTTP1,
    BODY_IDLES,
    BUFFER,
    HELD,
    METADATA_KB,
    PROBE_AFTER,
    PROBE_EVERY,
    PROBES,
    certificate,
    clusters,
    corrector_name,
    has_both,
    http1,
    http2,
    seconds,
    socket,
    transport_socket,
)
from .ext_proc_filter import ext_proc_filter
from .gateway import Gateway
from .local_replies import local_replies
from .log_line import FORMAT
from .lua_source import lua_filter

Json = dict[str, Any]

_API: Final = "type.googleapis.com/envoy.extensions"
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
    return config


def _overload_manager(gateway: Gateway) -> Json:
    """Return how many connections of callers there may be, and that idle ones make room before that."""
    monitors = [
        _monitor("global_downstream_max_connections", "downstream_connections.v3.DownstreamConnectionsConfig")
        | {"max_active_downstream_connections": gateway.connections}
    ]
    if gateway.pressure is not None:
        monitors.append(_monitor(_PRESSURE, f"{_PRESSURE}.v3.InjectedResourceConfig") | {"filename": gateway.pressure})
    manager: Json = {
        "refresh_interval": "0.25s",
        "resource_monitors": [{"name": one.pop("name"), "typed_config": one} for one in monitors],
    }
    if gateway.pressure is not None:
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


def _monitor(name: str, kind: str) -> Json:
    return {"name": f"envoy.resource_monitors.{name}", "@type": f"{_API}.resource_monitors.{kind}"}


def listener(gateway: Gateway) -> Json:
    chain: Json = {"filters": [{"name": "http", "typed_config": connection_manager(gateway)}]}
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
        "@type": f"{_API}.filters.network.http_connection_manager.v3.HttpConnectionManager",
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
            {
                "name": "keep",
                "typed_config": {
                    "@type": f"{_API}.http.early_header_mutation.header_mutation.v3.HeaderMutation",
                    "mutations": [
                        {"append": _header_from(_CALLERS_PROTO, _PROTO)},
                        *([{"append": _version()}] if has_both(gateway) else []),
                    ],
                },
            }
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
        "access_log": [_access_log(gateway)],
    }
    if not gateway.is_grpc:
        manager["local_reply_config"] = local_replies()
    return manager


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
            "input": {
                "name": "envoy.matching.inputs.dynamic_metadata",
                "typed_config": {
                    "@type": f"{_API}.matching.common_inputs.network.v3.DynamicMetadataInput",
                    "filter": "corrigible",
                    "path": [{"key": "loop"}],
                },
            },
            "custom_match": {
                "name": "envoy.matching.matchers.metadata_matcher",
                "typed_config": {
                    "@type": f"{_API}.matching.input_matchers.metadata.v3.Metadata",
                    "value": {"string_match": {"exact": "1"}},
                },
            },
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
    skip = {
        "name": "skip",
        "typed_config": {"@type": f"{_API}.filters.common.matcher.action.v3.SkipFilter"},
    }
    return {
        "name": http_filter["name"],
        "typed_config": {
            "@type": f"{_API}.common.matching.v3.ExtensionWithMatcher",
            "extension_config": http_filter,
            "xds_matcher": {"matcher_list": {"matchers": [{"predicate": predicate, "on_match": {"action": skip}}]}},
        },
    }


def _lua(name: str, text: str, gateway: Gateway, *, is_watching: bool = False) -> Json:
    source = {"inline_string": lua_filter(text, gateway, watches=is_watching)}
    return {
        "name": name,
        "typed_config": {"@type": f"{_API}.filters.http.lua.v3.Lua", "default_source_code": source},
    }


def _router() -> Json:
    return {
        "name": "envoy.filters.http.router",
        "typed_config": {"@type": f"{_API}.filters.http.router.v3.Router", "suppress_envoy_headers": True},
    }


def _access_log(gateway: Gateway) -> Json:
    log: Json = {
        "name": "envoy.access_loggers.stdout",
        "typed_config": {
            "@type": f"{_API}.access_loggers.stream.v3.StdoutAccessLog",
            "log_format": {"json_format": dict(FORMAT), "json_format_options": {"sort_properties": False}},
        },
    }
    if not gateway.logs_all:
        log["filter"] = _noteworthy(gateway)
    return log


def _noteworthy(gateway: Gateway) -> Json:
    """Return what tells exchanges that are logged anyway: refusals, failures, what a corrector spoke of."""
    filters: list[Json] = [
        {"status_code_filter": {"comparison": {"op": "GE", "value": {"default_value": 400, "runtime_key": "x"}}}},
        {"response_flag_filter": {"flags": list(_DEATHS)}},
        {
            "metadata_filter": {
                "matcher": {"filter": "corrigible", "path": [{"key": "entry"}], "value": {"present_match": True}},
                "match_if_key_not_found": False,
            }
        },
    ]
    if gateway.is_grpc:
        filters.append({"grpc_status_filter": {"statuses": ["OK"], "exclude": True}})
    return {"or_filter": {"filters": filters}}
