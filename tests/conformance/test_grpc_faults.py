"""Each planted fault of a gRPC proxy is caught by the requirements that it breaks, and by no other."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count

import pytest

from corrigible.conformance.model.outcome import CouldNotTell, NotApplicable
from corrigible.conformance.reference import grpc_shop
from corrigible.conformance.reference.grpc_upstream import GrpcUpstream
from corrigible.conformance.suite.subject import Subject
from tests._support.command import start

from .grpc_faults import FAULTS
from .grpc_middlebox import Box, Fault, boxed
from .made import checks_of, sampled, told

CHECKS = checks_of("grpc/")

PACK = grpc_shop.DESCRIPTORS.with_name("grpc_pack")


@contextmanager
def proxied(upstream: str) -> Iterator[str]:
    """Run `corrigible proxy` in front of a gRPC server; yield its address."""
    words = [
        "--engine",
        "mitmproxy",
        "--pack",
        str(PACK),
        "--pack",
        "grpc",
        "--descriptors",
        str(grpc_shop.DESCRIPTORS),
        "--time-limit",
        "60",  # a busy machine loses no correction
    ]
    command = ["corrigible", "proxy", "--grpc-upstream", upstream, "--listen", "127.0.0.1:0", *words]
    with start(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            while not (line := process.stderr.readline()).startswith("corrigible: "):
                assert line, "it never listened"
            yield line.split()[1]
        finally:
            process.kill()


@pytest.fixture(scope="module")
def upstream() -> Iterator[GrpcUpstream]:
    with GrpcUpstream() as running:
        yield running


@pytest.fixture(scope="module")
def proxy(upstream: GrpcUpstream) -> Iterator[str]:
    with proxied(upstream.address) as address:
        yield address


@pytest.fixture(scope="module")
def box(proxy: str) -> Iterator[tuple[Box, str]]:
    with boxed(proxy) as running:
        yield running


NUMBERS = count(1)
WHOLE = "none is taken for reflective"
"""The fault that is judged by every check, at night: `conformance check` asks them all of our proxy on each change."""
ALWAYS = {f"grpc/{name}" for name in ("preference-forwarded", "feedback-only-on-refusals", "own-feedback-kept")}
"""A few checks that judge every fault, whatever it is to break."""
TIMED = "grpc/others"
"""It measures how long calls take: judged where nothing else runs, and here by the fault that it is about."""
WORDS = "grpc/no-word-obeyed"
"""It makes a third of all calls: judged by the fault that is about it, and by those of the night."""


def broken(
    address: str, upstream: GrpcUpstream | None, without: Iterable[str] = (), about: set[str] | None = None
) -> dict[str, list[str]]:
    """Return the requirements that do not hold, with what is said of them."""
    subject = Subject("proxy", "grpc", grpc=address, grpc_upstream=upstream, _numbers=NUMBERS)
    found: dict[str, list[str]] = {}
    for check in CHECKS:
        chosen = about is None or check.id in ALWAYS or about.intersection(check.requirements)
        if check.id in without or not chosen:
            continue
        try:
            for finding in told(check.run(subject)):
                assert finding.requirement in check.requirements, check.id
                assert finding.line is None or finding.line.startswith("grpcurl -plaintext ")
                found.setdefault(finding.requirement, []).append(finding.message)
        except (CouldNotTell, NotApplicable):
            continue
    return found


@pytest.mark.nightly
def test_a_box_without_a_fault_breaks_nothing(box: tuple[Box, str], upstream: GrpcUpstream) -> None:
    box[0].fault = Fault("none", "")
    assert broken(box[1], upstream, [TIMED]) == {}


def test_a_plain_proxy_is_transparent_and_gives_no_feedback(upstream: GrpcUpstream) -> None:
    with boxed(upstream.address) as (_, address):
        assert set(broken(address, upstream, [TIMED, WORDS])) == {"SRF-COR-01", "SRF-GRP-04"}


@pytest.mark.parametrize("fault", sampled(FAULTS, lambda fault: fault.breaks[:7]))
def test_a_fault_breaks_what_it_breaks(fault: Fault, box: tuple[Box, str], upstream: GrpcUpstream) -> None:
    box[0].fault = fault
    breaks = set(fault.breaks.split())
    found = broken(box[1], upstream, [TIMED], breaks)
    assert set(found) == breaks, found


@pytest.mark.nightly
def test_a_fault_breaks_nothing_else(box: tuple[Box, str], upstream: GrpcUpstream) -> None:
    box[0].fault = next(fault for fault in FAULTS if fault.name == WHOLE)
    found = broken(box[1], upstream, [TIMED])
    assert set(found) == set(box[0].fault.breaks.split()), found


@pytest.mark.nightly
def test_who_does_one_thing_at_a_time_holds_others_up(box: tuple[Box, str], upstream: GrpcUpstream) -> None:
    one_at_a_time = threading.Lock()

    def slow(requests: Iterator[bytes]) -> Iterator[bytes]:
        for message in requests:
            with one_at_a_time:
                time.sleep(3 if len(message) > 1 << 20 else 0)
            yield message

    box[0].fault = Fault("one thing at a time", "SRF-TRN-13", requests=slow)
    found = broken(box[1], upstream, about={"SRF-TRN-13"})
    assert set(found) == {"SRF-TRN-13"}
    assert all("a small call takes others" in said for said in found["SRF-TRN-13"]), found


JUDGED = (
    *("SRF-COR-04", "SRF-COR-16", "SRF-OPS-02", "SRF-OPS-04", "SRF-OPS-05", "SRF-OPS-06", "SRF-OPS-07", "SRF-OPS-10"),
    *("SRF-RTY-05", "SRF-SEC-10"),
)
"""What the judges of feedback are tested for by themselves."""


def test_every_requirement_of_a_check_has_a_fault() -> None:
    """A check that nothing makes fail may as well not be there."""
    covered = {"SRF-TRN-13"} | {requirement for fault in FAULTS for requirement in fault.breaks.split()}
    assert {one for check in CHECKS for one in check.requirements} - covered - {*JUDGED} == set()
