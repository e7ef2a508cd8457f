"""What can be wrong with a proxy that should be transparent: each fault, and the requirements that it breaks.

They stand behind a proxy that conforms, so that there are annotated answers to spoil.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from corrigible.conformance.suite.subject import Check

from .faulty import Answer, Fault, Request


@dataclass(frozen=True)
class Planted:
    name: str
    fault: Fault
    breaks: frozenset[str]

    @property
    def withholds(self) -> bool:
        """Whether what a check waits for never comes."""
        return "SRF-TRN-09" in self.breaks

    def about(self, checks: Collection[Check], always: Collection[str] = ()) -> list[Check]:
        """Return the checks of the requirements that it breaks, and those that are always asked."""
        assert {*always} <= {one.id for one in checks}
        return [one for one in checks if one.id in always or self.breaks.intersection(one.requirements)]


def planted(name: str, fault: Fault, *breaks: str) -> Planted:
    return Planted(name, fault, frozenset(f"SRF-{one}" for one in breaks))


def plain(answer: Answer) -> bytes:
    try:
        return gzip.decompress(answer.body) if answer.header("content-encoding") == "gzip" else answer.body
    except (OSError, EOFError):
        return answer.body


def annotated(answer: Answer) -> bool:
    """Whether a proxy said something here. The suite's own upstream never says a schema."""
    return b'"self-reflective-api/0.1"' in plain(answer)


def where(which: Callable[[Answer], bool], change: Callable[[Answer], Answer]) -> Fault:
    """Change answers that are such, seen whole."""
    return Fault(whole=lambda request, answer: change(answer) if request.method != "HEAD" and which(answer) else answer)


def explained(change: Callable[[Answer], Answer]) -> Fault:
    """Change annotated answers, for which nothing has to be decoded."""
    return where(lambda answer: annotated(answer) and answer.header("content-encoding") is None, change)


def success(answer: Answer) -> bool:
    return 200 <= answer.status < 300 and answer.status not in (204, 205, 206)


def unknown(answer: Answer) -> bool:
    return answer.status >= 400 and not annotated(answer) and b'"odd"' in answer.body


def native(change: Callable[[Answer], Answer], which: Callable[[Answer], bool]) -> Fault:
    return where(which, change)


def rewritten(answer: Answer) -> Answer:
    try:
        return answer.with_body(json.dumps(json.loads(answer.body), separators=(",", ":")).encode())
    except (ValueError, RecursionError):
        return answer


def edited(answer: Answer, edit: Callable[[Any], Any]) -> Answer:
    """Change an annotated body as JSON, where numbers keep their text."""
    pairs = json.JSONDecoder(object_pairs_hook=Pairs, parse_float=Number, parse_int=Number).decode(
        answer.body.decode("utf-8", "surrogatepass")
    )
    return answer.with_body(written(edit(pairs)).encode("utf-8", "surrogatepass"))


class Number(str):
    pass


class Pairs(list[tuple[str, Any]]):
    pass


def written(value: Any) -> str:
    match value:
        case Pairs():
            return "{" + ",".join(f"{json.dumps(n)}:{written(v)}" for n, v in value) + "}"
        case list():
            return "[" + ",".join(map(written, value)) + "]"
        case Number():
            return str(value)
        case _:
            return json.dumps(value)


def reordered(members: Pairs) -> Pairs:
    return Pairs(sorted(members, key=lambda one: one[0]))


def recased(answer: Answer) -> Answer:
    return replace(answer, headers=tuple((name.title(), value) for name, value in answer.headers))


def lowered(answer: Answer) -> Answer:
    return replace(answer, headers=tuple((name.lower(), value) for name, value in answer.headers))


def merged(answer: Answer) -> Answer:
    """Fold headers that are there twice into one, as some libraries do: cookies do not survive that."""
    found: dict[str, tuple[str, str]] = {}
    for name, value in answer.headers:
        had = found.get(name.lower())
        found[name.lower()] = (had[0], f"{had[1]}, {value}") if had else (name, value)
    return replace(answer, headers=tuple(found.values()))


