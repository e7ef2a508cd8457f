"""An admission webhook whose policies are checkov's. Run as: PORT CERTIFICATE KEY CHECK,CHECK,...

Checkov's: which checks there are, what they are called, whether an object passes. Ours: this adapter between
AdmissionReview and checkov, the code 403, and the layout of the message, which follows checkov's own webhook (whorf).
"""

import http.server
import json
import logging
import ssl
import sys
import tempfile
from pathlib import Path
from typing import Any

from checkov.kubernetes.runner import Runner  # type: ignore[import-not-found]  # in an environment of its own
from checkov.runner_filter import RunnerFilter  # type: ignore[import-not-found]  # as above

port, certificate, key, checks = sys.argv[1:5]
logging.disable(logging.CRITICAL)


def failed(document: dict[str, Any]) -> Any:
    """Return the checks that an object does not pass."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "object.json")
        file.write_text(json.dumps(document), "utf-8")
        wanted = RunnerFilter(framework=["kubernetes"], checks=checks.split(","))
        return Runner().run(root_folder=None, files=[str(file)], runner_filter=wanted).failed_checks


class Webhook(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["request"]
        kind = asked["kind"]
        version = f"{kind['group']}/{kind['version']}" if kind["group"] else kind["version"]
        found = failed({"apiVersion": version, "kind": kind["kind"], **asked["object"]})
        response = {"uid": asked["uid"], "allowed": not found}
        if found:
            said = [f"{one.check_id}:\n  Description: {one.check_name}\n  Guidance: {one.guideline}" for one in found]
            head = f"Checkov found {len(found)} issues in violation of admission policy."
            response["status"] = {"code": 403, "message": "\n".join([head, *said])}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *values: object) -> None:
        """Say nothing."""


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Webhook)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
