"""`corrigible proxy --config FILE`: options in a file, several APIs behind one proxy."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
import yaml

from corrigible.client.httpx import CorrigibleTransport
from corrigible.proxy.command import proxy
from corrigible.proxy.command.config_file import config_schema, read_config
from corrigible.proxy.command.options import UsageError
from corrigible.proxy.http.api_routes import ApiRoute, ApiRoutes, Upstream
from corrigible.rules.errors import AuthoringError
from tests._support.rows import rows

JSON = b"Content-Type: application/json\r\n"
REFUSAL = b'{"error":{"code":"bad","message":"m"}}'


@contextmanager
def running(bench: Any, *words: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    with bench.start(*words, env={**os.environ, **environment}) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.match(r"corrigible: http://127\.0\.0\.1:(\d+) ", line)
            assert found is not None, process.communicate()
            yield process, int(found[1]), line
        finally:
            process.kill()


def test_several_apis_by_prefix_and_by_host(bench: Any, write_pack: Any, tmp_path: Path) -> None:
    write_pack(
        x="""\
        match: {code: bad}
        suggest:
          - action: MODIFY_PARAMS
            message: m
            set: {/path: "'/v1/right'"}
        """
    )
    log = tmp_path / "log.jsonl"
    refusal = bench.message(b"400 No", JSON, REFUSAL)
    moved = bench.message(b"307 Moved", b"Location: /v1/there\r\n", b"")
    with (
        bench.upstream({"/v1/wrong": refusal, "/v1/moved": moved}) as first,
        bench.upstream({"/v1/wrong": bench.message(b"200 OK", b"", b"second")}) as second,
    ):
        config = tmp_path / "corrigible.yaml"
        config.write_text(
            "listen: 127.0.0.1:0\n"
            "apis:\n"
            f"  - {{name: one, prefix: /one, upstream: 'http://127.0.0.1:{first.port}', pack: [apex]}}\n"
            f"  - {{name: two, host: two.test, upstream: 'http://127.0.0.1:{second.port}', pack: [http]}}\n"
        )
        with running(bench, "--config", str(config), "--log", str(log)) as (process, port, line):
            assert line.endswith("-> 2 APIs (one, two)\n")
            answer = bench.ask(port, "/one/v1/wrong", "POST", b"{}", JSON)
            head, _, text = answer.partition(b"\r\n\r\n")
            assert b"recovery-feedback-prefix: /one" in head.lower().split(b"\r\n")
            body = json.loads(text)
            (suggestion,) = body["recovery_feedback"]["suggestions"]
            assert [(one["op"], one["path"], one["value"]) for one in suggestion["patch"]] == [
                ("test", "/path", "/one/v1/wrong"),
                ("replace", "/path", "/one/v1/right"),
            ]
            assert b"\r\nLocation: /one/v1/there\r\n" in bench.ask(port, "/one/v1/moved")
            other = bench.Wire(port)
            other.send(b"GET /v1/wrong HTTP/1.1\r\nHost: two.test:8080\r\n\r\n")
            assert b"recovery-feedback-prefix" not in other.until(lambda got: got.endswith(b"second")).lower()
            other.send(b"GET /one/v1/wrong HTTP/1.1\r\nHost: x\r\n\r\n")  # on the same connection
            other.until(lambda got: b"recovery_feedback" in got or got.endswith(REFUSAL))
            assert b"HTTP/1.1 404 " in bench.ask(port, "/v1/wrong")
            process.send_signal(signal.SIGTERM)
            lines = process.communicate(timeout=240)[1].splitlines()
        written = [json.loads(line)["path"] for line in log.read_text().splitlines()]
        assert sorted(written) == ["/one/v1/moved", "/one/v1/wrong", "/one/v1/wrong", "/v1/wrong", "/v1/wrong"]
        assert f"host: 127.0.0.1:{first.port}".encode() in first.requests[0].lower()
        assert first.requests[0].startswith(b"POST /v1/wrong HTTP/1.1\r\n")
        assert f"host: 127.0.0.1:{second.port}".encode() in second.requests[0].lower()
    assert f"corrigible proxy: two: two.test -> http://127.0.0.1:{second.port} (http; reflective)" in lines
    assert any(" 404 GET /v1/wrong unchanged: the configuration has no API for this" in line for line in lines)
    assert any(" POST /one/v1/wrong corrected: MODIFY_PARAMS" in line for line in lines)


def test_what_an_api_suggests_itself_leads_to_no_other_api_behind_the_proxy(bench: Any, tmp_path: Path) -> None:
    step = {"method": "GET", "path": "/team/other/user"}
    proved = {"applicability": "MACHINE_APPLICABLE", "verification": {"status": "verified", "method": "dry_run"}}
    one = {"action": "MODIFY_PARAMS", "parameters": {}, **proved}
    moved = {**one, "patch": [{"op": "replace", "path": "/path", "value": step["path"]}]}
    stepped = {**one, "patch": [{"op": "add", "path": "/query/a", "value": "1"}], "steps": [step]}
    capitals = JSON.replace(b"json", b"JSON")
    ways = (
        (b"404 No", JSON, moved),
        (b"400 No", JSON, stepped),
        (b"200 OK", JSON, moved),
        (b"200 OK", capitals, moved),
    )
    for status, media, suggestion in ways:
        feedback = {"type": "recovery_guidance", "message": "m", "suggestions": [suggestion]}
        own = json.dumps({"success": False, "recovery_feedback": feedback}).encode()
        spoofed = media + b"Recovery-Feedback-Prefix: /team\r\n"
        with (
            bench.upstream({"/v1/wrong": bench.message(status, spoofed, own)}) as evil,
            bench.upstream({"/user": bench.message(b"200 OK", JSON, b"{}")}) as other,
        ):
            config = tmp_path / "corrigible.yaml"
            config.write_text(
                "listen: 127.0.0.1:0\n"
                "apis:\n"
                f"  - {{name: evil, prefix: /team/evil, upstream: 'http://127.0.0.1:{evil.port}', pack: [http]}}\n"
                f"  - {{name: other, prefix: /team/other, upstream: 'http://127.0.0.1:{other.port}', pack: [http]}}\n"
            )
            with running(bench, "--config", str(config)) as (_, port, _):
                for way in ("repair", "confirm"):
                    transport = CorrigibleTransport(on_refusal=way, cap="MAYBE_INCORRECT", confirm=lambda _: True)
                    with httpx.Client(
                        transport=transport, headers={"Authorization": "Bearer own-token"}, timeout=60
                    ) as client:
                        answer = client.get(f"http://127.0.0.1:{port}/team/evil/v1/wrong")
                    outcome = answer.extensions["corrigible"]
                    assert "is not below /team/evil, where the API is that refused" in outcome.not_sent
            assert (len(evil.requests), len(other.requests)) == (2, 0)


def test_options_go_before_the_environment_and_that_before_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "c.yaml"
    (tmp_path / "mine").mkdir()
    config.write_text("pack: [stripe, mine]\nmode: none\nquiet: true\nlog: log.jsonl\nlookups: false\nspec: [a.yaml]\n")

    def resolved(*words: str, **environment: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        proxy.add(parser.add_subparsers())
        with monkeypatch.context() as patched:
            for name, value in environment.items():
                patched.setenv(name, value)
            given = parser.parse_args(["proxy", "--config", str(config), *words])
            args: argparse.Namespace = given.settings.resolved(given)[0]
        return args

    args = resolved()
    assert (args.mode, args.quiet, args.no_lookups, args.listen) == ("none", True, True, "127.0.0.1:8080")
    assert (args.pack, args.spec) == (["stripe", str(tmp_path / "mine")], [str(tmp_path / "a.yaml")])
    assert args.log == tmp_path / "log.jsonl"
    environment = {"CORRIGIBLE_MODE": "verbose", "CORRIGIBLE_PACK": "http, recipe", "CORRIGIBLE_QUIET": "0"}
    args = resolved(**environment)
    assert (args.mode, args.pack, args.quiet) == ("verbose", ["http", "recipe"], False)
    args = resolved("--mode", "traditional", "--pack", "etcd", **environment)
    assert (args.mode, args.pack) == ("traditional", ["etcd"])
    with pytest.raises(UsageError, match="CORRIGIBLE_QUIET=maybe: expected 1 or 0"):
        resolved(CORRIGIBLE_QUIET="maybe")
    capsys.readouterr()
    resolved(CORRIGIBLE_LISTN="127.0.0.1:1", CORRIGIBLE_ADMISSION_PLUGINS="x", CORRIGIBLE_SOAK_SECONDS="1")
    problem = 'CORRIGIBLE_LISTN is the environment variable of no option; did you mean "CORRIGIBLE_LISTEN"?'
    assert capsys.readouterr().err == f"corrigible proxy: {problem}\n"


def test_one_api_without_host_and_prefix_gets_all(bench: Any, tmp_path: Path) -> None:
    with bench.upstream({"/x": bench.message(b"200 OK", b"", b"ok")}) as upstream:
        url = f"http://127.0.0.1:{upstream.port}"
        config = tmp_path / "c.yaml"
        config.write_text(f"listen: 127.0.0.1:0\nquiet: true\napis: [{{name: a, upstream: '{url}', pack: [http]}}]\n")
        with running(bench, "--config", str(config)) as (process, port, line):
            assert line.endswith(f"-> {url} (http; reflective)\n")
            assert bench.ask(port, "/x").endswith(b"ok")
            process.terminate()
            assert process.communicate(timeout=240)[1] == ""
        assert f"host: 127.0.0.1:{upstream.port}".encode() in upstream.requests[0].lower()


def test_the_guides_example_is_one(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[3] / "docs/operators.md").read_text("utf-8")
    (example,) = re.findall(r"```yaml\n(listen: .*?)```", guide, re.DOTALL)
    file = tmp_path / "corrigible.yaml"
    file.write_text(example)
    apis = read_config(file).text.apis or []
    assert [(api.name, api.prefix, api.hosts) for api in apis] == [
        ("billing", "/billing", frozenset()),
        ("code", None, {"code.internal"}),
    ]


WRONG = {
    "lisen: x\n": '1: unknown key "lisen"; did you mean "listen"?',
    "listen: x\nmode: loud\n": '2: "mode" is loud, expected none, traditional, verbose or reflective',
    "apis: []\n": "1: ",
    "apis:\n- {name: a, upstream: 'http://a.test'}\n": "2: pack or spec is required",
    "apis:\n- {name: a, upstream: 'http://a.test', pack: http}\n": '2: "pack" is http, expected a list',
    "apis:\n- {name: a, upstream: 'http://a.test', pack: [http]}\n"
    "- {name: b, upstream: 'http://b.test', pack: [http]}\n": '3: "b" has the host and prefix of "a"',
    "pack: [http]\napis:\n- {name: a, upstream: 'http://a.test', pack: [http]}\n": "1: pack cannot stand beside apis",
    "time_limit: 0\n": "1: ",
    "apis:\n- {name: a, upstream: 'http://a.test', prefix: desk, pack: [http]}\n": '2: prefix "desk" must begin with /',
    "apis:\n- {name: a, upstream: 'http://a.test', prefix: /a/, pack: [http]}\n": '2: prefix "/a/" must be a path ',
}


@rows("text", WRONG)
def test_what_is_wrong_has_file_and_line(text: str, tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(text)
    with pytest.raises(AuthoringError) as caught:
        read_config(file)
    assert str(caught.value).startswith(f"{file}:{WRONG[text]}")


def test_the_schema_for_editors_judges_as_the_command_does(tmp_path: Path) -> None:
    validator = jsonschema.Draft202012Validator(config_schema())
    validator.check_schema(config_schema())
    fine = {"listen": "a:1", "apis": [{"name": "a", "upstream": "http://a", "host": ["x.test"], "pack": ["http"]}]}
    assert list(validator.iter_errors(fine)) == []
    judged_alike = [text for text in WRONG if "unknown" in WRONG[text] or "expected" in WRONG[text]]
    assert len(judged_alike) == 3
    for text in judged_alike:
        assert list(validator.iter_errors(yaml.safe_load(text)))
    members = config_schema()["properties"] | config_schema()["$defs"]["ApiText"]["properties"]
    assert [name for name, member in members.items() if not member.get("description")] == []


def test_the_longest_prefix_and_a_named_host_go_first() -> None:
    def route(name: str, prefix: str = "", *hosts: str) -> ApiRoute:
        return ApiRoute(None, name, None, None, frozenset(hosts), prefix)  # type: ignore[arg-type]  # never called

    routes = ApiRoutes([route("rest"), route("a", "/a"), route("deep", "/a/b"), route("host", "", "h.test")])
    found = {
        target: api.task if (api := routes.find(*target)) is not None else None
        for target in [("x", "/a/b/c?d"), ("x", "/ab"), ("x", "/a"), ("H.test:80", "/a"), ("[::1]:80", "/")]
    }
    assert list(found.values()) == ["deep", "rest", "a", "host", "rest"]
    assert [route("a", "/a").stripped(target) for target in ("/a", "/a?x", "/a/b")] == ["/", "/?x", "/b"]
    assert Upstream.parse("https://[::1]:8443").authority == "[::1]:8443"
