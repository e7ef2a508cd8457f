"""A FastAPI service with state, and nothing but its description: what is not there or there already is looked up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from corrigible.adapters.sandbox.python import python_arguments
from corrigible.adapters.sandbox.server import HOST, Command, Running, Server
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply

SERVICE = """
import sys
import uvicorn
from fastapi import FastAPI, HTTPException, Request
from pydantic import BaseModel

app, pools, reads = FastAPI(), {}, []

class Pool(BaseModel):
    name: str
    size: int = 1

@app.middleware("http")
async def remember(request: Request, call_next):
    if request.method == "GET" and request.url.path.startswith("/pools"):
        reads.append((request.url.path, request.headers.get("authorization")))
    return await call_next(request)

@app.get("/reads")
def all_reads(): return reads

@app.get("/pools")
def all_pools(): return list(pools.values())

@app.post("/pools", status_code=201)
def add(pool: Pool):
    if pool.name in pools:
        raise HTTPException(409, f"Pool '{pool.name}' already exists")
    pools[pool.name] = {"id": f"p{len(pools)}", **pool.model_dump()}
    return pools[pool.name]

def found(pool_id):
    for pool in pools.values():
        if pool["id"] == pool_id:
            return pool
    raise HTTPException(404, "Pool not found")

@app.get("/pools/{pool_id}")
def one(pool_id: str): return found(pool_id)

@app.delete("/pools/{pool_id}", status_code=204)
def delete(pool_id: str): del pools[found(pool_id)["name"]]

uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
"""
AUTHORIZATION = {"authorization": "Bearer of-the-caller"}


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with Server("pools", "pools", "none", lambda port: Command(python_arguments(SERVICE, str(port)))).start() as one:
        httpx.post(f"{one.url}/pools", json={"name": "night", "size": 3}).raise_for_status()
        yield one


@pytest.fixture(scope="module")
def spec(service: Running, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spec") / "openapi.json"
    path.write_bytes(httpx.get(f"{service.url}/openapi.json").content)
    return path


@pytest.fixture(scope="module")
def proxy(service: Running, spec: Path) -> Iterator[str]:
    with _proxied(service, spec).start() as running:
        yield running.url


def _proxied(service: Running, spec: Path, *options: str) -> Server:
    code = "import sys; from corrigible.proxy.cli import main; sys.exit(main())"

    def command(port: int) -> Command:
        words = ["--upstream", service.url, "--listen", f"{HOST}:{port}", "--spec", str(spec), *options]
        return Command(python_arguments(code, "proxy", *words))

    return Server("proxy", "corrigible proxy", "none", command)


def sent(proxy: str, request: Request) -> httpx.Response:
    url = f"{proxy}{request.path}"
    return httpx.request(request.method, url, params=dict(request.query), json=request.body, headers=AUTHORIZATION)


def corrected(proxy: str, request: Request) -> Any:
    answer = sent(proxy, request)
    assert answer.status_code in (404, 409)
    return apply(answer.json()["recovery_feedback"], request)


def test_a_name_in_the_place_of_an_identifier(proxy: str, service: Running) -> None:
    following = corrected(proxy, Request("GET", "/pools/night"))
    assert isinstance(following, Next)
    assert sent(proxy, following.request).json()["name"] == "night"
    assert ["/pools", AUTHORIZATION["authorization"]] in httpx.get(f"{service.url}/reads").json()


def test_what_exists_as_wanted_and_otherwise(proxy: str) -> None:
    done = corrected(proxy, Request("POST", "/pools", body={"name": "night", "size": 3}))
    assert isinstance(done, Terminal)
    assert done.action == "ALREADY_DONE"
    assert isinstance(corrected(proxy, Request("POST", "/pools", body={"name": "night", "size": 4})), NeedsInput)


def test_what_is_gone(proxy: str) -> None:
    done = corrected(proxy, Request("DELETE", "/pools/p77"))
    assert isinstance(done, Terminal)
    assert done.action == "ALREADY_DONE"


def test_without_look_ups_the_api_is_asked_nothing(service: Running, spec: Path) -> None:
    before = httpx.get(f"{service.url}/reads").json()
    with _proxied(service, spec, "--no-lookups").start() as running:
        answer = sent(running.url, Request("POST", "/pools", body={"name": "night", "size": 3}))
        assert answer.status_code == 409
        assert "ALREADY_DONE" not in answer.text
    assert httpx.get(f"{service.url}/reads").json() == before
