"""Records a gRPC server: sends each call of the truth through `corrigible proxy`, and keeps how the server refused it.

    python -m tests.strangers.record_calls NAME --server 127.0.0.1:PORT --truth FILE.py [--credentials "Basic ..."]

The folder holds the descriptors (`descriptors.binpb`). The proxy is given them, or with `--reflection` nothing.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from google.rpc import status_pb2

from corrigible.adapters.protobuf.descriptors import Descriptors
from corrigible.adapters.sandbox.runtimes import python_arguments
from corrigible.adapters.sandbox.server import HOST, Command, Server
from corrigible.conformance.transport.grpc import DETAILS, OURS, GrpcCall, GrpcClient, GrpcResult
from corrigible.proxy.core.mode import CALLER
from corrigible.proxy.grpc.status import HTTP
from corrigible.schema.exchange import Request

from .case import FOLDER, Call, Case, Figures, Recorded, Stranger, document, load, save
from .judge import Episode, Reply, Verdict, follow, judge
from .record import figures, judge_left_out, line, truth
from .replay import descriptors, replay

_LONGEST_WAIT = 1.0


class CallRecorder:
    """Sends the calls of cases to a server, directly and through the proxy."""

    def __init__(self, server: GrpcClient, proxy: GrpcClient, known: Descriptors, credentials: str) -> None:
        self._server, self._proxy, self._known, self._credentials = server, proxy, known, credentials

    def record(self, case: Case, number: int) -> tuple[Case, Episode]:
        """Return the case with what was answered in this run."""
        values = {"n": str(number)}
        self._set_up(case, values)
        like = case.right[0].method if case.right else case.request.method
        exchanges: list[Recorded] = []

        def send(request: Request) -> Reply:
            result = self._send(self._proxy, request, like, case.request.credentials, caller=str(number))
            if result is None:  # it cannot be encoded: no client can send it
                return Reply(400)
            if result.code:
                exchanges.append(_recorded(request, result))
            return Reply(HTTP[result.code], result.feedback)

        first = self._canonical(document(case.request.wire(values)), like)
        episode = follow(first, send, lambda seconds: time.sleep(min(seconds, _LONGEST_WAIT)))
        accepted = [self._status(case, right, {"n": str(number + 1000 * at)}) for at, right in enumerate(case.right, 1)]
        return case.model_copy(update={"accepted": accepted, "values": values, "exchanges": exchanges}), episode

    def _set_up(self, case: Case, values: dict[str, str]) -> None:
        for call in case.setup:
            request = document(call.wire(values))
            result = self._send(self._server, request, call.method, None)
            if result is None or result.code:
                raise SystemExit(f"{case.name}: a set-up call: {result and result.message}")

    def _status(self, case: Case, right: Call, values: dict[str, str]) -> int:
        """Return the status of a right call in a state of its own."""
        self._set_up(case, values)
        result = self._send(self._server, document(right.wire(values)), right.method, case.request.credentials)
        return HTTP[result.code] if result is not None else 400

    def _canonical(self, request: Request, like: str) -> Request:
        """Return a request as the proxy reads it: in canonical proto-JSON."""
        data = self._message(request, like)
        method = request.method if request.method in self._known.methods else like
        return replace(request, body=self._known.request_json(method, data or b""))

    def _message(self, request: Request, like: str) -> bytes | None:
        method = request.method if request.method in self._known.methods else like
        return self._known.request_bytes(method, {} if request.body is None else request.body)

    def _send(
        self, client: GrpcClient, request: Request, like: str, credentials: str | None, caller: str = ""
    ) -> GrpcResult | None:
        """Send a request. Each case is a `caller` of its own: what one repeats is no loop of another."""
        message = self._message(request, like)
        if message is None:
            return None
        metadata = [(name, str(value)) for name, value in request.headers.items() if name not in _OF_HTTP]
        authorization = self._credentials if credentials is None else credentials
        if authorization:
            metadata.append(("authorization", authorization))
        if caller:
            metadata.append((CALLER, f"case-{caller}"))
        return client.send(GrpcCall(request.method, (message,), tuple(metadata)))


_OF_HTTP = frozenset({"accept", "content-type"})


def _recorded(request: Request, result: GrpcResult) -> Recorded:
    """Return a refusal as the server sent it, without the proxy's detail."""
    trailers = [("grpc-status", str(result.code))]
    status = result.status
    if status is not None:
        native = status_pb2.Status(code=status.code, message=status.message)
        native.details.extend(one for one in status.details if not one.type_url.endswith(OURS))
        if native.details:
            trailers.append((DETAILS, base64.b64encode(native.SerializeToString()).decode()))
    return Recorded(
        method=request.method,
        target="",
        headers=[(name, str(value)) for name, value in request.headers.items() if name not in _OF_HTTP],
        body=json.dumps(request.body),
        status=HTTP[result.code],
        response_headers=trailers,
        response_body=result.message,
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="record_calls", description="Record a gRPC server for tests/strangers.")
    parser.add_argument("name", help="folder below tests/strangers; it holds the descriptors already")
    parser.add_argument("--server", required=True, metavar="HOST:PORT", help="the server, with fresh state")
    parser.add_argument("--truth", type=Path, help="ABOUT and CASES; default: those of the folder")
    parser.add_argument("--credentials", default="", help="value of the metadata `authorization`")
    parser.add_argument("--reflection", action="store_true", help="do not give the descriptors to the proxy")
    parser.add_argument("--first", type=int, default=1000, help="number of the first case; default: %(default)s")
    args = parser.parse_args(arguments)
    before = load(args.name) if (FOLDER / args.name / "cases.json").exists() else None
    if args.truth is not None:
        about, cases = truth(args.truth)
    elif before is not None:
        about, cases = before.model_dump(exclude={"cases", "first_run"}), before.cases
    else:
        parser.error("--truth is needed: nothing was recorded yet")
    description = FOLDER / args.name / about["description"]
    verdicts: list[tuple[Case, Verdict]] = []
    code = "import sys; from corrigible.proxy.cli import main; sys.exit(main())"
    options = [] if args.reflection else ["--descriptors", str(description)]

    def command(port: int) -> Command:
        listen = ["--grpc-upstream", args.server, "--listen", f"{HOST}:{port}"]
        return Command(python_arguments(code, "proxy", *listen, *options))

    with Server("proxy", "corrigible proxy", "none", command).start() as running:
        recorder = CallRecorder(
            GrpcClient(args.server),
            GrpcClient(running.url.rpartition("/")[2]),
            descriptors(description),
            args.credentials,
        )
        for number, case in enumerate(cases, args.first):
            case, episode = recorder.record(case, number)
            if not case.exchanges:
                print(f"{case.name}: the server does not refuse it: left out")
                continue
            verdict = judge(case, episode)
            verdicts.append((case, verdict))
            print(line(case, episode, verdict), flush=True)
    result = figures(verdicts)
    first_run = Figures(**about.pop("first_run")) if "first_run" in about else before.first_run if before else result
    stranger = Stranger(**about, first_run=first_run, cases=[case for case, _ in verdicts])
    save(args.name, stranger)
    print(result.model_dump_json())
    for case, verdict in verdicts:
        if judge(case, replay(args.name, stranger, case)) != verdict:
            print(f"{case.name}: replayed, it is judged otherwise than before the server")
    return judge_left_out(args.name, stranger)


if __name__ == "__main__":
    sys.exit(main())
