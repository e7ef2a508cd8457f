"""The options that say which API is corrected, and how: `corrigible proxy` and `corrigible corrector` share them."""

from __future__ import annotations

import argparse
from pathlib import Path

from corrigible.proxy.core.limits import Limits
from corrigible.proxy.core.mode import Mode

from . import grpc, map_option, spec_option, tls


def add(parser: argparse.ArgumentParser, *, listen: str) -> None:
    """Add the options. `listen` is the address to listen on unless another one is given."""
    parser.add_argument("--upstream", metavar="URL", help="address of the API: http[s]://host[:port]")
    parser.add_argument(
        "--pack",
        metavar="NAME_OR_PATH",
        action="append",
        default=[],
        help="rule pack: the name of a built-in one, or a folder; repeatable, tried in this order",
    )
    spec_option.add(parser)
    map_option.add(parser)
    parser.add_argument(
        "--listen", metavar="HOST:PORT", default=listen, help="address to listen on; default: %(default)s"
    )
    parser.add_argument(
        "--mode",
        metavar="|".join(Mode),
        default=Mode.REFLECTIVE.value,
        help="what to add to errors unless the caller chooses (Prefer: recovery-feedback=MODE); default: %(default)s",
    )
    parser.add_argument(
        "--query-mode",
        action="store_true",
        help="take ?mode=none|traditional|verbose|reflective of every request for the proxy, unless the API's "
        "description has a parameter of that name there; by default only where the description has the operation",
    )
    tls.add_trust(parser)
    grpc.add(parser)
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        default=Limits().seconds_with_lookups,
        help="maximum time for a correction, look-ups included; if it is exceeded, the original error is returned; "
        "default: %(default)s",
    )
    parser.add_argument(
        "--no-lookups",
        action="store_true",
        help="send no requests of the proxy's own; by default a correction may send a few reads and dry runs with the "
        "caller's credentials",
    )
    parser.add_argument(
        "--relay-key",
        metavar="FILE",
        type=Path,
        help="shared secret of two proxies, one in front of a Kubernetes API server and one in front of its admission "
        "webhook: feedback sealed with it is trusted",
    )