def head(change: Callable[[Answer], Answer], which: Callable[[Answer], bool] = lambda answer: True) -> Fault:
    return Fault(head=lambda request, answer: change(answer) if request.method != "HEAD" and which(answer) else answer)


def request(change: Callable[[Request], Request]) -> Fault:
    return Fault(request=change)


def without_prefer(request: Request) -> Request:
    return replace(request, headers=tuple(one for one in request.headers if one[0].lower() != "prefer"))


def beside_reflective(name: str, value: str) -> Callable[[Answer], Answer]:
    return lambda answer: answer.with_header(name, value)


def empty_head_answer(request: Request, answer: Answer) -> Answer:
    return answer.without("content-length") if request.method == "HEAD" else answer


WRONG_DIGEST = "sha-256=:" + "A" * 43 + "=:"


def talkative(request: Request, answer: Answer) -> Answer:
    """Say something after a head that is all."""
    return replace(answer, body=b'{"recovery_feedback":{}}') if request.method == "HEAD" else answer


def short(answer: Answer) -> bool:
    """Whether a body broke off."""
    return len(answer.body) < int(answer.header("content-length") or 0)


def unable(request: Request, answer: Answer) -> Answer:
    """Say that the upstream failed where its answer broke off."""
    broken = request.method != "HEAD" and answer.status != 304 and short(answer)
    return replace(answer, status=502, reason="Bad Gateway") if broken else answer


def without_mode(request: Request) -> Request:
    """Take out every mode that the contract knows, whoever it is for."""
    return replace(request, target=re.sub(r"mode=(?:verbose|reflective|traditional|none)&?", "", request.target))


