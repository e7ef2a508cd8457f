"""The filter of `ext_proc` as data, for gateways that ask correctors by this protocol only.

Knows: Envoy's schema (v3). Does not know: the messages of the protocol.
"""

from __future__ import annotations

from typing import Any, Final

from .gateway import Gateway

Json = dict[str, Any]

NAME: Final = "corrigible.ext_proc"


def ext_proc_filter(gateway: Gateway, cluster: str) -> Json:
    """Return the filter. The corrector says of each exchange what of it is told further (`mode_override`)."""
    seconds = f"{gateway.seconds:g}s"
    return {
        "name": NAME,
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor",
            "grpc_service": {"envoy_grpc": {"cluster_name": cluster}},
            "failure_mode_allow": True,
            "message_timeout": seconds,
            "allow_mode_override": True,
            "request_attributes": ["source.address"],
            "metadata_options": {"receiving_namespaces": {"untyped": ["corrigible"]}},
            "processing_mode": {
                "request_header_mode": "SEND",
                "response_header_mode": "SEND",
                "request_body_mode": "NONE",
                "response_body_mode": "NONE",
                "request_trailer_mode": "SKIP",
                "response_trailer_mode": "SKIP",
            },
        },
    }
