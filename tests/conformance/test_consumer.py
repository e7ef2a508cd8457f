"""The role consumer: the TypeScript reader passes, and every fault that is planted in it is caught where it belongs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from corrigible.adapters.sandbox.runtimes import find_node
from corrigible.conformance.checks.consumer import CHECKS, complaint, whole_question
from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.model.vector import Consumer, consumer
from corrigible.conformance.suite.subject import Check, Subject
from corrigible.conformance.transport.process import NoAnswer, StdioProgram, _read
from corrigible.conformance.validators.finding import Absent, Finding
from tests._support.rows import rows

from .made import sampled, told

SOURCES = Path(__file__).parents[2] / "protos" / "typescript" / "src"
READER = SOURCES / "stdio.ts"
NODE = str(find_node().executable)
BY_ID = {check.id: check for check in CHECKS}


def findings(check: Check, command: str | None, **settings: object) -> list[Finding]:
    return list(told(check.run(Subject("consumer", "http-json", config={"consumer": command, **settings}))))


def test_the_typescript_reader_passes() -> None:
    """`test_without_a_fault_nothing_is_caught` puts the vectors of other checks to it; `.ci/run` runs all checks."""
    assert findings(BY_ID["consumer/patch"], f"'{NODE}' '{READER}'") == []


# planted faults

ANY_ITEM = 'const last = items(at(result, "content")).find((item) => held(at(item, "text")));'
PATCH, CHOICES, GROUPS = {"patch"}, {"choices"}, {"groups"}
FAULTS: list[tuple[str, str, str, set[str]]] = [
    ("large integers are rounded", "return BigInt(source);", "return value;", {"comparison", "values"}),
    (
        "objects inherit",
        "Object.assign(Object.create(null), members)",
        "({ ...members })",
        {"hostile"},
    ),
    (
        "null is present",
        "(own(holder, name) && holder[name] !== null ? holder[name] : undefined)",
        "(own(holder, name) ? holder[name] : undefined)",
        {"short-form", "words"},
    ),
    ("any depth", "need(depth <= 24, `${what} nests too deep`);", "", {"hostile"}),
    (
        "an unknown base is an edit",
        'optional(given, "base_action", word("base"))',
        'optional(given, "base_action", (v) => text(v, "base_action").toLowerCase() as Word<"base">)',
        {"reading"},
    ),
    ("short form keeps nulls", " && given[name] !== null) short", ") short", {"short-form"}),
    ("a share is an interval", "return (centre - margin) / (n + z * z) >= 0.9;", "return k / n >= 0.9;", {"usable"}),
    ("no mirror", 'inError = () => at(body, "error", "recovery_feedback")', "inError = () => undefined", {"finding"}),
    ("causes of anything", 'at(body, "kind") !== "Status" || ', "", {"finding"}),
    ("a success refuses", "status === undefined || status >= 400", "true", {"refusals"}),
    ("a tool's success refuses", 'at(result, "isError") === true && ', "", {"refusals"}),
    ("any item of a tool", 'const last = items(at(result, "content")).at(-1);', ANY_ITEM, {"refusals"}),
    ("a page with feedback in it", "parsed && Object.keys(parsed).length === 1", "parsed", {"refusals"}),
    ("a cause is believed", "stripped(readFeedback(carried))", "readFeedback(carried)", {"refusals"}),
    ("dots stay", "DOTS = /^\\.{1,2}([;,&?#].*)?$|^\\s+$/", "DOTS = /^\\0$/", {"host"}),
    ("escapes stay", 'unescaped(found.at(-1)!).normalize("NFKC")', "path", {"host"}),
    ("any host", "fits(!ROUTING.includes(name.toLowerCase()), ", "((...all) => all)(name, ", {"host"}),
    ("two slashes", "UNCLEAR = /\\/{2}|\\/[;?#]|", "UNCLEAR = /", {"host"}),
    ("pointers skip a name", '(pointer.startsWith("/") && ', "(true && ", PATCH),
    ("any index", "/^(0|[1-9]\\d*)$/.test(part) && Number", "Number", PATCH),
    ("replacing adds", "if (replacing) read(holder, [last]);", "", PATCH),
    (
        "moving copies",
        'verb === "move" ? take(document, tokens(from)) : ',
        "",
        PATCH | {"values"},
    ),
    ("forms compare by value", "if (byText) return", "if (false) return", {"comparison"}),
    ("JSON compares by text", "const byText = parts[0]", "const byText = true || parts[0]", {"comparison", "grpc"}),
    (
        "credentials can be read",
        "(SECRET.includes(low) ? secrets : before)[low]",
        "before[low]",
        {"credentials"},
    ),
    (
        "a patch loses credentials",
        "headers: Object.assign(merged, secrets), body",
        "headers: merged, body",
        {"credentials"},
    ),
    ("steps take every header", "if (SECRET.includes(name.toLowerCase())) all[", "all[", {"credentials", "grpc"}),
    ("steps leave the host", 'fits(isMethod(method) && isPath(path), "a step leaves the host");', "", {"host"}),
    ("patches are half applied", "body: clone(request.body) });", "body: request.body });", PATCH),
    (
        "parameters beside a patch",
        "if (suggestion.patch.length > 0) return patched(",
        "if (suggestion.patch.length > 0) request = patched(",
        PATCH,
    ),
    (
        "arrays stay",
        "if (!isObject(patch)) return",
        "if (Array.isArray(patch) && target) return target;\n  if (!isObject(patch)) return",
        {"merge"},
    ),
    ("GET means query", "if (request.body === null && [", "if ([", {"merge"}),
    ("the word is proof", '(suggestion.status === "verified" || suggestion.proven)', "(true)", {"reading", "usable"}),
    ("a cap is for others", "usableAt(least)", "usableAt(1)", {"reading", "refusals", "usable"}),
    ("sure of what asks", " && !suggestion.confirm;", ";", {"usable"}),
    ("the first leads", "suggestions.find(usable); // [4.4]", "suggestions[0];", GROUPS),
    ("groups by relation", "one.group.id === other.group.id && ", "", GROUPS),
    ("an alternative for all", 'if (unit.relation !== "one_of") break;', "break;", GROUPS),
    ("recovery is ignored", '|| feedback.recovery === "terminal"', "", {"terminal", "words"}),
    ("a pick alone", 'picked.group && picked.group.relation !== "one_of" ?', "false ?", CHOICES),
    ("all are choices", "(usableAt(1)(s) ? [i] : [])", "[i]", CHOICES),
    ("nobody confirms", "suggestion.confirm && !agreed", "false && !agreed", {"choices", "confirmation", "refusals"}),
    (
        "everybody confirms",
        "applied.some(({ suggestion }) => s",
        "suggestions.some((suggestion) => s",
        {"confirmation"},
    ),
    ("changes are sent", "confirm: changesIntent || ", "confirm: ", {"confirmation", "usable"}),
    ("losses are sent", "loses.length > 0, // [4.10]", "loses.length > 9,", {"confirmation"}),
    (
        "keys stay",
        'newIdempotencyKey: feedback.key === "new"',
        "newIdempotencyKey: false",
        {"finding", "retry", "words"},
    ),
]


VECTORS = [vector for group in consumer() for vector in group.vectors]
QUESTIONS = "".join(f"{json.dumps(whole_question(vector))}\n" for vector in VECTORS)


def wrong(command: list[str]) -> Iterator[Consumer]:
    """Put every vector to one process, all at once; one by one where an answer is missing."""
    done = subprocess.run(command, input=QUESTIONS, capture_output=True, encoding="utf-8", check=False)
    lines = done.stdout.split("\n")[:-1]
    with StdioProgram(command) if len(lines) != len(VECTORS) else nullcontext() as respondent:
        for number, vector in enumerate(VECTORS):
            raw = f"{lines[number]}\n".encode() if respondent is None else b""
            answer = _read(raw, vector.id) if respondent is None else respondent.ask(whole_question(vector))
            if isinstance(answer, NoAnswer) or complaint(vector, answer) is not None:
                yield vector


TEXTS = {file.name: file.read_text("utf-8") for file in SOURCES.glob("*.ts")}
STRIP = """
const texts = JSON.parse(require("node:fs").readFileSync(0, "utf-8"));
console.log(JSON.stringify(texts.map((text) => require("node:module").stripTypeScriptTypes(text))));
"""


@pytest.fixture(scope="module")
def stripped() -> dict[str, str]:
    """From each text of the reader, with and without a fault, to JavaScript: no process strips them again."""
    texts = {*TEXTS.values(), *(text.replace(old, new) for _, old, new, _ in FAULTS for text in TEXTS.values())}
    question = json.dumps(ordered := sorted(texts))
    done = subprocess.run([NODE, "-e", STRIP], input=question, capture_output=True, text=True, check=True)
    return dict(zip(ordered, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("fault", sampled(FAULTS, lambda fault: min(fault[3])))
def test_a_planted_fault_is_caught_where_it_belongs(
    stripped: dict[str, str], tmp_path: Path, fault: tuple[str, str, str, set[str]]
) -> None:
    _, old, new, caught = fault
    assert sum(text.count(old) for text in TEXTS.values()) == 1, "the reader was rewritten: plant the fault anew"
    (tmp_path / "package.json").write_text('{"type": "module"}', "utf-8")
    for file, text in TEXTS.items():
        script = stripped[text.replace(old, new)].replace('.ts";', '.js";')
        (tmp_path / file).with_suffix(".js").write_text(script, "utf-8")
    assert {vector.id.partition("/")[0] for vector in wrong([NODE, str(tmp_path / "stdio.js")])} == caught


def test_without_a_fault_nothing_is_caught(stripped: dict[str, str], tmp_path: Path) -> None:
    fault = ("", TEXTS["stdio.ts"], TEXTS["stdio.ts"], set[str]())
    test_a_planted_fault_is_caught_where_it_belongs(stripped, tmp_path, fault)


# what a finding says


@pytest.fixture
def silly(tmp_path: Path) -> Callable[[str], str]:
    """A reader that gives everybody the same answer."""

    def write(members: str) -> str:
        program = tmp_path / "silly.py"
        program.write_text(
            "import json, sys\n"
            "for line in sys.stdin:\n"
            f"    print(json.dumps({{'id': json.loads(line)['id'], {members}}}), flush=True)\n",
            "utf-8",
        )
        return f"{{python}} '{program}'"

    return write


def test_a_finding_says_what_was_expected_what_came_and_how_to_ask_again(silly: Callable[[str], str]) -> None:
    first = findings(BY_ID["consumer/patch"], silly('"needs_input": []'))[0]
    assert (
        first.message == "A member is replaced. But the answer is needs_input and not next. (patch/replace, clause 4.6)"
    )
    assert first.requirement == "SRF-CON-09"
    assert not isinstance(first.expected, Absent)
    assert first.expected["next"]["request"]["body"]["size"] == "huge"
    assert first.got == {"needs_input": []}
    assert first.line is not None
    assert first.line.startswith("""echo '{"id": "patch/replace", """)


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ('"next": {}, "error": "x"', "the answer has next and error of next, terminal, needs_input, error"),
        ('"result": {}', "the answer has none of next, terminal, needs_input, error"),
        ('"next": []', "next is no object"),
        ('"next": {}', "/request is null and not {"),
        ('"next": {"request": {}}', "/request/method is missing"),
        ('"next": {"request": 7, "steps": 7}', "/steps is 7 and not []"),
    ],
)
def test_an_answer_of_a_wrong_shape_is_told(silly: Callable[[str], str], members: str, said: str) -> None:
    found = findings(BY_ID["consumer/patch"], silly(members))
    assert said in found[0].message