PLANTED = (
    planted("says 502 for what breaks off", Fault(whole=unable), "TRN-16"),
    planted("waits for whole requests", Fault(waits=True), "TRN-09"),
    planted(
        "keeps expectations to itself",
        request(lambda r: replace(r, headers=tuple(one for one in r.headers if one[0].lower() != "expect"))),
        "TRN-12",
    ),
    planted("takes the API's own mode away", request(without_mode), "TRN-12"),
    planted("answers HEAD with a body", Fault(whole=talkative), "TRN-10"),
    planted(
        "says OK for Created",
        head(lambda a: replace(a, status=200, reason="OK"), lambda a: a.status == 201),
        "TRN-01",
        "TRN-12",
    ),
    planted("makes up reason phrases", head(lambda a: replace(a, reason="OK"), lambda a: success(a)), "TRN-01"),
    planted("turns unknown errors into 500", native(lambda a: replace(a, status=500), unknown), "TRN-02"),
    planted("turns explained errors into 422", explained(lambda a: replace(a, status=422)), "TRN-03"),
    planted("turns explained errors into successes", explained(lambda a: replace(a, status=200)), "TRN-03", "TRN-08"),
    planted("drops Set-Cookie from successes", head(lambda a: a.without("set-cookie"), success), "TRN-01"),
    planted("drops ETag from every answer", head(lambda a: a.without("etag")), "TRN-01", "TRN-02", "TRN-10"),
    planted("writes header names its own way", head(recased, success), "TRN-01"),
    planted("lowers header names of errors", native(lowered, unknown), "TRN-02"),
    planted("turns headers around", head(lambda a: replace(a, headers=a.headers[::-1]), success), "TRN-01"),
    planted(
        "folds repeated headers", head(merged, lambda a: success(a) and a.header("set-cookie") is not None), "TRN-01"
    ),
    planted(
        "says Server to everybody",
        head(lambda a: replace(a, headers=(*a.headers, ("Server", "mine"))), success),
        "TRN-01",
    ),
    planted(
        "says so when a success has no feedback",
        head(beside_reflective("Recovery-Feedback", "none"), success),
        "TRN-01",
    ),
    planted("writes successes again", native(rewritten, success), "TRN-01"),
    planted(
        "adds a member to successes",
        native(
            lambda a: a.with_body(a.body.replace(b"{", b'{"x":1,', 1)),
            lambda a: success(a) and a.body.startswith(b"{") and a.body.endswith(b"}"),
        ),
        "TRN-01",
    ),
    planted(
        "decodes what is coded",
        native(
            lambda a: a.without("content-encoding").with_body(plain(a)),
            lambda a: success(a) and a.header("content-encoding") == "gzip",
        ),
        "TRN-01",
    ),
    planted("drops trailers", Fault(trailers=lambda trailers: ()), "TRN-01"),
    planted("renames trailers", Fault(trailers=lambda t: tuple((n.lower(), v) for n, v in t)), "TRN-01"),
    planted("swallows interim answers", Fault(interim=False), "TRN-01"),
    planted("writes unknown errors again", native(rewritten, unknown), "TRN-02"),
    planted("wraps unknown errors", native(lambda a: a.with_body(b'{"data":%s}' % a.body), unknown), "TRN-02"),
    planted(
        "says problem+json for every explained error",
        explained(lambda a: a.with_header("Content-Type", "application/problem+json")),
        "TRN-04",
    ),
    planted(
        "adds a charset to explained errors",
        explained(lambda a: a.with_header("Content-Type", (a.header("Content-Type") or "") + "; charset=utf-8")),
        "TRN-04",
    ),
    planted("writes explained errors again", explained(rewritten), "TRN-05"),
    planted("sorts members of explained errors", explained(lambda a: edited(a, reordered)), "TRN-05"),
    planted(
        "drops a native member",
        explained(lambda a: edited(a, lambda m: Pairs(one for one in m if one[0] not in ("meta", "z", "error")))),
        "TRN-05",
    ),
    planted(
        "rewords the native message",
        explained(
            lambda a: a.with_body(re.sub(rb'"message":"currency [^"]*"', b'"message":"Wrong currency."', a.body))
        ),
        "TRN-05",
    ),
    planted("wraps explained errors", explained(lambda a: a.with_body(b'{"data":%s}' % a.body)), "TRN-05", "TRN-08"),
    planted(
        "adds members that are no feedback",
        explained(lambda a: a.with_body(a.body.replace(b"{", b'{"trace":1,', 1))),
        "TRN-05",
    ),
    planted("drops Retry-After from explained errors", explained(lambda a: a.without("retry-after")), "TRN-05"),
    planted(
        "gives a wrong length",
        explained(lambda a: a.with_header("Content-Length", str(len(a.body) - 5))),
        "TRN-05",
        "TRN-06",
        "TRN-08",
    ),
    planted(
        "says gzip over plain text",
        explained(lambda a: a.with_header("Content-Encoding", "gzip")),
        "TRN-05",
        "TRN-06",
        "TRN-08",
    ),
    planted("lets a digest stand", explained(lambda a: a.with_header("Content-Digest", WRONG_DIGEST)), "TRN-06"),
    planted("lets a strong ETag stand", explained(lambda a: a.with_header("ETag", '"native-1"')), "TRN-06"),
    planted(
        "overwrites recovery_feedback",
        native(
            lambda a: a.with_body(
                re.sub(
                    rb'"recovery_feedback": (\{"mine": true\}|"text"|null|\[1.0\])',
                    b'"recovery_feedback": {"x": 1}',
                    a.body,
                )
            ),
            lambda a: a.status >= 400 and not short(a),
        ),
        "TRN-07",
    ),
    planted(
        "passes as whole what broke off",
        Fault(whole=lambda request, answer: answer, whole_again=True),
        "TRN-08",
        "TRN-16",
    ),
    planted(
        "answers 503 where the error is long",
        native(lambda a: replace(a, status=503), lambda a: a.status == 400 and len(a.body) > 1_000_000),
        "TRN-08",
    ),
    planted("holds answers back", Fault(holds=True), "TRN-09", "TRN-16"),
    planted(
        "listens to upgraded connections",
        Fault(after_upgrade=lambda data: data.replace(b"hello", b"HELLO").replace(b"first", b"FIRST")),
        "TRN-09",
    ),
    planted("drops the length from answers to HEAD", Fault(head=empty_head_answer), "TRN-10"),
    planted(
        "says 200 for a part", head(lambda a: replace(a, status=200, reason="OK"), lambda a: a.status == 206), "TRN-10"
    ),
    planted("says Vary with a 304", head(beside_reflective("Vary", "Prefer"), lambda a: a.status == 304), "TRN-10"),
    planted(
        "decodes targets",
        request(lambda r: replace(r, target=r.target.replace("%2F", "/").replace("%41", "A"))),
        "TRN-12",
    ),
    planted("tidies paths", request(lambda r: replace(r, target=re.sub(r"^(/)/+", r"\1", r.target))), "TRN-12"),
    planted(
        "takes every mode away", request(lambda r: replace(r, target=re.sub(r"[?&]mode=\w*", "", r.target))), "TRN-12"
    ),
    planted("writes methods large", request(lambda r: replace(r, method=r.method.upper())), "TRN-12"),
    planted(
        "writes cookies its own way",
        request(lambda r: replace(r, headers=tuple(("Cookie", v) if n == "COOKIE" else (n, v) for n, v in r.headers))),
        "TRN-12",
    ),
    planted(
        "offers gzip upstream",
        request(
            lambda r: replace(
                r, headers=tuple((n, "gzip") if n.lower() == "accept-encoding" else (n, v) for n, v in r.headers)
            )
        ),
        "TRN-12",
    ),
    planted(
        "says who it is upstream", request(lambda r: replace(r, headers=(*r.headers, ("X-Proxy", "mine")))), "TRN-12"
    ),
    planted(
        "changes bodies",
        request(
            lambda r: (
                replace(
                    r,
                    body=r.body.replace(b"1.0", b"1"),
                    headers=tuple(
                        (n, str(len(r.body.replace(b"1.0", b"1")))) if n.lower() == "content-length" else (n, v)
                        for n, v in r.headers
                    ),
                )
                if r.body
                else r
            )
        ),
        "TRN-12",
    ),
)


