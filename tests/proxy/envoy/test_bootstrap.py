"""The configuration of Envoy, as Envoy itself reads it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from corrigible.adapters.sandbox.certificate import make_certificate
from corrigible.proxy.build import load_profiles
from corrigible.proxy.cli import main
from corrigible.proxy.envoy import envoy_path
from corrigible.proxy.envoy.bootstrap import bootstrap, literal
from corrigible.proxy.envoy.gateway import Gateway, RefusingOperation, lua_pattern, media_types, refusing_operations
from corrigible.proxy.http.api_routes import Upstream
from corrigible.proxy.http.own_location import Rewritten
from corrigible.proxy.tls_files import Identity, Trust
from tests._support.rows import rows

PLAIN = Gateway("127.0.0.1", 0, Upstream("http", "127.0.0.1", 80), ["unix:/tmp/a.sock", "corrector:9090"])
SECURE = Upstream("https", "api.example", 443)
OWN = Identity(Path("own.pem"), Path("own.pem"))
"""Its files are made for the test."""
VARIANTS = {
    "plain": PLAIN,
    "https": replace(PLAIN, upstream=SECURE),
    "https on both sides": replace(PLAIN, upstream=SECURE, identity=OWN),
    "https and ext_proc": replace(PLAIN, upstream=SECURE, identity=OWN, is_ext_proc=True, correctors=["a:1"]),
    "insecure": replace(PLAIN, upstream=SECURE, trust=Trust(insecure=True)),
    "refusing": replace(PLAIN, refusing=[RefusingOperation("POST", "^/graphql/?$")], media_types=['odd/"x"']),
    "all locations": replace(PLAIN, rewritten=Rewritten.ALL),
    "no locations": replace(PLAIN, rewritten=Rewritten.NONE),
    "mode none": replace(PLAIN, is_none=True, asks_for_target=False),
    "admin": replace(PLAIN, admin="/tmp/admin.sock", logs_all=True),
    "ipv6": replace(PLAIN, host="::1", upstream=Upstream("http", "::1", 8080)),
    "ext_proc": replace(PLAIN, is_ext_proc=True, correctors=["unix:/tmp/a.sock"]),
    "ext_proc of grpc": replace(PLAIN, is_ext_proc=True, is_grpc=True, correctors=["corrector:9090"]),
    "grpc": replace(PLAIN, is_grpc=True),
    "grpcs": replace(PLAIN, is_grpc=True, upstream=SECURE),
}


def validated(config: Path) -> None:
    command = [envoy_path(), "--mode", "validate", "--config-path", str(config), "--log-level", "warning"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "deprecated" not in done.stderr.lower(), done.stderr


@rows("name", VARIANTS)
def test_envoy_takes_every_configuration(name: str, tmp_path: Path) -> None:
    gateway = VARIANTS[name]
    if gateway.identity is not None:
        files = make_certificate(tmp_path)
        gateway = replace(gateway, identity=Identity(files.certificate, files.key))
    path = tmp_path / "envoy.json"
    path.write_text(json.dumps(bootstrap(gateway)), "utf-8")
    validated(path)


def test_what_envoy_does_not_take_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "envoy.json"
    path.write_text(json.dumps({**bootstrap(PLAIN), "nonsense": 1}), "utf-8")
    with pytest.raises(AssertionError, match="nonsense"):
        validated(path)


COMMAND = ["envoy", "config", "--corrector", "corrector-0:9090", "--corrector", "unix:/run/c.sock"]
ASKED = {
    "http": ["--upstream", "https://api.example", "--pack", "kubernetes"],
    "grpc": ["--grpc-upstream", "grpc.example:443", "--pack", "etcd"],
    "all": ["--upstream", "http://api.example", "--pack", "http", "--rewrite-location", "all"],
}
BY_EXT_PROC = ["envoy", "config", "--ext-proc", "--corrector", "corrector:9090", "--upstream", "http://a.test"]


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main([*COMMAND, *words]) == 0
    return yaml.safe_load(capsys.readouterr().out)


@pytest.mark.parametrize("name", ASKED)
def test_a_configuration_that_is_printed_is_one(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "envoy.json"
    path.write_text(json.dumps(printed(capsys, *ASKED[name])), "utf-8")
    validated(path)


@rows("name", ASKED)
@rows("target", ["gateway", "istio"])
def test_what_patches_add_is_taken_by_envoy(
    name: str, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = printed(capsys, *ASKED[name], "--for", target)
    if target == "istio":
        values = [one["patch"]["value"] for one in document["spec"]["configPatches"]]
    else:
        values = [one["operation"]["value"] for one in document["spec"]["jsonPatches"]]
        assert document["spec"]["targetRef"]["name"] == "eg"
    # As the gateway puts them in: before the router, on routes that are its own.
    config = bootstrap(PLAIN)
    manager = config["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]
    filters = [one for one in values if "typed_config" in one and "connect_timeout" not in one]
    clusters = [one for one in values if one not in filters]
    assert [one["name"] for one in clusters] == ["corrigible-0", "corrigible-1"]
    assert not any(one.get("disabled") for one in filters)
    assert "corrigible.exchange" in [one["name"] for one in filters]
    manager["http_filters"] = [*filters, manager["http_filters"][-1]]
    for route in manager["route_config"]["virtual_hosts"][0]["routes"]:
        del route["typed_per_filter_config"]
    config["static_resources"]["clusters"] = [config["static_resources"]["clusters"][0], *clusters]
    path = tmp_path / "envoy.json"
    path.write_text(json.dumps(config), "utf-8")
    validated(path)


@pytest.mark.parametrize("target", ["gateway", "istio"])
def test_gateways_get_ext_proc_as_one_filter(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BY_EXT_PROC, "--pack", "http", "--for", target]) == 0
    text = capsys.readouterr().out
    assert text.count("envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor") == 1
    assert "http2_protocol_options" in text and "filters.http.lua" not in text


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["envoy", "config", "--upstream", "http://a.test"], "--corrector HOST:PORT is required"),
        ([*COMMAND], "--upstream URL is required"),
        (
            [*BY_EXT_PROC, "--pack", "http", "--corrector", "b:1"],
            "--ext-proc takes one --corrector: the protocol has no choice by the caller, whose it keeps",
        ),
        ([*COMMAND, *ASKED["http"], "--for", "nginx"], "--for nginx: expected envoy, gateway, istio"),
        ([*COMMAND, *ASKED["http"], "--for", "gateway", "--gateway-listener", "x"], "not NAMESPACE/GATEWAY/LISTENER"),
    ],
)
def test_a_wrong_argument_is_one_line_and_2(words: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert problem in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("template", "paths", "others"),
    [
        ("/v1/things/{id}", ["/v1/things/7", "/v1/things/7/"], ["/v1/things", "/v1/things/7/8", "/v2/things/7"]),
        ("/files/{+path}", ["/files/a/b"], ["/files/"]),
        ("/a.b-c/{x}.json", ["/a.b-c/1.json"], ["/aXb-c/1.json", "/a.b-c/1Xjson"]),
        ("/", ["/", ""], ["/x"]),
    ],
)
def test_a_template_is_a_lua_pattern(template: str, paths: Sequence[str], others: Sequence[str]) -> None:
    # The few signs that are used mean the same in Python, but for the mark before a literal one.
    pattern = re.sub(r"%(.)", r"\\\1", lua_pattern(template))
    assert [path for path in (*paths, *others) if re.search(pattern, path)] == list(paths)


def test_packs_say_which_successes_may_refuse() -> None:
    assert refusing_operations(load_profiles(["stripe"])) == []
    assert RefusingOperation("POST", "") in refusing_operations(load_profiles(["kubernetes"]))
    recipe = refusing_operations(load_profiles(["recipe"]))
    assert recipe and all(one.method.isupper() and one.path.startswith("^/") for one in recipe)
    assert media_types(load_profiles(["stripe"])) == []


def test_lua_reads_any_text_as_it_is() -> None:
    assert literal({"a": ['x"\\\n\xe9', 1, True, None]}) == '{["a"] = {"x\\034\\092\\010\\195\\169", 1, true, nil}}'