def test_a_reader_that_hangs_is_asked_a_few_times_only() -> None:
    found = findings(BY_ID["consumer/patch"], "'{python}' -c 'import time; time.sleep(60)'", patience=0.2)
    assert [finding.message.partition(";")[0] for finding in found[:4]] == [
        f"{vector.description} But the reader did not answer within 0.2 seconds"
        for vector in next(group for group in consumer() if group.name == "patch").vectors[:4]
    ]
    assert {finding.message.partition(":")[0] for finding in found[4:]} == {"The reader failed to answer 4 times"}
    assert {finding.requirement for finding in found} == set(BY_ID["consumer/patch"].requirements)


def test_a_reader_that_understands_nothing_breaks_every_requirement() -> None:
    for check in CHECKS:
        assert {finding.requirement for finding in findings(check, "cat")} == set(check.requirements), check.id


def test_a_reader_that_crashes_on_one_vector_is_asked_the_next(silly: Callable[[str], str]) -> None:
    found = findings(BY_ID["consumer/patch"], silly('"error": 1 // (0 if "remove-missing" in line else 1)'))
    told = [finding.message for finding in found if "ended with status 1" in finding.message]
    assert len(told) == 1
    assert "ZeroDivisionError" in told[0]
    assert len(found) > 20


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (None, "there is no reader to ask"),
        ("", "there is no reader to ask"),
        ("no-such-reader --stdio", "no-such-reader --stdio cannot be started"),
        ("{pyhton} reader.py", 'did you mean "python"'),
    ],
)
def test_a_reader_that_is_not_there_could_not_be_judged(command: str | None, said: str) -> None:
    with pytest.raises(CouldNotTell, match=said):
        findings(BY_ID["consumer/patch"], command)


