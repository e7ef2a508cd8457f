"""Records a server: sends each request of the truth through `corrigible proxy`, and keeps what the server answered.

    python -m tests.strangers.record NAME --url http://127.0.0.1:PORT [--truth FILE.py] [--header "Authorization: ..."]
    python -m tests.strangers.record NAME      judges what is recorded again, without a server

Prints what came of each case with weights that have not seen the server, and the row for docs/servers.md.

README.md beside this file has the steps. `--truth` adds a server; without it, a recorded one is recorded again.
"""

from __future__ import annotations

import argparse
import json
import runpy
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corrigible.adapters.sandbox.runtimes import python_arguments
from corrigible.adapters.sandbox.server import HOST, Command, Server
from corrigible.conformance.reference.upstream import Received, Script, Upstream, answer
from corrigible.conformance.transport.http1 import CASE, HttpClient, HttpRequest, HttpResponse
from corrigible.schema.exchange import Json, Request

from .case import FOLDER, Call, Case, Figures, Recorded, Stranger, document, load, save, wire_request
from .gates import BASE, as_recorded, figures_of, left_out
from .judge import Episode, Reply, Verdict, follow, is_same, judge
from .page import row
from .replay import replay

_TIMEOUT = 30.0
_LEFT_OUT = frozenset(
    {"connection", "content-length", "date", "keep-alive", "server", "set-cookie", "transfer-encoding"}
)
_CREDENTIALS = frozenset({"authorization", "cookie", "host", "content-length", CASE})
_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})
_LONGEST_WAIT = 2.0
_APART = 1000
"""Between the numbers of the states that one case is tried in."""


class Tap:
    """Stands between the proxy and the server, and keeps what is said: refusals by case, look-ups apart."""

    def __init__(self, server: HttpClient) -> None:
        self._server = server
        self.responses: list[HttpResponse] = []
        self.lookups: dict[str, Json] = {}

    def relay(self, received: Received) -> Script:
        sent = received.sent
        headers = tuple(one for one in sent.headers if one[0].lower() not in ("accept-encoding", CASE))
        response = self._server.send(HttpRequest(sent.method, sent.target, headers, sent.body), timeout=_TIMEOUT)
        if sent.header(CASE) is not None:
            self.responses.append(response)
        else:
            self.lookups[f"{sent.method} {sent.target}"] = {
                "answer": {"status": response.status, "body": _json_or_text(response.body)}
            }
        kept = [one for one in response.headers if one[0].lower() not in ("transfer-encoding", "connection")]
        return answer(response.status, response.body, kept)


