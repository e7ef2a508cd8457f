"""`corrigible translate FILE`: show offline the proxy's answers to recorded exchanges.

`corrigible explain TEXT`: show what is read of one sentence.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from corrigible.proxy.access_log.entry import redact_target
from corrigible.proxy.build import build_corrector
from corrigible.proxy.core.api_profile import Explanation
from corrigible.proxy.core.mode import Mode
from corrigible.proxy.http.messages import HttpExchange
from corrigible.proxy.recording.reader import Recorded, Recording, decoded, read_recording
from corrigible.proxy.runtime.lookup_runner import run_with_lookups_sync
from corrigible.rules.pack.load import load_pack
from corrigible.rules.wordings import read
from corrigible.rules.wordings.check import check_languages
from corrigible.schema.command_line import several
from corrigible.schema.exchange import Json

from .options import Subparsers

if TYPE_CHECKING:
    from corrigible.proxy.http.corrector import HttpCorrector, HttpOutcome

FILE_HELP: Final = "recorded traffic: HAR 1.2, a mitmproxy flow file, or a JSON capture"


def add(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "translate",
        description="Show offline the proxy's answers to recorded exchanges. Look-ups are answered from "
        "successful reads in the same recording.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help=FILE_HELP)
    several(
        parser,
        "--pack",
        metavar="NAME_OR_PATH",
        help="rule pack: the name of a built-in one, or a folder; repeatable; default: the meaning of statuses",
    )
    parser.add_argument("--explain", action="store_true", help="show why each rule matched or not")
    add_output_options(parser)
    parser.set_defaults(run=run)


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that `pack explain` has too."""
    parser.add_argument("--spec", type=Path, metavar="FILE", help="OpenAPI description of the API")
    parser.add_argument(
        "--mode",
        type=Mode,
        choices=list(Mode),
        default=Mode.REFLECTIVE,
        metavar="MODE",
        help=f"{', '.join(Mode)}; default: %(default)s",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per exchange")
    parser.add_argument("--all", action="store_true", help="include exchanges that stay unchanged")


def run(args: argparse.Namespace) -> int:
    corrector = build_corrector(args.pack, mode=args.mode, spec=args.spec)
    return report(corrector, read_recording(args.file), args)


def report(corrector: HttpCorrector, recording: Recording, args: argparse.Namespace) -> int:
    """Print what the proxy would send for each exchange."""
    hidden = 0
    for exchange in recording.exchanges:
        explanation = Explanation()
        result = translated(corrector, recording, exchange, explanation)
        if result["outcome"] == "untouched" and not (args.all or args.explain or len(recording.exchanges) == 1):
            hidden += 1
            continue
        if args.json:
            if args.explain:
                result["reading"], result["explanation"] = explanation.reading, explanation.lines
            print(json.dumps(result, ensure_ascii=False))
            continue
        print(f"{result['name']}: {exchange.response.status} {result['outcome']}: {result['reason']}")
        if args.explain:
            for line in (*explanation.reading, *explanation.lines):
                print(f"  {line}")
        if result["outcome"] == "annotated":
            print(json.dumps(result["body"], indent=2, ensure_ascii=False))
    if hidden == len(recording.exchanges):
        print(f"nothing is added to these {hidden} exchanges: --all shows them, --explain says why", file=sys.stderr)
    return 0


def corrected(
    corrector: HttpCorrector, recording: Recording, exchange: Recorded, explanation: Explanation
) -> HttpOutcome:
    """Return what becomes of a recorded exchange, whose look-ups the recording answers."""
    http = HttpExchange(exchange.request, exchange.request_body, exchange.response, exchange.response_body)
    steps = corrector.correct(http, id=exchange.name, started=exchange.started, explanation=explanation)
    return run_with_lookups_sync(steps, recording.fetch, corrector.limits)


def translated(
    corrector: HttpCorrector, recording: Recording, exchange: Recorded, explanation: Explanation
) -> dict[str, Json]:
    """Return what would be sent for one recorded exchange."""
    head: dict[str, Json] = {"name": _name(exchange), "status": exchange.response.status}
    if not corrector.wants_body(exchange.request, exchange.response):
        return {**head, "outcome": "untouched", "reason": "not a refusal in a body that is looked at"}
    outcome = corrected(corrector, recording, exchange, explanation)
    if outcome.rewrite is None:
        return {**head, "outcome": "untouched", "reason": outcome.error or outcome.reason}
    plain = decoded(outcome.rewrite.headers, outcome.rewrite.body)
    try:
        body = json.loads(plain)
        json.dumps(body)
    except (ValueError, RecursionError):
        body = plain.decode("utf-8", "replace")
    return {
        **head,
        "outcome": "annotated",
        "reason": ", ".join(outcome.rules) or outcome.reason,
        "headers": outcome.rewrite.headers,
        "body": body,
    }


def _name(exchange: Recorded) -> str:
    """Return the number, method and target of an exchange, secrets left out as in the proxy's log."""
    before, space, target = exchange.name.rpartition(" ")
    return f"{before}{space}{redact_target(target)}"


def add_explain(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "explain",
        description="Show what is read of a text: the kinds of complaint, the names, values and limits in it, and the "
        "row that reads them. Exit status 1: nothing is read.",
    )
    parser.add_argument("text", metavar="TEXT", help="a sentence of a server, or several")
    parser.add_argument("--pack", metavar="NAME_OR_PATH", help="with the wordings of this pack")
    parser.add_argument("--json", action="store_true", help="print one JSON object per reading")
    parser.set_defaults(run=_explain)


def _explain(args: argparse.Namespace) -> int:
    more = load_pack(args.pack).wordings if args.pack else None
    try:
        reading = read(args.text, more)
    except Exception:
        check_languages()  # says what is wrong with which row
        raise
    for said in reading.said:
        quoted = reading.text[said.start : said.end]
        if args.json:
            print(json.dumps({**said._asdict(), "text": quoted}, ensure_ascii=False))
            continue
        print(f'{said.kind}: "{quoted}"')
        for name, values in said.slots.items():
            print(f"  {name}: {', '.join(values)}")
        if said.states:
            print(f"  states: {json.dumps(said.states, ensure_ascii=False)}")
        print(f"  row: {said.row}")
    if not reading.said:
        check_languages()  # a row with a mistake may be the reason
        print("No row reads this text.", file=sys.stderr)
    return 0 if reading.said else 1
