"""Two gRPC services that say what is wrong in prose only, in the wording of servers that many people run."""

from __future__ import annotations

import asyncio
import importlib
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from google.protobuf import json_format, message_factory

from corrigible.adapters.protobuf.descriptors import Descriptors, load

HERE = Path(__file__).parent
WORKERS, MODELS = "fleet.v1.Workers", "fleet.v1.Models"
WORKER_IDS = ("w-1", "w-2")
INPUTS = ("first", "second")


class Refused(Exception):
    """A call ends with a code and a message."""

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message


def get_worker(call: Mapping[str, Any]) -> None:
    parent, worker = call["parent"], call["worker_id"]
    if parent not in ("", "main"):
        raise Refused("INVALID_ARGUMENT", f"Instance name not recognized: [{parent}]")  # BuildGrid
    if worker == "crash":
        raise Refused("UNKNOWN", "Unexpected <class 'AttributeError'>: 'NoneType' object has no attribute 'os'")
    if worker == "w-404":
        raise Refused("UNKNOWN", "Unexpected <class 'KeyError'>: 'w-404'")
    if worker.startswith("mine"):
        raise Refused("PERMISSION_DENIED", f"Permission denied on resource '{worker}' (or it may not exist).")
    if worker not in WORKER_IDS:
        raise Refused("NOT_FOUND", f"No worker of the given ID: [{worker}]")


def delete_worker(call: Mapping[str, Any]) -> None:
    if call["worker_id"] == "w-1":  # containerd
        raise Refused("FAILED_PRECONDITION", "cannot delete running worker w-1: failed precondition")
    raise Refused("NOT_FOUND", f'worker "{call["worker_id"]}" in namespace "default": not found')


def list_workers(call: Mapping[str, Any]) -> None:
    if call["page_size"] > 1000:
        raise Refused("INVALID_ARGUMENT", "Page size must be between 1 and 1000.")
    if call["page_size"] > 500:
        raise Refused("OUT_OF_RANGE", "page_size must be at most 500")
    if call["order_by"] not in ("", "name", "created"):
        raise Refused(
            "INVALID_ARGUMENT", f"Unknown field '{call['order_by']}' in order_by. Allowed: 'name', 'created'."
        )
    if call["filter"] and "=" not in call["filter"]:
        raise Refused("INVALID_ARGUMENT", f'Invalid filter "{call["filter"]}": missing an operator')
    if call["parent"] == "slow":
        raise Refused("DEADLINE_EXCEEDED", "Deadline Exceeded")
    if call["parent"] == "lost":
        raise Refused("UNAVAILABLE", "parent 'lost' must be one of 'main'")


def start(call: Mapping[str, Any]) -> None:
    if not call["workflow_id"]:
        raise Refused("INVALID_ARGUMENT", "WorkflowId is not set on request.")  # Temporal
    if not call["task_queue"]:
        raise Refused("INVALID_ARGUMENT", "Missing TaskQueue.")
    if call["namespace"] not in ("", "default"):
        raise Refused("NOT_FOUND", f"Namespace {call['namespace']} is not found.")
    if call["workflow_id"] == "order-17":
        raise Refused("ALREADY_EXISTS", "Workflow execution is already running. WorkflowId: order-17, RunId: 8f3c-11.")
    if call["workflow_id"] == "order-18":
        raise Refused("ALREADY_EXISTS", 'workflow "order-18": already exists')
    if not re.fullmatch(r"[A-Za-z0-9-]+", call["workflow_id"]):
        raise Refused(
            "INVALID_ARGUMENT",
            f'identifier "{call["workflow_id"]}" must match ^[A-Za-z0-9-]+$: invalid argument',
        )
    if call["runtime"] not in ("", "python", "golang"):
        raise Refused(
            "INVALID_ARGUMENT", f"runtime '{call['runtime']}' is not supported, must be one of [python golang]"
        )
    if call["attempts"] > 10:
        raise Refused("UNKNOWN", "attempts must be between 0 and 10")
    if call["attempts"] < 0:
        raise Refused("INTERNAL", "attempts must be greater than or equal to 0")
    if call["start"] > call["end"]:
        raise Refused("INVALID_ARGUMENT", "end must be after start")
    if "env" in call["labels"] and call["labels"]["env"] not in ("dev", "prod"):
        raise Refused(
            "INVALID_ARGUMENT", f"labels.env: invalid value '{call['labels']['env']}', expected 'dev' or 'prod'"
        )
    if call["task_queue"] == "full":
        raise Refused("RESOURCE_EXHAUSTED", "task_queue 'full' must be at most 10")
    if call["task_queue"] == "held":
        raise Refused("ABORTED", "task_queue 'held' is changed by another call")
    if call["task_queue"] == "who":
        raise Refused("UNAUTHENTICATED", "task_queue 'who' needs a token")


