"""The audit before a run of `conformance lift`: whether an agent could have a fix elsewhere than in the feedback."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from ..audit.audit import audit, document, gather
from ..audit.material import command
from ..lift.plan import digest_of
from ..lift.run import TASKS, Planned
from ..misuse import Misused
from .audit import report

CERTIFICATE: Final = "certificate.json"
"""Stands beside the log, and says what was compared."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the option to go without."""
    parser.add_argument("--unaudited", action="store_true", help="play though tasks or diagnoses may give the fix away")


def audited(planned: Planned, args: argparse.Namespace) -> Planned:
    """Audit the packs and the tasks that are to be played, and write the certificate. Raises Misused for a leak."""
    if args.unaudited:
        return planned
    folder: Path = args.task_files or TASKS
    done = audit(gather(sorted(planned.files), [folder / f"{name}.yaml" for name in planned.files], [], command()))
    if done.leaks:
        print("\n".join(report(done)), file=sys.stderr)
        raise Misused("an agent could have a fix without the feedback: mend the texts, or play with --unaudited")
    certificate = document(done, suite=version("corrigible"), date=datetime.now(UTC).date().isoformat())
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(certificate, indent=2, ensure_ascii=False) + "\n"
        (args.out / CERTIFICATE).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise Misused(f"{args.out}: {problem.strerror}") from None
    # By what it says, not by the day on which it was said: the same run on another day is the same run.
    return replace(planned, audit=digest_of({name: value for name, value in certificate.items() if name != "date"}))
