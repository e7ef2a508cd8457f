"""How a caller asks for a mode, and what of the asking a third party sees."""

from __future__ import annotations

import pytest

from corrigible.proxy.core.mode import Mode, named_caller, parse_mode, preferred, queried, without_mode
from tests._support.rows import rows


@rows(
    ("values", "mode"),
    [
        (["recovery-feedback=verbose"], Mode.VERBOSE),
        (["Recovery-Feedback=VERBOSE"], Mode.VERBOSE),
        (['recovery-feedback="traditional"'], Mode.TRADITIONAL),
        (["recovery-feedback = none"], Mode.NONE),
        (["recovery-feedback=reflective; strict=1"], Mode.REFLECTIVE),
        (['recovery-feedback=none;x="a,b"'], Mode.NONE),
        (["respond-async, recovery-feedback=verbose, wait=10"], Mode.VERBOSE),
        (['note="a, recovery-feedback=none", recovery-feedback=verbose'], Mode.VERBOSE),
        (["return=minimal", "recovery-feedback=none"], Mode.NONE),
        (["recovery-feedback=none, recovery-feedback=verbose"], Mode.NONE),
        (["recovery-feedback=loud, recovery-feedback=verbose"], Mode.VERBOSE),
        (["recovery-feedback=loud"], None),
        (["recovery-feedback"], None),
        (["recovery-feedback="], None),
        (["recovery-feedback=none none"], None),
        (["x-recovery-feedback=none"], None),
        (["wait; recovery-feedback=none"], None),
        ([""], None),
        ([], None),
    ],
)
def test_prefer(values: list[str], mode: Mode | None) -> None:
    assert preferred(values) is mode


@rows(
    ("values", "name"),
    [
        (["recovery-feedback=reflective; caller=episode-7"], "episode-7"),
        (['Recovery-Feedback = "reflective" ; strict; CALLER = "episode 7"; x=1'], "episode 7"),
        (['recovery-feedback; caller="a, b; \\"c\\""'], 'a, b; "c"'),
        (["wait=10", "return=minimal, recovery-feedback=none;caller=x"], "x"),
        (["recovery-feedback=reflective; caller=" + "x" * 1000], "x" * 200),
        (['recovery-feedback=reflective; x="; caller=y"'], ""),
        (["recovery-feedback=reflective; caller"], ""),
        (["recovery-feedback=reflective; caller="], ""),
        (["recovery-feedback=reflective"], ""),
        (["wait=10; caller=x"], ""),
        (["x-recovery-feedback=none; caller=x"], ""),
        (["recovery-feedback-x=none; caller=x"], ""),
        ([], ""),
    ],
)
def test_how_a_caller_calls_itself(values: list[str], name: str) -> None:
    assert named_caller(values) == name


@rows(
    ("target", "mode", "kept"),
    [
        ("/x?mode=verbose", Mode.VERBOSE, "/x"),
        ("/x?a=1&mode=none&b=%20&&c", Mode.NONE, "/x?a=1&b=%20&&c"),
        ("/x?mode=traditional_verbose&a", Mode.VERBOSE, "/x?a"),
        ("/x?mode=%76erbose", Mode.VERBOSE, "/x"),
        ("/x?mode=payment", None, "/x?mode=payment"),
        ("/x?mode=payment&mode=reflective", Mode.REFLECTIVE, "/x?mode=payment"),
        ("/x?mode=none&mode=verbose", Mode.NONE, "/x"),
        ("/x?mode", None, "/x?mode"),
        ("/x?xmode=none", None, "/x?xmode=none"),
        ("/x?a=mode=none", None, "/x?a=mode=none"),
        ("/x?abcd=none&mode=none", Mode.NONE, "/x?abcd=none"),
        ("/x?", None, "/x?"),
        ("/mode=none", None, "/mode=none"),
        ("/x?a=%zz&mode=none&a=+", Mode.NONE, "/x?a=%zz&a=+"),
        ("*", None, "*"),
    ],
)
def test_the_query(target: str, mode: Mode | None, kept: str) -> None:
    assert (queried(target), without_mode(target)) == (mode, kept)


@pytest.mark.parametrize("mode", Mode)
def test_names(mode: Mode) -> None:
    assert parse_mode(f" {mode.value.upper()} ") is mode
    assert parse_mode(f"{mode.value}x") is None
