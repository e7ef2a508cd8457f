"""Every report is a view of the record, valid in its own language, and nothing that a subject says acts in it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as Xml

from corrigible.conformance.model.outcome import Outcome
from corrigible.conformance.report import terminal, write
from corrigible.conformance.report.terminal import difference, one_line, visible
from corrigible.conformance.validators.finding import ABSENT, Absent
from corrigible.schema.exchange import Json
from tests._support.rows import rows

from .made import FLAW, entry, hostile, mixed, record

# differences

DIFFERENCES: dict[str, tuple[Json | Absent, Json | Absent, list[str]]] = {
    "neither": (ABSENT, ABSENT, []),
    "numbers": (1, 2, ["- 1", "+ 2"]),
    "kinds": ("1", 1, ['- "1"', "+ 1"]),
    "text": ("a", "b", ["- a", "+ b"]),
    "text with lines": ("a\nb", "a\nc", ["@@ -1,2 +1,2 @@", "  a", "- b", "+ c"]),
    "blanks": ("a", "a ", ["- a", '+ "a "']),
    "empty": ("", None, ['- ""', "+ null"]),
    "only got": (ABSENT, {"a": 1}, ['+ {"a": 1}']),
    "only expected": ({"a": 1}, ABSENT, ['- {"a": 1}', "+ (nothing)"]),
}


@rows("name", DIFFERENCES)
def test_differences_are_small(name: str) -> None:
    expected, got, lines = DIFFERENCES[name]
    assert difference(expected, got) == lines


def test_long_documents_show_only_what_differs_and_its_neighbours() -> None:
    lines = difference(dict.fromkeys("abcdefghijklmnopqrst", 1), {**dict.fromkeys("abcdefghijklmnopqrst", 1), "k": 2})
    assert lines == [
        "@@ -10,5 +10,5 @@",
        '    "i": 1,',
        '    "j": 1,',
        '-   "k": 1,',
        '+   "k": 2,',
        '    "l": 1,',
        '    "m": 1,',
    ]


def test_differences_are_cut_where_nobody_would_read_on() -> None:
    assert len(difference(list(range(1000)), [])) == 41
    assert max(map(len, difference("x" * 10_000, "y"))) < 2100


# text of strangers


def test_what_cannot_be_seen_is_written_out() -> None:
    assert visible("a\x1b[31m\u202eb\u200b\r\n\tc\x00\ud800") == "a\\u001b[31m\\u202eb\\u200b\\u000d\n\tc\\u0000\\ud800"
    assert one_line("a\n  b" + "c" * 400, 10) == "a bcccc..."


# terminal


def test_the_terminal_shows_failures_then_counts_and_claim() -> None:
    text = terminal.render(mixed())
    assert text.startswith(
        """\
FAILED  http-json:transparency/status-kept  About transparency/status-kept
    SRF-TRN-03 (L0 MUST): The status stays
    * The upstream refused with 402, and the caller saw 400.
        (- expected, + got)
        - {"status": 402, "body": {"error": {"code": "card_declined"}}}
        + {"status": 400, "body": {"error": {"code": "card_declined"}}}
      again: curl -i -X POST http://127.0.0.1:8080/v1/refunds
    read: SPEC.md#srf-trn-03
"""
    )
    counted = "passed, 1 failed, 1 advised, 1 failed as expected, 1 passed, but is listed as known failing, 1 not run"
    assert text.endswith(
        f"""\
NOT RUN  http-json:core/crashed
    the check crashed: ValueError: x

NOT APPLICABLE  http-json:core/streams
    it has no streams