def preferring(change: Callable[[str], str | None]) -> Fault:
    """Change what Prefer says on its way in; None takes it out."""

    def changed(request: Request) -> Request:
        said = ((n, change(v) if n.lower() == "prefer" else v) for n, v in request.headers)
        return replace(request, headers=tuple((n, v) for n, v in said if v is not None))

    return Fault(request=changed)


def refusing(value: str) -> Fault:
    return Fault(whole=lambda r, a: replace(a, status=417) if r.header("prefer") == value else a)


NEGOTIATION = (
    planted("does not know none", preferring(lambda v: v.replace("back=none", "back=reflective")), "NEG-01", "NEG-04"),
    planted("never says what it applied", explained(lambda a: a.without("preference-applied")), "NEG-02"),
    planted(
        "says what it applied with parameters",
        explained(
            lambda a: (
                a.with_header("Preference-Applied", (a.header("preference-applied") or "") + "; x=1")
                if a.header("preference-applied")
                else a
            )
        ),
        "NEG-02",
    ),
    planted(
        "says that it applied a preference to successes",
        head(lambda a: a.with_header("Preference-Applied", "recovery-feedback=reflective"), success),
        "NEG-02",
    ),
    planted("drops Vary", explained(lambda a: a.without("vary")), "NEG-03"),
    planted("forgets the upstream's Vary", explained(lambda a: a.with_header("Vary", "Prefer")), "NEG-03"),
    planted("drops the preferences of others", preferring(lambda v: None if v.startswith("handling") else v), "NEG-04"),
    planted("reads half a word", preferring(lambda v: v.replace("reflectively", "none")), "NEG-05"),
    planted("refuses what it cannot read", refusing("=reflective"), "NEG-05"),
    planted(
        "reads only small letters",
        preferring(lambda v: v.replace("Recovery-Feedback=Reflective", "recovery-feedback=none")),
        "NEG-05",
    ),
)
