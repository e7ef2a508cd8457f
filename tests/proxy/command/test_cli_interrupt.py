"""Ctrl-C pressed twice: no traceback."""

from __future__ import annotations

import argparse

import pytest

from corrigible.proxy import cli


def test_an_interrupt_is_an_exit_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(args: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_run", interrupted)
    assert cli.main(["spec", "check", "x"]) == 130
    assert capsys.readouterr().err == ""
