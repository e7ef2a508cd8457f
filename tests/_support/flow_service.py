"""A service of the form of Prefect's: what is listed is asked for by POST, with a filter in the body."""

import sys
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI(title="Flows", version="1.0.0", redirect_slashes=False)
RUNS = [{"id": str(number), "state": "Completed" if number % 2 else "Failed"} for number in range(6)]


class Filter(BaseModel):
    limit: int | None = None
    offset: int = 0
    state: str | None = None


class Run(BaseModel):
    state: str


@app.post("/flow_runs/filter", operation_id="read_flow_runs")
def read(wanted: Filter) -> list[Any]:
    found = [run for run in RUNS if wanted.state in (None, run["state"])]
    return found[wanted.offset :][: wanted.limit]


@app.post("/flow_runs/", status_code=201, operation_id="create_flow_run")
def create(run: Run) -> dict[str, str]:
    RUNS.append({"id": str(len(RUNS)), "state": run.state})
    return RUNS[-1]


@app.get("/flow_runs/{id}", operation_id="read_flow_run")
def one(id: int) -> dict[str, str]:
    return RUNS[id]


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
