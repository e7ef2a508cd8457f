"""A service in its own manner: operations in the body or a header, refusals in a 200, reads by POST."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CHANNELS = ["general", "random"]
FLOWS = [{"name": "nightly", "id": 7}]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if self.path == "/flows/filter":
            who = self.headers.get("authorization") == "Bearer me"
            self._answer(200 if who else 401, [one for one in FLOWS if who and one["name"] == sent.get("name")])
        elif self.headers.get("x-shop-target") == "Shop_2026.CreateFlow":
            is_taken = any(one["name"] == sent.get("name") for one in FLOWS)
            refused = {"__type": "com.shop#FlowExists", "text": "It is there."}
            self._answer(400 if is_taken else 200, refused if is_taken else sent, "application/x-shop-error")
        elif sent.get("channel") in CHANNELS or sent.get("method") == "echo":
            self._answer(200, {"ok": sent.get("method") != "echo", "failures": [], "text": "done"})
        else:
            failures = [{"reason": "no_channel", "where": "request.channel"}]
            self._answer(200, {"ok": False, "text": "Not done.", "failures": failures})

    def do_GET(self) -> None:
        self._answer(200, {})

    def _answer(self, status: int, body: Any, media: str = "application/json") -> None:
        data = json.dumps(body, indent=1).encode()
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