# comparing answers


def vector(**expect: object) -> Consumer:
    return Consumer("x/y", ("SRF-CON-09",), "4.6", "It is.", {}, expect, (), "x.json")


REQUEST = {"method": "GET", "path": "/"}


@rows(
    ("expected", "answer", "said"),
    [
        (
            {"next": {"request": REQUEST}},
            {"next": {"request": {**REQUEST, "query": {}, "headers": {}, "body": None}}},
            None,
        ),
        (
            {"next": {"request": REQUEST}},
            {"next": {"request": {**REQUEST, "form": True}, "wait": 0, "steps": []}},
            None,
        ),
        ({"next": {"request": REQUEST}}, {"next": {"request": REQUEST, "wait": 1}}, "/wait is 1 and not 0."),
        (
            {"next": {"request": {**REQUEST, "headers": {"x-a": "1"}}}},
            {"next": {"request": {**REQUEST, "headers": {"X-A": "1"}}}},
            None,
        ),
        (
            {"next": {"request": REQUEST}},
            {"next": {"request": {**REQUEST, "headers": {"x-b": "1"}}}},
            "/request/headers/x-b is too much.",
        ),
        ({"terminal": {"action": "A"}}, {"terminal": {"action": "A", "parameters": {"b": 1}}}, None),
        ({"terminal": {"action": "A", "message": "m"}}, {"terminal": {"action": "A"}}, "/message is missing."),
        ({"needs_input": {}}, {"needs_input": {"confirm": True}}, "a confirmation is asked for."),
        ({"needs_input": {"confirm": True}}, {"needs_input": {}}, "no confirmation is asked for."),
        ({"needs_input": {"choices": [0]}}, {"needs_input": {"choices": [0, 1]}}, "/choices has 2 elements and not 1."),
        (
            {"needs_input": {"placeholders": [{"pointer": "/body"}]}},
            {"needs_input": {"placeholders": [{"pointer": "/body", "ask": "user"}]}},
            None,
        ),
        (
            {"needs_input": {"placeholders": [{"pointer": "/body"}]}},
            {"needs_input": {}},
            "/placeholders is no list of objects.",
        ),
        ({"error": True}, {"error": "why"}, None),
        ({"error": True}, {"next": {}}, "the answer is next and not error."),
    ],
)
def test_complaint(expected: dict[str, object], answer: dict[str, object], said: str | None) -> None:
    assert complaint(vector(**expected), answer) == said


def test_what_is_also_allowed_is_allowed() -> None:
    either = Consumer("x/y", ("SRF-CON-09",), "4.6", "It is.", {}, {"error": True}, ({"needs_input": {}},), "x.json")
    assert complaint(either, {"error": "x"}) is None
    assert complaint(either, {"needs_input": {}}) is None
    assert complaint(either, {"terminal": {}}) == "the answer is terminal and not error."
