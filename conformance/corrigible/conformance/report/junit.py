"""JUnit XML for CI servers: one suite for each profile."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from corrigible.conformance.model.outcome import Outcome
from corrigible.conformance.suite.record import Entry, Record

from .difference import difference
from .plain import one_line, visible


def render(record: Record) -> str:
    """Return the document."""
    head = record.head
    root = Xml.Element("testsuites", {"name": f"conformance {head.contract} {head.level}"} | _numbers(record.entries))
    for column in dict.fromkeys(entry.column for entry in record.entries):
        entries = [entry for entry in record.entries if entry.column == column]
        started = head.started[:19]  # the schema that Jenkins checks takes no zone
        suite = Xml.SubElement(root, "testsuite", {"name": column, "timestamp": started} | _numbers(entries))
        properties = Xml.SubElement(suite, "properties")
        for name, value in {
            "subject": head.subject,
            "suite": head.suite,
            "level": head.level,
            "seed": str(head.seed),
            "verdict": record.foot.verdict.value,
            "claim": record.foot.claim,
            **{f"pack:{pack}": digest for pack, digest in head.packs.items()},
        }.items():
            Xml.SubElement(properties, "property", name=visible(name), value=visible(value))
        for entry in entries:
            _case(suite, record, entry)
        if words := record.foot.last_words.get(column):
            Xml.SubElement(suite, "system-err").text = visible(words)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _numbers(entries: Sequence[Entry]) -> dict[str, str]:
    kinds = [_kind(entry) for entry in entries]
    return {
        "tests": str(len(entries)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
        "time": f"{sum(entry.seconds for entry in entries):.3f}",
    }


def _kind(entry: Entry) -> str | None:
    match entry.outcome:
        case Outcome.PASSED:
            return None
        case Outcome.FAILED:
            return None if entry.advice else "failure"
        case Outcome.PASSED_UNEXPECTEDLY:
            return "failure"
        case Outcome.FAILED_AS_EXPECTED | Outcome.NOT_APPLICABLE | Outcome.NOT_RUN:
            return "skipped"


def _case(suite: Xml.Element, record: Record, entry: Entry) -> None:
    case = Xml.SubElement(
        suite,
        "testcase",
        classname=f"{entry.column}.{entry.check.rpartition('/')[0].replace('/', '.') or 'checks'}",
        name=entry.check.rpartition("/")[2],
        time=f"{entry.seconds:.3f}",
    )
    text = visible("\n".join(_text(record, entry)))
    kind = _kind(entry)
    if kind == "skipped":
        Xml.SubElement(case, kind, message=one_line(_reason(entry)))
    elif kind is not None:
        element = Xml.SubElement(case, kind, message=one_line(_reason(entry)), type=entry.outcome.value)
        element.text = text
    elif entry.advice:
        Xml.SubElement(case, "system-out").text = f"advice, since only what SHOULD hold broke\n{text}"


def _reason(entry: Entry) -> str:
    if entry.outcome in (Outcome.NOT_RUN, Outcome.NOT_APPLICABLE):
        return f"{entry.outcome.value}: {entry.reason}"
    if entry.outcome is Outcome.FAILED_AS_EXPECTED and entry.known is not None:
        return f"failed as expected: {entry.known.reason}"
    if entry.outcome is Outcome.PASSED_UNEXPECTEDLY:
        return Outcome.PASSED_UNEXPECTEDLY.value
    return entry.reason or (f"{entry.flaws[0].requirement}: {entry.flaws[0].message}" if entry.flaws else entry.title)


def _text(record: Record, entry: Entry) -> list[str]:
    lines = [entry.title]
    for flaw in entry.flaws:
        clause = record.clause(flaw.requirement)
        lines += ["", f"{clause.id} ({clause.level}): {clause.text}", flaw.message, *difference(*flaw.sides)]
        lines += [f"at: {flaw.place}"] if flaw.place else []
        lines += [f"again: {flaw.line}"] if flaw.line else []
        lines += [f"read: {clause.where}"] if clause.where else []
    again = record.head.again(entry) if entry.bad else None
    return [*lines, *([entry.reason] if entry.reason else []), *([f"trace: {again}"] if again else [])]
