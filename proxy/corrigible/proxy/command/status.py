"""`corrigible status`: the health and the numbers of a running proxy, from its admin address."""

from __future__ import annotations

import argparse
import re
import sys
import time
from typing import Final

from corrigible.proxy.access_log.terminal import counted, duration
from corrigible.schema.extra import needs
from corrigible.schema.printable import printable

from .options import Subparsers, UsageError

_SECONDS = 5.0
_MOST_REASONS = 20
_OTHER_SERVER = "this is no Corrigible: not the admin address of a proxy"
_ERRNO: Final = re.compile(r"\[Errno -?\d+\] ")


def add(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "status",
        description="Show what a running proxy did, and whether it is well. Exit status: 0 it is well and ready, 1 it "
        "is not, or does not answer.",
    )
    parser.add_argument(
        "--admin", metavar="URL", default="127.0.0.1:8081", help="the proxy's --admin; default: %(default)s"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import httpx

    try:
        from corrigible.proxy.admin.prometheus import read
    except ModuleNotFoundError as missing:
        if missing.name != "prometheus_client":
            raise
        raise UsageError(needs("corrigible status", "prometheus")) from None
    url = args.admin if "://" in args.admin else f"http://{args.admin}"
    try:
        with httpx.Client(base_url=url, timeout=_SECONDS, trust_env=False) as client:
            health, metrics = client.get("/healthz"), client.get("/metrics")
            # Another server is asked for no more than tells that it is one.
            ready = client.get("/readyz") if "corrigible_" in metrics.text else health
    except httpx.ConnectError as problem:
        reason = _ERRNO.sub("", str(problem))
        return _not_well(f"{url}: {reason[:1].lower()}{reason[1:]}: is the proxy running with --admin?")
    except (httpx.HTTPError, httpx.InvalidURL) as problem:
        return _not_well(f"{url}: {problem}")
    if 404 in (health.status_code, metrics.status_code):
        return _not_well(f"{url}: {_OTHER_SERVER}")
    if health.status_code != 200 or metrics.status_code != 200:
        return _not_well(f"{url}: {(health if health.status_code != 200 else metrics).text.strip()[:200]}")
    try:
        scraped = read(metrics.text)
    except (ValueError, KeyError):
        return _not_well(f"{url}: {_OTHER_SERVER}")
    statistics = scraped.statistics
    is_ready = ready.status_code == 200
    state = "is well" if is_ready else "is alive, and not ready"
    print(f"corrigible {scraped.info.get('version', '')} {state}: {scraped.info.get('serves', '')}")
    for reason in () if is_ready else ready.text.splitlines()[:_MOST_REASONS]:
        print(f"not ready: {printable(reason)[:200]}")
    facts = ["ready"] if is_ready else []
    if scraped.started is not None:
        facts.append(f"up {_span(time.time() - scraped.started)}")
    if scraped.memory is not None:
        facts.append(f"{scraped.memory / (1 << 20):,.0f} MiB")
    if corrections := sum(times.count for times in statistics.corrections.values()):
        seconds = sum(times.seconds for times in statistics.corrections.values())
        facts.append(f"{duration(seconds / corrections)} for a refusal on average")
    facts.append(counted(statistics.lookups.total(), "look-up"))
    facts += [f"{counted(count, 'reload')} {result}" for result, count in statistics.reloads.items() if count]
    print(", ".join(facts))
    for line in statistics.summary() if statistics.requests else ("no requests yet",):
        print(line)
    return 0 if is_ready else 1


def _span(seconds: float) -> str:
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min" if minutes else f"{max(0, int(seconds))} s"


def _not_well(problem: str) -> int:
    print(f"corrigible status: {problem}", file=sys.stderr)
    return 1
