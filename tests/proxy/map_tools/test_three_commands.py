"""docs/mapping.md: from two descriptions to a proxy that knows what replaces what, in three commands."""

from __future__ import annotations

import json
import re
import shlex
import sys
import threading
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from corrigible.adapters.sandbox.server import HOST, Command, Server
from corrigible.proxy.build import MapFiles, SpecWarning
from corrigible.proxy.cli import main
from tests._support.skips import MAPPINGS

PAGE = Path(__file__).parents[3] / "docs/mapping.md"
OLD, NEW = "/apis/batch/v1beta1/namespaces/default/cronjobs", "/apis/batch/v1/namespaces/default/cronjobs"


class NewServer(BaseHTTPRequestHandler):
    """Serves the new version alone."""

    def do_GET(self) -> None:
        is_served = self.path.partition("?")[0] == NEW
        body = b'{"items": []}' if is_served else b"404 page not found\n"
        self.send_response(200 if is_served else 404)
        self.send_header("content-type", "application/json" if is_served else "text/plain; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def blocks(language: str) -> list[str]:
    text = PAGE.read_text("utf-8").replace(" \\\n", " ")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_three_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not MAPPINGS.is_dir():
        pytest.skip("no ground truth of mappings here")
    monkeypatch.chdir(tmp_path)
    for name in ("kubernetes-1.20.json", "kubernetes-1.27.json"):
        document = json.loads((MAPPINGS / "descriptions" / name).read_bytes())
        paths = {path: item for path, item in document["paths"].items() if path.startswith("/apis/batch/")}
        (tmp_path / name).write_text(json.dumps(document | {"paths": paths}))
    index, build, serve = (shlex.split(line)[1:] for line in blocks("sh")[0].splitlines())
    assert main(index) == 0
    assert main(build) == 0
    with ThreadingHTTPServer((HOST, 0), NewServer) as upstream:
        threading.Thread(target=upstream.serve_forever, daemon=True).start()
        serve[serve.index("--upstream") + 1] = f"http://{HOST}:{upstream.server_port}"
        at = serve.index("--listen") + 1

        def command(port: int) -> Command:
            code = "import sys; from corrigible.proxy.cli import main; sys.exit(main())"
            return Command([sys.executable, "-c", code, *serve[:at], f"{HOST}:{port}", *serve[at + 1 :]])

        with Server("proxy", "corrigible proxy", "none", command).start() as proxy:
            refused = httpx.get(f"{proxy.url}{OLD}?limit=5", headers={"accept": "application/json"})
            assert refused.status_code == 404
            assert refused.text == "404 page not found\n"
            link = refused.headers["link"].partition("<")[2].partition(">")[0]
            (suggestion,) = httpx.get(f"{proxy.url}{link}").json()["suggestions"]
            (shown,) = map(json.loads, blocks("json"))
            assert {name: suggestion[name] for name in shown} == shown
            assert suggestion.get("safety", {}).get("loses", []) == []
            assert httpx.get(f"{proxy.url}{NEW}?limit=5").json() == {"items": []}
        upstream.shutdown()


@pytest.mark.parametrize(
    ("own", "is_told"),
    [("http://127.0.0.1:8001", True), ("https://api.test", False), ("https://api.test:443/v1", False)],
)
def test_a_map_for_another_server_is_told(tmp_path: Path, own: str, is_told: bool) -> None:
    file = tmp_path / "map.json"
    one = {"api": "a", "method": "GET", "path": "/v1/x"}
    mapping = {"source": one, "target": one | {"path": "/v2/x"}, "equivalence": "same", "score": 1}
    apis = [{"name": "a", "origin": "https://api.test"}]
    file.write_text(json.dumps({"method": "by hand", "apis": apis, "mappings": [mapping]}))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        index = MapFiles([file], own).load()
    assert bool(index) is not is_told
    told = [str(one.message) for one in heard if one.category is SpecWarning]
    assert [line.partition(")")[0] for line in told] == (
        [f"map.json: no mapping is for {own} (https://api.test"] if is_told else []
    )