1 {counted}, 1 not applicable
does not conform: SRF 0.1 L1, 0 of 2 passed / http-json, suite 0.1.0: 0/2 MUST, 0/1 SHOULD, 1 known failing
"""
    )
    assert "the list says: was broken. Take the entry out." in text
    assert "type-kept" not in text


def test_one_reason_is_told_once_however_many_checks_it_stops() -> None:
    stopped = [entry(f"a/{number}", Outcome.NOT_RUN, reason="nobody is there") for number in range(9)]
    text = terminal.render(record(*stopped))
    assert text.count("nobody is there") == 1
    assert "http-json:a/2 and 6 more" in text


def test_checks_that_say_the_same_are_told_together() -> None:
    same = [entry(f"a/{number}", Outcome.FAILED, FLAW) for number in range(4)]
    text = terminal.render(record(*same, options="--config 'a b.yaml'"))
    assert text.count("FAILED  ") == text.count(FLAW.message) == 1
    assert "and so, in the same words, 3 more: http-json:a/1 (SRF-TRN-03), http-json:a/2 (SRF-TRN-03)," in text
    assert "    trace: conformance replay http-json:a/0 --config 'a b.yaml'\n" in text


def test_many_alike_are_not_all_shown() -> None:
    text = terminal.render(record(entry("a/x", Outcome.FAILED, *[FLAW] * 50)))
    assert text.count(FLAW.message) == 5
    assert "... 45 more like these" in text


def test_a_subject_cannot_paint_the_terminal() -> None:
    text = terminal.render(hostile())
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b]", text)
    assert "\x1b[31m" in terminal.render(mixed(), coloured=True)


# junit


def test_junit_counts_what_it_holds() -> None:
    root = Xml.fromstring(write.junit(mixed()))
    (suite,) = root.findall("testsuite")
    cases = suite.findall("testcase")
    for element in (root, suite):
        assert element.get("tests") == str(len(cases)) == "7"
        assert element.get("failures") == str(len(suite.findall(".//failure"))) == "2"
        assert element.get("errors") == str(len(suite.findall(".//error"))) == "0"
        assert element.get("skipped") == str(len(suite.findall(".//skipped"))) == "3"
    assert {(case.get("classname"), case.get("name")) for case in cases} >= {("http-json.transparency", "status-kept")}
    assert all(case.get("time") for case in cases)
    failure = suite.find(".//failure")
    assert failure is not None
    assert failure.get("message") == f"SRF-TRN-03: {FLAW.message}"
    assert "again: curl -i -X POST" in (failure.text or "")


def test_junit_has_its_elements_in_the_order_that_its_schema_wants() -> None:
    (suite,) = Xml.fromstring(write.junit(mixed())).findall("testsuite")
    assert [element.tag for element in suite] == ["properties", *["testcase"] * 7, "system-err"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp") or "")


def test_junit_stays_xml_whatever_a_subject_says() -> None:
    root = Xml.fromstring(write.junit(hostile()))
    assert root.find(".//script") is None
    assert "\\u0000" in "".join(root.itertext())


# sarif


def test_sarif_has_a_rule_for_every_result() -> None:
    document = json.loads(write.sarif(mixed()))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[result["ruleIndex"]] for result in run["results"]] == [result["ruleId"] for result in run["results"]]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "error"]
    assert run["results"][2]["suppressions"] == [{"kind": "external", "justification": "waits for a release"}]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert all(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"])
    assert json.loads(write.sarif(hostile()))


# badge


def test_a_badge_says_what_is_claimed_or_why_not() -> None:
    good = json.loads(write.badge(record(entry("a/x"))))
    assert good == {"schemaVersion": 1, "label": "SRF 0.1", "message": "L1 http-json", "color": "brightgreen"}
    assert json.loads(write.badge(mixed()))["message"] == "does not conform"


# markdown


def test_markdown_shows_verdict_matrix_and_failures() -> None:
    text = write.markdown(mixed())
    assert text.startswith("# Acme gateway 2.1: does not conform\n\n`SRF 0.1 L1, 0 of 2 passed / http-json")
    assert r"| SRF-TRN-03 The status stays | L0 MUST | **broken** |" in text
    assert "  ```sh\n  curl -i -X POST http://127.0.0.1:8080/v1/refunds\n  ```" in text
    assert r"* http\-json:core/present: waits for a release (\#12)" in text


def test_markdown_of_strangers_stays_text() -> None:
    text = write.markdown(hostile())
    fenced = re.sub(r"(?ms)^ *(`{3,})[a-z]*$.*?^ *\1$", "", text)
    assert "<script" not in fenced
    assert "](javascript" not in fenced
    assert not re.search(r"(?<!\\)`code", fenced)
    assert "@somebody" not in fenced


# the page


class Seen(HTMLParser):
    """What a browser would make of a page, as far as it could act."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.acts: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.acts += [
            f"{tag} {name}"
            for name, value in attributes
            if name.startswith("on") or (name in ("src", "href") and not (value or "").startswith("#"))
        ]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def seen(text: str) -> Seen:
    found = Seen()
    found.feed(text)
    found.close()
    return found


def test_the_page_has_verdict_matrix_clauses_differences_and_reproducers() -> None:
    text = "".join(seen(write.render(mixed())).text)
    for said in (
        "does not conform",
        "SRF 0.1 L1, 0 of 2 passed / http-json, suite 0.1.0: 0/2 MUST",
        "Transparent",
        "An error that gets feedback keeps its status code.",
        '- {"status": 402, "body": {"error": {"code": "card_declined"}}}',
        "curl -i -X POST http://127.0.0.1:8080/v1/refunds",
        "> POST /",
        "waits for a release",
        "listening\nbye",
    ):
        assert said in text


def test_the_page_needs_nothing_from_elsewhere() -> None:
    found = seen(write.render(mixed()))
    assert found.acts == []
    assert not {"link", "img", "iframe", "object"} & set(found.tags)


def test_hostile_text_of_a_subject_is_escaped() -> None:
    plain, found = seen(write.render(mixed())), seen(write.render(hostile()))
    assert found.acts == []
    assert set(found.tags) - {"dd", "dt"} <= set(plain.tags) | {"dd", "dt"}
    assert found.tags.count("script") == 1
    assert "<img src=x onerror=alert(2)>" in "".join(found.text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b]", write.render(hostile()))


def test_a_run_without_a_check_makes_a_page() -> None:
    assert "could not tell" in write.render(record())
