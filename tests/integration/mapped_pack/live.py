"""Prove the pack on moto (PyPI `moto[server]`), an emulator of AWS: each refusal is repaired, and the repair accepted.

    python live.py CORRIGIBLE MOTO_SERVER

The two are commands. Both servers run on 127.0.0.1, and end with this script.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from corrigible.adapters.sandbox.server import free_port

_SECONDS = 60.0


def _await(port: int) -> None:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port}")


def _signed(service: str) -> dict[str, str]:
    credential = f"Credential=AKID/20260101/us-east-1/{service}/aws4_request"
    return {"authorization": f"AWS4-HMAC-SHA256 {credential}, SignedHeaders=host, Signature=x"}


class Calls:
    def __init__(self, base: str) -> None:
        self._client = httpx.Client(base_url=base, timeout=30)
        self.failed = 0

    def json(self, operation: str, body: dict[str, Any]) -> httpx.Response:
        target = {"x-amz-target": f"DynamoDB_20120810.{operation}", "content-type": "application/x-amz-json-1.0"}
        return self._client.post("/", headers={**_signed("dynamodb"), **target}, json=body)

    def form(self, service: str, **fields: str) -> httpx.Response:
        return self._client.post("/", headers=_signed(service), data=fields)

    def put(self, path: str, storage: str = "STANDARD") -> httpx.Response:
        headers = {**_signed("s3"), "x-amz-storage-class": storage}
        return self._client.put(path, headers=headers, content=b"x" if path.count("/") > 1 else b"")

    def suggestion(self, answer: httpx.Response, service: str) -> dict[str, Any]:
        """Return the first suggestion, from the body or from where the `Link` points."""
        if "recovery-feedback" in answer.headers.get("link", ""):
            feedback = self._client.get(answer.links["recovery-feedback"]["url"], headers=_signed(service)).json()
        else:
            feedback = answer.json()["recovery_feedback"]
        suggestion: dict[str, Any] = feedback["suggestions"][0]
        return suggestion

    def check(self, name: str, refused: httpx.Response, rule: str, suggestion: dict[str, Any], after: Any) -> None:
        evidence, accepted = suggestion["evidence"]["rule"], after.status_code
        holds = refused.status_code == 400 and evidence == f"cloud.{rule}@1" and accepted == 200
        self.failed += not holds
        print(f"{'ok' if holds else 'WRONG'}: {name}: {refused.status_code}, {evidence}, repaired: {accepted}")


def run(calls: Calls) -> int:
    table = {"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST"}
    types = [{"AttributeName": "id", "AttributeType": "S"}]
    calls.json("CreateTable", {"TableName": "orders", "AttributeDefinitions": types, **table}).raise_for_status()
    calls.put("/files").raise_for_status()

    item = {"idd": {"S": "1"}}
    refused = calls.json("PutItem", {"TableName": "orders", "Item": item})
    suggestion = calls.suggestion(refused, "dynamodb")
    move = next(one for one in suggestion["patch"] if one["op"] == "move")
    repaired = {move["path"].rpartition("/")[2]: item[move["from"].rpartition("/")[2]]}
    after = calls.json("PutItem", {"TableName": "orders", "Item": repaired})
    calls.check("JSON 1.0 (DynamoDB)", refused, "key-missing", suggestion, after)

    refused = calls.form("sqs", Action="CreateQueue", QueueName="jobs x", Version="2012-11-05")
    suggestion = calls.suggestion(refused, "sqs")
    after = calls.form("sqs", Action="CreateQueue", Version="2012-11-05", **suggestion["parameters"])
    calls.check("query, XML (SQS)", refused, "queue-name", suggestion, after)

    refused = calls.put("/files/a", "STANDRD")
    suggestion = calls.suggestion(refused, "s3")
    value = next(one["value"] for one in suggestion["patch"] if one["op"] == "replace")
    calls.check("REST, XML (S3)", refused, "storage-class", suggestion, calls.put("/files/a", value))
    return calls.failed


def main() -> int:
    corrigible, moto = sys.argv[1:]
    upstream, listen = free_port(), free_port()
    commands = [
        [moto, "-H", "127.0.0.1", "-p", str(upstream)],
        [corrigible, "proxy", "--upstream", f"http://127.0.0.1:{upstream}", "--listen", f"127.0.0.1:{listen}"],
    ]
    commands[1] += ["--pack", str(Path(__file__).parent)]
    servers = [subprocess.Popen(one, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for one in commands]
    try:
        _await(upstream)
        _await(listen)
        return run(Calls(f"http://127.0.0.1:{listen}"))
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
