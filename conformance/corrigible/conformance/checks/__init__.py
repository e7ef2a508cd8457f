"""Every check there is, by what it is about. A list in one place beats a hunt."""

from __future__ import annotations

from ..check import Check

CHECKS: tuple[Check, ...] = ()
