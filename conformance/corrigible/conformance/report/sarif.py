"""A SARIF 2.1.0 report for code-scanning pages. A rule is a requirement."""

from __future__ import annotations

import hashlib
import json
from typing import Final

from corrigible.conformance.model.outcome import Outcome
from corrigible.conformance.suite.record import Entry, Record, RecordedFinding
from corrigible.schema.exchange import Json

from .difference import difference
from .plain import visible

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def render(record: Record) -> str:
    """Return the document."""
    failed_entries = [entry for entry in record.entries if entry.flaws]
    used = list(dict.fromkeys(flaw.requirement for entry in failed_entries for flaw in entry.flaws))
    index = {requirement: number for number, requirement in enumerate(used)}
    failed = [entry for entry in record.entries if entry.outcome is Outcome.NOT_RUN]
    run: dict[str, Json] = {
        "tool": {
            "driver": {
                "name": "conformance",
                "semanticVersion": record.head.suite,
                "rules": [_rule(record, requirement) for requirement in used],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not failed,
                "toolExecutionNotifications": [
                    {"level": "warning", "message": {"text": visible(f"{entry.name} not run: {entry.reason}")}}
                    for entry in failed
                ],
            }
        ],
        "results": [_result(record, entry, flaw, index) for entry in failed_entries for flaw in entry.flaws],
        "properties": {"claim": record.foot.claim, "verdict": record.foot.verdict.value, "level": record.foot.level},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(record: Record, requirement: str) -> Json:
    clause = record.clause(requirement)
    return {
        "id": clause.id,
        "shortDescription": {"text": clause.title or clause.id},
        "fullDescription": {"text": clause.text or clause.title or clause.id},
        "help": {"text": f"{clause.why} Read {clause.where}.".strip()},
        "defaultConfiguration": {"level": "error" if clause.must else "warning"},
        "properties": {"tags": [clause.level, clause.weight, clause.group]},
    }


def _result(record: Record, entry: Entry, flaw: RecordedFinding, index: dict[str, int]) -> Json:
    clause = record.clause(flaw.requirement)
    lines = [flaw.message, *difference(*flaw.sides)]
    lines += [f"{word}: {said}" for word, said in (("at", flaw.place), ("again", flaw.line)) if said]
    text = "\n".join([*lines, *([f"trace: {again}"] if (again := record.head.again(entry)) else [])])
    # What a flaw says can hold a port or a number that differs from run to run, so it is no part of its identity.
    identity = hashlib.sha256(f"{entry.name} {flaw.requirement}".encode()).hexdigest()
    result: dict[str, Json] = {
        "ruleId": flaw.requirement,
        "ruleIndex": index[flaw.requirement],
        "level": "error" if clause.must and not entry.advice else "warning",
        "message": {"text": visible(text)},
        "locations": [
            {
                # Pages that show SARIF want a file: the clause is the one there is.
                "physicalLocation": {
                    "artifactLocation": {"uri": clause.where.partition("#")[0] or "SPEC.md"},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [{"fullyQualifiedName": entry.name, "kind": "member"}],
            }
        ],
        "partialFingerprints": {"check/v1": identity},
    }
    if entry.outcome is Outcome.FAILED_AS_EXPECTED and entry.known is not None:
        result["suppressions"] = [{"kind": "external", "justification": entry.known.reason}]
    return result
