"""The checks of exposure: one call delays no other, and a request has only one reading (SRF-TRN-13 to 15)."""

from __future__ import annotations

from typing import Final

from corrigible.conformance.suite.check import Check

from . import framing, others

CHECKS: Final = tuple(
    Check(f"exposure/{name}", title, requirements, run, profiles=frozenset({"http-json"}))
    for part in (framing.RUNS, others.RUNS)
    for name, title, requirements, run in part
)
