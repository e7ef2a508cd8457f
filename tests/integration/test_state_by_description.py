"""A FastAPI service with state, and nothing but its description: what is not there or there already is looked up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from corrigible.adapters.sandbox.runtimes import python_arguments
from corrigible.adapters.sandbox.server import Command, Running, Server
from corrigible.schema.exchange import Request
from corrigible.schema.reader import NeedsInput, Next, Terminal, apply
from tests._support.raw_proxy import PATIENT
from tests._support.raw_proxy import corrected as proxied

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
        httpx.post(f"{one.url}/pools", json={"name": "night", "size": 3}, timeout=60).raise_for_status()
        yield one


@pytest.fixture(scope="module")
def spec(service: Running, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spec") / "openapi.json"
    path.write_bytes(httpx.get(f"{service.url}/openapi.json", timeout=60).content)
    return path


@pytest.fixture(scope="module")
def proxy(service: Running, spec: Path) -> Iterator[str]:
    with proxied(service.url, spec=spec) as url:
        yield url


def sent(proxy: str, request: Request) -> httpx.Response:
    url = f"{proxy}{request.path}"
    return httpx.request(
        request.method, url, params=dict(request.query), json=request.body, headers=AUTHORIZATION, timeout=60
    )


def corrected(proxy: str, request: Request) -> Any:
    answer = sent(proxy, request)
    assert answer.status_code in (404, 409)
    return apply(answer.json()["recovery_feedback"], request)


def test_a_name_in_the_place_of_an_identifier(proxy: str, service: Running) -> None:
    following = corrected(proxy, Request("GET", "/pools/night"))
    assert isinstance(following, Next)
    assert sent(proxy, following.request).json()["name"] == "night"
    assert ["/pools", AUTHORIZATION["authorization"]] in httpx.get(f"{service.url}/reads", timeout=60).json()


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
    before = httpx.get(f"{service.url}/reads", timeout=60).json()
    with proxied(service.url, spec=spec, limits=replace(PATIENT, lookups=0)) as url:
        answer = sent(url, Request("POST", "/pools", body={"name": "night", "size": 3}))
        assert answer.status_code == 409
        assert "ALREADY_DONE" not in answer.text
    assert httpx.get(f"{service.url}/reads", timeout=60).json() == before