class Recorder:
    """Sends the requests of cases to a server, directly and through the proxy."""

    def __init__(self, server: HttpClient, proxy: HttpClient, tap: Tap, credentials: tuple[str, str] | None) -> None:
        self._server, self._proxy, self._tap, self._credentials = server, proxy, tap, credentials

    def record(self, case: Case, number: int) -> tuple[Case, Episode]:
        """Return the case with what was answered in this run."""
        values = self._set_up(case, number)
        if isinstance(values, HttpResponse):
            raise SystemExit(f"{case.name}: a set-up request: {values.status} {values.body[:300]!r}")
        exchanges: list[Recorded] = []
        first = case.request.wire(values)

        def send(request: Request) -> Reply | None:
            wire = first if not exchanges else wire_request(request)
            return self._send(case, wire, exchanges)

        episode = follow(document(first), send, lambda seconds: time.sleep(min(seconds, _LONGEST_WAIT)))
        refusals = [one for one in exchanges if one.status >= 400]
        accepted = [document(one.request) for one in exchanges if one.status < 400]
        statuses = []
        for offset, right in enumerate(case.right, 1):
            is_done = any(is_same(document(right.wire(values)), one) for one in accepted)
            statuses.append(200 if is_done else self._status(case, right, number + offset * _APART))
        return case.model_copy(update={"accepted": statuses, "values": values, "exchanges": refusals}), episode

    def verify(self, case: Case, number: int) -> str:
        """Try the truth without the proxy: the request has to be refused, the first right one accepted."""
        values = self._set_up(case, number)
        if isinstance(values, HttpResponse):
            return f"a set-up request: {values.status} {values.body[:200]!r}"
        refusal = self._server.send(self._with_credentials(case.request, values), timeout=_TIMEOUT)
        status = self._status(case, case.right[0], number + _APART) if case.right else 200
        problem = "" if 400 <= refusal.status < 500 and status < 400 else f"NOT AS THE TRUTH SAYS, right: {status}; "
        return f"{problem}{refusal.status} {refusal.body[:200]!r}"

    def _status(self, case: Case, right: Call, number: int) -> int:
        """Return the status of a right request in a state of its own; 0 if that state cannot be made twice."""
        values = self._set_up(case, number)
        if isinstance(values, HttpResponse):
            return 0
        return self._server.send(self._with_credentials(right, values), timeout=_TIMEOUT).status

    def _set_up(self, case: Case, number: int) -> dict[str, str] | HttpResponse:
        """Send the set-up requests. Return the values of the templates, or the first refusal."""
        values = {"n": str(number), "yy": str(10 + number % 80)}
        for call in case.setup:
            response = self._server.send(self._with_credentials(call, values), timeout=_TIMEOUT)
            if not 200 <= response.status < 400:
                return response
            for name, place in call.save.items():
                values[name] = str(_at(response.json(), place))
        return values

    def _with_credentials(self, call: Call, values: dict[str, str]) -> HttpRequest:
        return self._signed(call.wire(values), call.credentials)

    def _signed(self, wire: HttpRequest, credentials: str | None) -> HttpRequest:
        name, value = self._credentials or ("Authorization", "")
        value = value if credentials is None else credentials
        if wire.method in _WITH_LENGTH and not wire.body:  # as most clients do: some servers demand it (411)
            wire = wire.adding(("content-length", "0"))
        return wire.adding((name, value)) if value and wire.header(name) is None else wire

    def _send(self, case: Case, wire: HttpRequest, exchanges: list[Recorded]) -> Reply:
        self._tap.responses.clear()
        self._tap.lookups.clear()
        if wire.header("prefer") is None:
            wire = wire.adding(("prefer", f'recovery-feedback=reflective; caller="{case.name}"'))
        request = self._signed(wire, case.request.credentials).adding((CASE, case.name))
        response = self._proxy.send(request, timeout=_TIMEOUT)
        if len(self._tap.responses) != 1:
            raise SystemExit(
                f"{case.name}: {wire.method} {wire.target}: {response.error or 'the server was not asked'}"
            )
        native = self._tap.responses[0]
        exchanges.append(
            Recorded(
                method=wire.method,
                target=wire.target,
                headers=[one for one in wire.headers if one[0].lower() not in _CREDENTIALS],
                body=wire.body.decode(),
                status=native.status,
                response_headers=[one for one in native.headers if one[0].lower() not in _LEFT_OUT],
                response_body=native.body.decode(),
                lookups=dict(self._tap.lookups),
            )
        )
        return Reply(response.status, self._feedback(response, request))

    def _feedback(self, response: HttpResponse, request: HttpRequest) -> Any:
        if response.status < 400 or response.feedback is not None:
            return response.feedback
        for link in response.values("link"):
            target, _, parameters = link.partition(">")
            if 'rel="recovery-feedback"' in parameters:
                linked = HttpRequest("GET", target.strip().removeprefix("<"), request.headers)
                document = self._proxy.send(linked, timeout=_TIMEOUT)
                return document.json() if document.status == 200 else None
        return None


@contextmanager
def recorder(url: str, description: Path, credentials: tuple[str, str] | None) -> Iterator[Recorder]:
    """Run the proxy, with nothing but the description, before a server."""
    server = HttpClient(url)
    tap = Tap(server)
    code = "import sys; from corrigible.proxy.cli import main; sys.exit(main())"
    with Upstream(tap.relay) as upstream:

        def command(port: int) -> Command:
            options = ["--upstream", upstream.url, "--listen", f"{HOST}:{port}", "--spec", str(description)]
            return Command(python_arguments(code, "proxy", *options))

        with Server("proxy", "corrigible proxy", "none", command).start() as running:
            yield Recorder(server, HttpClient(running.url), tap, credentials)


def truth(file: Path) -> tuple[dict[str, Any], list[Case]]:
    """Read ABOUT and CASES of a truth file: README.md has the form."""
    module = runpy.run_path(str(file))
    return module["ABOUT"], [_case(one) for one in module["CASES"]]


def _case(one: dict[str, Any]) -> Case:
    return Case(
        name=one["name"].rpartition("__")[2],
        kind=one["kind"],
        cls=one["cls"],
        note=one["note"],
        setup=[_call(call) for call in one["setup"]],
        request=_call(one["req"]),
        right=[_call(call) for call in one["fix"]],
        ask_at=one["at"],
        terminal_is_right=one["term"],
    )


def _call(one: dict[str, Any]) -> Call:
    return Call(
        method=one["method"],
        path=one["path"],
        body=one["body"],
        media_type=one.get("ct"),
        headers=one.get("headers") or {},
        credentials=one.get("auth"),
        save=one.get("save") or {},
    )


