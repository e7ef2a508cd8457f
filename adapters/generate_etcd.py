"""Write descriptors.binpb and operations.yaml anew from etcd's protos. Needs grpcio-tools.

    npm pack etcd3@1.1.2 && tar xzf etcd3-1.1.2.tgz
    python adapters/generate_etcd.py package/proto

The protos are etcd's (etcd-io/etcd, Apache-2.0), as the npm package etcd3 (MIT, Microsoft) ships them: rpc, kv
and auth, without gogoproto. What is kept is names, numbers and types; no prose, no options; enumerations have
etcd's own names.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml
from google.api import annotations_pb2
from google.protobuf import descriptor_pb2

HERE = Path(__file__).parent / "corrigible/adapters/apis/etcd"
_FILES: Final = ("rpc.proto", "kv.proto", "auth.proto")


def generate(protos: Path) -> tuple[descriptor_pb2.FileDescriptorSet, dict[str, str]]:
    """Return the descriptors, and the paths of etcd's JSON gateway with the method behind each."""
    googleapis = Path(annotations_pb2.__file__).parents[2]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in _FILES:
            text = (protos / part).read_text("utf-8").replace('import "./', 'import "')
            if part == "rpc.proto":  # it uses options that it does not import
                first = "package etcdserverpb;"
                text = text.replace(first, f'{first}\nimport "google/api/annotations.proto";', 1)
            (folder / part).write_text(text, "utf-8")
        out = folder / "out.binpb"
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", f"-I{googleapis}"]
        subprocess.run([*command, "--include_imports", f"--descriptor_set_out={out}", _FILES[0]], check=True)
        compiled = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
    descriptors = descriptor_pb2.FileDescriptorSet(file=[file for file in compiled.file if file.name in _FILES])
    paths = dict(
        sorted(entry for file in descriptors.file for service in file.service for entry in _paths(file, service))
    )
    for file in descriptors.file:
        own = [needed for needed in file.dependency if needed in _FILES]
        del file.dependency[:]
        file.dependency.extend(own)
        file.ClearField("options")
        _shout([*file.enum_type], [*file.message_type])
        for service in file.service:
            for method in service.method:
                method.ClearField("options")
    return descriptors, paths


def _shout(enums: list[Any], messages: list[Any]) -> None:
    """Give enumerations the names they have in etcd: the npm package writes `NotEqual` for `NOT_EQUAL`."""
    for message in messages:
        _shout([*message.enum_type], [*message.nested_type])
    for value in (value for enum in enums for value in enum.value):
        value.name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", value.name).upper()


def _paths(file: Any, service: Any) -> list[tuple[str, str]]:
    return [
        (f"POST {rule.post}", f"{file.package}.{service.name}/{method.name}")
        for method in service.method
        if (rule := method.options.Extensions[annotations_pb2.http]).post
    ]


if __name__ == "__main__":
    descriptors, operations = generate(Path(sys.argv[1]))
    (HERE / "descriptors.binpb").write_bytes(descriptors.SerializeToString(deterministic=True))
    (HERE / "operations.yaml").write_text(yaml.safe_dump(operations, sort_keys=False), "utf-8")
