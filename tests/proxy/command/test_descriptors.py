"""`corrigible descriptors`: what clients of a gRPC API need to read its messages."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from corrigible.proxy.cli import main


def test_it_prints_a_file_descriptor_set(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["descriptors", "etcd"]) == 0
    files = FileDescriptorSet.FromString(capsysbinary.readouterr().out).file
    assert "KV" in {service.name for file in files for service in file.service}


def test_an_api_without_grpc_has_none() -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["descriptors", "stripe"])