def infer(call: Mapping[str, Any]) -> None:
    if call["process_id"] and call["process_id"] != "order":  # Zeebe
        raise Refused(
            "NOT_FOUND",
            "Command 'CREATE' rejected with code 'NOT_FOUND': Expected to find process definition with process ID "
            f"'{call['process_id']}', but none found",
        )
    if call["variables"][:1] not in ("", "{"):
        raise Refused(
            "INVALID_ARGUMENT",
            "Command 'CREATE' rejected with code 'INVALID_ARGUMENT': Property 'variables' is invalid: Expected "
            "document to be a root level object, but was 'STRING'",
        )
    if call["model_version"] not in ("", "v1"):
        raise Refused(
            "NOT_FOUND", f"Model {call['model_name']} with version {call['model_version']} not found"
        )  # MLServer
    if call["model_name"] != "sum":
        raise Refused("NOT_FOUND", f"Model {call['model_name']} not found")
    for tensor in call["inputs"]:
        if tensor["name"] not in INPUTS:
            raise Refused(
                "INVALID_ARGUMENT", f"Input '{tensor['name']}' was not found. Available inputs are 'first', 'second'"
            )
        if tensor["datatype"] not in ("FP32", "INT64"):
            raise Refused(
                "INVALID_ARGUMENT",
                f"unexpected datatype {tensor['datatype']} for inference input '{tensor['name']}', expecting FP32",
            )


HANDLERS: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
    f"/{WORKERS}/GetWorker": get_worker,
    f"/{WORKERS}/DeleteWorker": delete_worker,
    f"/{WORKERS}/ListWorkers": list_workers,
    f"/{WORKERS}/Start": start,
    f"/{MODELS}/Infer": infer,
}


def compiled(folder: Path) -> Path:
    """Compile the services as their author would."""
    out = folder / "plain.binpb"
    command = [
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        f"-I{HERE}",
        "--include_imports",
        f"--descriptor_set_out={out}",
    ]
    subprocess.run([*command, "plain_services.proto"], check=True)
    return out


class PlainServices:
    """The services on a port, and clients of theirs that write proto-JSON."""

    def __init__(self, descriptor_set: Path) -> None:
        self.descriptor_set, self.descriptors = descriptor_set, load(descriptor_set)

    def bytes_of(self, method: str, document: Any) -> bytes:
        takes = self.descriptors.methods.get(method)
        if takes is None:
            return b""
        kind = message_factory.GetMessageClass(takes.request_type)
        data: bytes = json_format.ParseDict(document, kind()).SerializeToString()
        return data

    def document_of(self, descriptors: Descriptors, method: str, data: bytes) -> dict[str, Any]:
        message = message_factory.GetMessageClass(descriptors.methods[method].request_type).FromString(data)
        document: dict[str, Any] = json_format.MessageToDict(
            message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
        return document

    def handler(self, method: str) -> Any:
        grpc: Any = importlib.import_module("grpc")

        async def answer(data: bytes, context: Any) -> bytes:
            try:
                HANDLERS[method](self.document_of(self.descriptors, method, data))
            except Refused as refused:
                await context.abort(grpc.StatusCode[refused.code], refused.message)
            return b""

        return grpc.unary_unary_rpc_method_handler(answer)

    @contextmanager
    def served(self, *, reflects: bool = False, port: int = 0) -> Iterator[int]:
        """Serve with grpc.aio until the end of the block."""
        grpc: Any = importlib.import_module("grpc")
        aio: Any = importlib.import_module("grpc.aio")
        ready, loop = threading.Event(), asyncio.new_event_loop()
        stop, bound = asyncio.Event(), [0]

        async def main() -> None:
            server = aio.server()
            for service in (WORKERS, MODELS):
                methods = {m.rpartition("/")[2]: self.handler(m) for m in HANDLERS if m.startswith(f"/{service}/")}
                server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, methods),))
            if reflects:
                reflection: Any = importlib.import_module("grpc_reflection.v1alpha.reflection")
                reflection.enable_server_reflection((WORKERS, MODELS), server, pool=self.descriptors.pool)
            bound[0] = server.add_insecure_port(f"127.0.0.1:{port}")
            await server.start()
            ready.set()
            await stop.wait()
            await server.stop(0)

        thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
        thread.start()
        ready.wait()
        try:
            yield bound[0]
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join()
            loop.close()
