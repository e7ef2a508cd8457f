"""`corrigible translate FILE`: what would be sent, said offline."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from corrigible.proxy.build import build_corrector
from corrigible.proxy.core.engine import Explanation
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.recording.exchange import Recorded
from corrigible.proxy.recording.reader import Recording, decoded, read_recording
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.schema.exchange import Json

if TYPE_CHECKING:
    from corrigible.proxy.http.corrector import HttpCorrector


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "translate", help="say offline what would be sent for recorded exchanges (HAR 1.2, mitmproxy flows, JSON)"
    )
    parser.add_argument("file", type=Path, metavar="FILE")
    options(parser)
    parser.set_defaults(run=run)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `pack try` has too."""
    if parser.prog.endswith("translate"):
        parser.add_argument("--pack", action="append", required=True, metavar="NAME_OR_PATH", help="may be repeated")
    parser.add_argument("--spec", type=Path, metavar="FILE", help="OpenAPI description of the API")
    parser.add_argument("--mode", type=Mode, choices=list(Mode), default=Mode.REFLECTIVE, metavar="MODE")
    parser.add_argument("--explain", action="store_true", help="say why each rule did or did not speak")
    parser.add_argument("--json", action="store_true", help="one JSON object per exchange")
    parser.add_argument("--all", action="store_true", help="also exchanges that stay untouched")


def run(args: argparse.Namespace) -> int:
    corrector = build_corrector(args.pack, mode=args.mode, spec=args.spec)
    return report(corrector, read_recording(args.file), args)


def report(corrector: HttpCorrector, recording: Recording, args: argparse.Namespace) -> int:
    """Print what becomes of every exchange. Look-ups are answered from the reads in the same file."""
    for exchange in recording.exchanges:
        explanation = Explanation()
        said = translated(corrector, recording, exchange, explanation)
        if said["outcome"] == "untouched" and not (args.all or args.explain or len(recording.exchanges) == 1):
            continue
        if args.json:
            if args.explain:
                said["explanation"] = explanation.lines
            print(json.dumps(said, ensure_ascii=False))
            continue
        print(f"{exchange.name}: {exchange.response.status} {said['outcome']}: {said['reason']}")
        if args.explain:
            for line in explanation.lines:
                print(f"  {line}")
        if said["outcome"] == "annotated":
            print(json.dumps(said["body"], indent=2, ensure_ascii=False))
    return 0


def translated(
    corrector: HttpCorrector, recording: Recording, exchange: Recorded, explanation: Explanation
) -> dict[str, Json]:
    """Return what would be sent for one recorded exchange."""
    said: dict[str, Json] = {"name": exchange.name, "status": exchange.response.status}
    if not corrector.wants_body(exchange.request, exchange.response):
        return {**said, "outcome": "untouched", "reason": "not a refusal in a body that is looked at"}
    outcome = run_with_lookups_sync(
        corrector.correct(
            exchange.request,
            exchange.request_body,
            exchange.response,
            exchange.response_body,
            id=exchange.name,
            started=exchange.started,
            explanation=explanation,
        ),
        recording.fetch,
        corrector.limits,
    )
    if outcome.rewrite is None:
        return {**said, "outcome": "untouched", "reason": outcome.error or outcome.reason}
    plain = decoded(outcome.rewrite.headers, outcome.rewrite.body)
    try:
        body = json.loads(plain)
        json.dumps(body)
    except (ValueError, RecursionError):
        body = plain.decode("utf-8", "replace")
    return {
        **said,
        "outcome": "annotated",
        "reason": ", ".join(outcome.rules) or outcome.reason,
        "headers": outcome.rewrite.headers,
        "body": body,
    }