def figures(verdicts: list[tuple[Case, Verdict]]) -> Figures:
    """Return the figures of a run."""
    repairable = [verdict for case, verdict in verdicts if case.is_repairable]
    others = [verdict for case, verdict in verdicts if not case.is_repairable]
    return Figures(
        refusals=len(verdicts),
        repairable=len(repairable),
        repaired=sum(verdict.right for verdict in repairable),
        others=len(others),
        answered=sum(verdict.right for verdict in others),
        harm=sum(verdict.harm for _, verdict in verdicts),
        flagged_harm=sum(verdict.flagged_harm for _, verdict in verdicts),
        asked_wrong=sum(verdict.asked_wrong for _, verdict in verdicts),
    )


def _at(value: Json, place: str) -> Json:
    for part in place.split("."):
        value = value[int(part) if isinstance(value, list) else part]
    return value


def _json_or_text(body: bytes) -> Json:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body.decode("utf-8", "replace")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="record", description="Record a server for tests/strangers.")
    parser.add_argument("name", help="folder below tests/strangers; it holds the description already")
    parser.add_argument("--url", help="the server, with fresh state; default: judge what is recorded again, no server")
    parser.add_argument("--truth", type=Path, help="ABOUT and CASES; default: those of the folder")
    parser.add_argument("--header", help='credentials: "Name: value"')
    parser.add_argument("--first", type=int, default=1000, help="number of the first case; default: %(default)s")
    parser.add_argument("--only", default="", help="record the cases whose name contains this, print, write nothing")
    parser.add_argument("--verify", action="store_true", help="only try the truth, without the proxy")
    args = parser.parse_args(arguments)
    before = load(args.name) if (FOLDER / args.name / "cases.json").exists() else None
    if args.url is None:
        return (
            judge_left_out(args.name, before) if before else parser.error("--url is needed: nothing was recorded yet")
        )
    if args.truth is not None:
        about, cases = truth(args.truth)
    elif before is not None:
        about, cases = before.model_dump(exclude={"cases", "first_run"}), before.cases
    else:
        parser.error("--truth is needed: nothing was recorded yet")
    header = tuple(args.header.split(": ", 1)) if args.header else None
    recorded: list[Case] = []
    verdicts: list[tuple[Case, Verdict]] = []
    if args.verify:
        server = HttpClient(args.url)
        direct = Recorder(server, server, Tap(server), header)
        for number, case in enumerate(cases, args.first):
            if args.only in case.name:
                print(f"{case.name}: {direct.verify(case, number)}")
        return 0
    with recorder(args.url, FOLDER / args.name / about["description"], header) as live:
        for number, case in enumerate(cases, args.first):
            if args.only not in case.name:
                continue
            case, episode = live.record(case, number)
            verdict = judge(case, episode)
            if episode.result == "no refusal":
                print(f"{case.name}: the server does not refuse it: left out")
                continue
            if case.right and case.accepted[0] >= 400:
                print(f"{case.name}: the server refuses the first right request: {case.accepted[0]}")
            recorded.append(case)
            verdicts.append((case, verdict))
            print(line(case, episode, verdict), flush=True)
    result = figures(verdicts)
    print(result.model_dump_json())
    if args.only:
        return 0
    first_run = Figures(**about.pop("first_run")) if "first_run" in about else before.first_run if before else result
    stranger = Stranger(**about, first_run=first_run, cases=recorded)
    save(args.name, stranger)
    for case, verdict in verdicts:
        if judge(case, replay(args.name, stranger, case)) != verdict:
            print(f"{case.name}: replayed, it is judged otherwise than before the server")
    return judge_left_out(args.name, stranger)


def judge_left_out(name: str, stranger: Stranger) -> int:
    """Print what comes of the recorded refusals with weights that have not seen the server."""
    with left_out(name):
        rows = list(as_recorded(BASE, name, stranger))
    print("left out:")
    for one in rows:
        if not one.right:
            print(f"missed {one.case}: {one.kind} {one.fault.upper()}".rstrip())
    print(row(stranger, figures_of(rows)))
    return 1 if any(one.fault == "harm" for one in rows) else 0


def line(case: Case, episode: Episode, verdict: Verdict) -> str:
    flags = [name.replace("_", " ") for name in ("harm", "flagged_harm", "asked_wrong") if getattr(verdict, name)]
    word = "right " if verdict.right else "missed"
    return f"{word} {case.cls:8} {case.name}: {episode.result}" + "".join(f", {flag.upper()}" for flag in flags)


if __name__ == "__main__":
    sys.exit(main())
