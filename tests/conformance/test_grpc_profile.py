"""The profile grpc: its parts are fresh and complete, and it says what it lacks."""

from __future__ import annotations

import subprocess
import sys

import pytest

from corrigible.conformance.checks.grpc.call import grpcurl
from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.reference import grpc_shop
from corrigible.conformance.reference.grpc_upstream import GrpcUpstream
from corrigible.conformance.suite.subject import Subject
from corrigible.conformance.transport.grpc import GrpcCall
from corrigible.proxy.cli import main

from .made import checks_of

CHECKS = checks_of("grpc/")

WITHOUT_GRPC = """
import sys
sys.modules["grpc"] = None
from corrigible.schema.extra import install_line
from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.checks import CHECKS
from corrigible.conformance.suite.subject import Subject
for check in [one for one in CHECKS if "grpc" in one.profiles and "proxy" in one.roles]:
    try:
        list(check.run(Subject("proxy", "grpc", grpc="127.0.0.1:1")))
    except CouldNotTell as problem:
        assert str(problem) == f"the profile grpc needs grpcio: {install_line('grpc')}", problem
    else:
        raise AssertionError(check.id)
"""


def test_without_grpcio_the_checks_are_there_and_say_what_they_need() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_GRPC], check=True)


def test_the_pack_of_the_shop_passes_its_cases(capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(grpc_shop.DESCRIPTORS.with_name("grpc_pack"))
    assert (main(["pack", "lint", folder]), main(["pack", "test", folder])) == (0, 0), capsys.readouterr()


def test_ids_are_this_profiles_and_unique() -> None:
    ids = [check.id for check in CHECKS]
    assert len(set(ids)) == len(ids)
    assert all(one.startswith("grpc/") for one in ids)
    assert {profile for check in CHECKS for profile in check.profiles} == {"grpc"}


def test_the_suite_says_so_where_nobody_is_there() -> None:
    with GrpcUpstream() as upstream:
        for subject, said in (
            (Subject("proxy", "grpc", grpc="127.0.0.1:1", grpc_upstream=upstream), "nobody answers at 127.0.0.1:1"),
            (
                Subject("proxy", "grpc", grpc_upstream=upstream),
                "the subject has no gRPC address: give --grpc HOST:PORT",
            ),
        ):
            for check in CHECKS:
                with pytest.raises(CouldNotTell) as told:
                    list(check.run(subject))
                assert str(told.value) == said


def test_grpcurl_makes_the_call_again() -> None:
    method = grpc_shop.path("ImportOrders")
    messages = tuple(grpc_shop.request(method, {"name": f"orders/{n}", "version": n}) for n in (1, 2))
    line = grpcurl("127.0.0.1:5", GrpcCall(method, messages, (("a", "b c"), ("x-bin", b"\x00\xff"))))
    assert line == (
        f"grpcurl -plaintext -H 'a: b c' -H 'x-bin: AP8=' -protoset {grpc_shop.DESCRIPTORS} "
        """-d '{"name": "orders/1", "version": "1"} {"name": "orders/2", "version": "2"}' """
        "127.0.0.1:5 shop.v1.Shop/ImportOrders"
    )
    assert grpcurl("h:1", GrpcCall("/a.B/C", (b"\xff",))) == "grpcurl -plaintext h:1 a.B/C"
