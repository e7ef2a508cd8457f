"""Validates the edits of suggestions against the request (SRF-OPS-01 to 11), applied as by a reader."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Final

import jsonpatch

from corrigible.conformance.validators import finding
from corrigible.schema.document import MISSING, to_pointer
from corrigible.schema.edit import merge
from corrigible.schema.exchange import Json, Request

_TROUBLE = (
    *(jsonpatch.JsonPatchException, jsonpatch.JsonPointerException),
    *(AttributeError, IndexError, KeyError, TypeError, ValueError),
)


class Unapplied(Exception):
    """A patch that does not fit the document; the message says where."""


def document(request: Request) -> dict[str, Json]:
    """Return the request document, header names in lower case."""
    whole = deepcopy(request.document())
    whole["headers"] = {name.lower(): value for name, value in request.headers.items()}
    return whole


def patched(operations: Sequence[Mapping[str, Json]], before: Json, *, form: bool = False) -> Any:
    """Return the document after a patch. Raises Unapplied, and then nothing has changed."""
    after = deepcopy(before)
    for number, operation in enumerate(operations):
        op = {name: _folded(value) if name in ("path", "from") else value for name, value in operation.items()}
        if op.get("op") == "test":
            value = finding.at(after, op.get("path"))
            loose = str(op.get("path")).startswith("/query") or (form and str(op.get("path")).startswith("/body"))
            if value is MISSING or not _same(value, op.get("value"), loose=loose):
                raise Unapplied(f"patch/{number}: the test of {op.get('path')} does not hold")
            continue
        try:
            after = jsonpatch.apply_patch(after, [op])
        except _TROUBLE:
            raise Unapplied(f"patch/{number}: {op.get('op')} {op.get('path')} cannot be carried out") from None
    return after


def same(value: Json, other: Json) -> bool:
    """Equality of JSON values, where 1 is 1.0 and true is neither."""
    return _same(value, other, loose=False)


@dataclass(frozen=True, slots=True)
class Stage:
    """One suggestion, and the document that it is for."""

    index: int
    suggestion: Mapping[str, Json]
    before: Any
    after: Any
    """None where it does not apply."""
    problem: str = ""


def stages(annotated: finding.AnnotatedError) -> Iterator[Stage]:
    """Yield every suggestion with the document as those before it leave it. Alternatives start from the same one."""
    current = document(annotated.request)
    starts: dict[str, Any] = {}
    for index, suggestion in annotated.suggestions:
        group = suggestion.get("group")
        choice = isinstance(group, Mapping) and group.get("relation") == "one_of"
        key = str(group.get("id")) if isinstance(group, Mapping) and choice else ""
        first = not choice or key not in starts
        before = starts.setdefault(key, current) if choice else current
        try:
            after = _after(suggestion, before, annotated.request)
        except Unapplied as problem:
            yield Stage(index, suggestion, before, None, str(problem))
            continue
        yield Stage(index, suggestion, before, after)
        if first:
            current = after


def _after(suggestion: Mapping[str, Json], before: Any, request: Request) -> Any:
    operations = finding.patch_of(suggestion)
    if operations:
        return patched(operations, before, form=request.form)
    parameters = suggestion.get("parameters")
    if finding.base_action(suggestion) == "MODIFY_PARAMS" and isinstance(parameters, Mapping) and parameters:
        whole = deepcopy(before)
        bodiless = whole.get("body") is None and request.method.upper() in ("GET", "HEAD", "DELETE")
        member = "query" if bodiless else "body"
        if not isinstance(whole.get(member), Mapping | None):
            raise Unapplied("the body is no object, so the parameters have nowhere to go")
        whole[member] = merge(whole.get(member), parameters)
        return whole
    return before


def _folded(pointer: Json) -> Json:
    is_header = isinstance(pointer, str) and pointer.lower().startswith("/headers/")
    return pointer.lower() if is_header else pointer


def _same(one: Json, other: Json, *, loose: bool) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[k], other[k], loose=loose) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(a, b, loose=loose) for a, b in zip(one, other, strict=True))
    if isinstance(one, Mapping | list) or isinstance(other, Mapping | list):
        return False
    if loose:
        return _text(one) == _text(other)
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    return bool(one == other)


def _text(scalar: Json) -> str:
    if isinstance(scalar, bool):
        return "true" if scalar else "false"
    return "" if scalar is None else str(scalar)


def leads_to(pointer: str, place: str) -> bool:
    """Whether a place is at or below a pointer."""
    above, below = finding.parts(pointer), finding.parts(place)
    return above is not None and below is not None and below[: len(above)] == above


_OPERATIONS: Final = {
    "add": "value",
    "replace": "value",
    "test": "value",
    "move": "from",
    "copy": "from",
    "remove": None,
}
_MEMBERS: Final = ("method", "path", "query", "headers", "body")
_CREDENTIALS: Final = frozenset({"authorization", "cookie", "proxy-authorization"})
_KEYS: Final = frozenset({"idempotency-key", "x-idempotency-key"})
_Z: Final = 1.959963984540054


def judge(annotated: finding.AnnotatedError) -> Iterator[finding.Finding]:
    """Yield what is wrong with the edits. Patches that are none are not looked into further."""
    yield from annotated.judged((("SRF-OPS-01", invalid),) if any(invalid(annotated)) else _RULES)


def invalid(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    """Yield the patches that are none."""
    for index, suggestion in annotated.suggestions:
        patch = suggestion.get("patch")
        if patch is None:
            continue
        if not isinstance(patch, list):
            yield f"The patch of suggestion {index} is no array.", "an array", patch, index
            continue
        for number, op in enumerate(patch):
            problem = _operation_problem(op)
            if problem:
                label = f"Operation {number} in the patch of suggestion {index}"
                yield f"{label} {problem}.", "an operation of RFC 6902", op, index, "patch", number


def _asked_for(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    """A placeholder points at a place of the request that a value can be put into."""
    for stage in stages(annotated):
        for number, placeholder in enumerate(finding.listed(stage.suggestion, "placeholders")):
            label = f"Placeholder {number} of suggestion {stage.index}"
            split = finding.parts(placeholder.get("pointer"))
            if split is None or not split or split[0] not in _MEMBERS:
                sentence = f"{label} has no JSON pointer into the request document."
                yield sentence, "such as /body/name", placeholder.get("pointer"), stage.index, "placeholders", number


def _askable(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    """The description lets the place of a placeholder hold something."""
    for stage in stages(annotated):
        for number, placeholder in enumerate(finding.listed(stage.suggestion, "placeholders")):
            pointer, description = str(placeholder.get("pointer")), annotated.description
            if description is not None and description.excludes(annotated.request, pointer):
                label = f"Placeholder {number} of suggestion {stage.index}"
                sentence = f"{label} points at what the description of the API does not let the request hold."
                yield sentence, "a member that may be there", pointer, stage.index, "placeholders", number


def _operation_problem(op: Json) -> str:
    if not isinstance(op, Mapping):
        return "is no object"
    verb = op.get("op")
    if not isinstance(verb, str) or verb not in _OPERATIONS:
        return "has no verb of RFC 6902"
    for name in ("path", "from"):
        if name == "from" and _OPERATIONS[verb] != "from":
            continue
        split = finding.parts(op.get(name))
        if split is None:
            return f"has no JSON pointer as its {name}"
        if not split or split[0] not in _MEMBERS:
            return f"points with its {name} to no member of the request document"
    needed = _OPERATIONS[verb]
    if needed is not None and needed not in op:
        return f"lacks its {needed}"
    try:
        jsonpatch.JsonPatch([dict(op)])
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException, TypeError, ValueError):
        return "is refused by an implementation of RFC 6902"
    return ""


def _applies(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    for stage in stages(annotated):
        if stage.after is None:
            sentence = f"Suggestion {stage.index} does not apply to the request that was refused: {stage.problem}."
            yield sentence, "a patch that applies", finding.patch_of(stage.suggestion), stage.index, "patch"


def _guarded(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    for stage in stages(annotated):
        current = stage.before
        tested: list[str] = []
        for number, op in enumerate(finding.patch_of(stage.suggestion)):
            for element in _elements(current, op):
                if not any(leads_to(element, test) for test in tested):
                    sentence = (
                        f"Operation {number} in the patch of suggestion {stage.index} edits {element}, "
                        "an element of an array, without a test of it before."
                    )
                    yield sentence, {"op": "test", "path": element}, dict(op), stage.index, "patch", number
            if op.get("op") == "test":
                tested.append(str(op["path"]))
            try:
                current = patched([op], current, form=annotated.request.form)
            except Unapplied:
                break


def _elements(current: Any, op: Mapping[str, Json]) -> Iterator[str]:
    """Yield the innermost array element that an operation edits or takes away; an insertion needs no identity."""
    verb = op["op"]
    places = {"replace": ["path"], "remove": ["path"], "add": ["path"], "copy": ["path"], "move": ["from", "path"]}
    for name in places.get(verb, ()):
        split = finding.parts(op[name]) or ()
        inserts = verb in ("add", "copy") or (verb == "move" and name == "path")
        value, pointer, element = current, "", ""
        for depth, part in enumerate(split):
            last = depth == len(split) - 1
            if isinstance(value, list) and not (last and inserts):
                element = f"{pointer}/{part}"
            pointer += to_pointer((part,))
            value = finding.at(current, pointer)
        if element:
            yield element


def _described(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    """What comes out is what the description takes, as far as the suggestion had a hand in it."""
    if annotated.description is None:
        return
    before = annotated.description.breaches_of(annotated.request) or []
    known_breaches = {(breach.pointer, breach.keyword) for breach in before}
    for stage in stages(annotated):
        if stage.after is None or stage.after == stage.before:
            continue
        after = _as_request(stage.after, annotated.request)
        open_places = [str(p.get("pointer")) for p in finding.listed(stage.suggestion, "placeholders")]
        edited = [str(op["path"]) for op in finding.patch_of(stage.suggestion) if op["op"] != "test"]
        for breach in annotated.description.breaches_of(after) or ():
            if any(leads_to(place, breach.pointer) for place in open_places):
                continue
            touched = any(leads_to(place, breach.pointer) for place in edited)
            rerouted = "/path" in edited and breach.keyword == "required"
            if (touched or (breach.pointer, breach.keyword) not in known_breaches) and not rerouted:
                message = (
                    f"Suggestion {stage.index} leads to a request that the API's description refuses: {breach.message}"
                )
                yield message, f"{breach.keyword} holds at {breach.pointer}", stage.after, stage.index, "patch"


def _as_request(whole: Any, request: Request) -> Request:
    members = {name: whole.get(name) for name in _MEMBERS}
    return replace(
        request,
        method=str(members["method"]),
        path=str(members["path"]),
        query=members["query"] or {},
        headers=members["headers"] or {},
        body=members["body"],
    )


def _parameters_agree(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    """A reader without patches merges the parameters, and gets the same values."""
    bodiless = annotated.request.body is None and annotated.request.method.upper() in ("GET", "HEAD", "DELETE")
    member = "query" if bodiless else "body"
    for stage in stages(annotated):
        parameters = stage.suggestion.get("parameters")
        if stage.suggestion.get("action") != "MODIFY_PARAMS" or not isinstance(parameters, Mapping):
            continue
        if not finding.patch_of(stage.suggestion) or stage.after is None:
            continue
        for place, value in _leaves(parameters, f"/{member}"):
            patched_value = finding.at(stage.after, place)
            if (
                (patched_value is not MISSING)
                if value is None
                else (patched_value is MISSING or not same(patched_value, value))
            ):
                actual = None if patched_value is MISSING else patched_value
                sentence = (
                    f"The parameters of suggestion {stage.index} say something else at {place} than its patch does."
                )
                yield sentence, value, actual, stage.index, "parameters"


def _leaves(parameters: Mapping[str, Json], under: str) -> Iterator[tuple[str, Json]]:
    for name, value in parameters.items():
        place = under + to_pointer((name,))
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, place)
        else:
            yield place, value


def _alternatives(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    """Two suggestions that give one place different values are alternatives, and say so."""
    seen: dict[str, tuple[int, Json, Any]] = {}
    for index, suggestion in annotated.suggestions:
        for op in finding.patch_of(suggestion):
            if op["op"] not in ("add", "replace") or str(op["path"]).endswith("/-"):
                continue
            place, value = str(op["path"]), op.get("value")
            group = suggestion.get("group") if isinstance(suggestion.get("group"), Mapping) else None
            if place in seen:
                other, had, other_guards = seen[place]
                marked = group is not None and group == other_guards and group.get("relation") == "one_of"
                if other != index and not same(had, value) and not marked and not isinstance(value, dict):
                    sentence = (
                        f"Suggestions {other} and {index} give {place} different values and are no group of "
                        "the relation one_of: a reader would apply both."
                    )
                    yield sentence, "one_of", group, index
            seen.setdefault(place, (index, value, group))


def _groups(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    relations: dict[str, Json] = {}
    for index, suggestion in annotated.suggestions:
        group = suggestion.get("group")
        if group is None:
            continue
        if not isinstance(group, Mapping) or group.get("relation") not in ("all", "one_of", "sequence"):
            sentence = f"The group of suggestion {index} has no relation that there is."
            yield sentence, ["all", "one_of", "sequence"], group, index, "group"
        elif relations.setdefault(str(group.get("id")), group["relation"]) != group["relation"]:
            sentence = f"The group {group.get('id')} has two relations."
            yield sentence, relations[str(group.get("id"))], group["relation"], index, "group"


def _earned(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    for index, suggestion in annotated.suggestions:
        level = suggestion.get("applicability")
        open_ones = bool(suggestion.get("placeholders"))
        safety = suggestion.get("safety") if isinstance(suggestion.get("safety"), Mapping) else {}
        if open_ones != (level == "HAS_PLACEHOLDERS"):
            sentence = f"Suggestion {index}: HAS_PLACEHOLDERS and placeholders go together."
            yield sentence, "HAS_PLACEHOLDERS" if open_ones else "no such word", level, index, "applicability"
        if level != "MACHINE_APPLICABLE":
            continue
        if not _proven(suggestion):
            sentence = (
                f"Suggestion {index} calls itself MACHINE_APPLICABLE without evidence: neither verified, nor observed "
                "20 times with a lower bound of 0.9."
            )
            actual = {name: suggestion.get(name) for name in ("verification", "confidence") if name in suggestion}
            yield sentence, "evidence", actual, index, "applicability"
        for flag in ("changes_intent", "requires_confirmation", "loses"):
            if safety and safety.get(flag):
                sentence = f"Suggestion {index} calls itself MACHINE_APPLICABLE and says {flag} too."
                yield sentence, "neither intent changed, nor confirmation, nor loss", safety, index, "safety"


def _proven(suggestion: Mapping[str, Json]) -> bool:
    checked, confidence = suggestion.get("verification"), suggestion.get("confidence")
    if isinstance(checked, Mapping) and checked.get("status") == "verified":
        return True
    if not isinstance(confidence, Mapping) or confidence.get("basis") != "observed":
        return False
    successes, trials = confidence.get("successes"), confidence.get("trials")
    if not isinstance(successes, int) or not isinstance(trials, int) or trials < 20:
        return False
    return 0 <= successes <= trials and wilson(successes, trials) >= 0.9


def wilson(successes: int, trials: int) -> float:
    """Return the lower end of the 95 % Wilson interval."""
    share, z2 = successes / trials, _Z * _Z
    spread = _Z * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials * trials))
    return (share + z2 / (2 * trials) - spread) / (1 + z2 / trials)


def _idempotent(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    for stage in stages(annotated):
        operations = finding.patch_of(stage.suggestion)
        if stage.after is None or not operations:
            continue
        try:
            again = patched(operations, stage.after, form=annotated.request.form)
        except Unapplied:
            continue
        if not same(again, stage.after):
            sentence = f"Applied a second time, the patch of suggestion {stage.index} changes the request once more."
            yield sentence, stage.after, again, stage.index, "patch"


def _credentials(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    for index, suggestion in annotated.suggestions:
        places = [(op.get(name), op) for op in finding.patch_of(suggestion) for name in ("path", "from") if name in op]
        for place, op in places:
            split = finding.parts(place) or ()
            if split[:1] != ("headers",):
                continue
            host = split[1].lower() if len(split) > 1 else ""
            if not host or host in _CREDENTIALS:
                sentence = f"Suggestion {index} reads or changes {place}: credentials are the caller's own."
                yield sentence, "no such place", dict(op), index
            elif host in _KEYS and _reuses(op, annotated.request, host):
                sentence = f"Suggestion {index} takes away or repeats an idempotency key."
                yield sentence, "a fresh key, or none of it", dict(op), index
        for step in finding.listed(suggestion, "steps"):
            headers = step.get("headers")
            for name in headers if isinstance(headers, Mapping) else ():
                if str(name).lower() in _CREDENTIALS:
                    sentence = f"A step of suggestion {index} has the header {name}: credentials are the caller's own."
                    yield sentence, "no such header", dict(step), index


def _reuses(op: Mapping[str, Json], request: Request, name: str) -> bool:
    """Whether an idempotency key goes away, or stays what it was. A fresh one is what another request needs."""
    had = {key.lower(): value for key, value in request.headers.items()}.get(name)
    if op["op"] in ("remove", "move", "copy"):
        return True
    return op["op"] in ("add", "replace") and op.get("value") == had


def _stays_here(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    for index, suggestion in annotated.suggestions:
        paths = [
            op.get("value")
            for op in finding.patch_of(suggestion)
            if op["op"] in ("add", "replace") and op["path"] == "/path"
        ]
        paths += [step.get("path") for step in finding.listed(suggestion, "steps")]
        for path in paths:
            if not isinstance(path, str) or not path.startswith("/") or path.startswith("//") or "\\" in path:
                sentence = f"Suggestion {index} leads to what is no path on the same host."
                yield sentence, "a path that begins with one /", path, index


def _waits_only(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    for index, suggestion in annotated.suggestions:
        if finding.base_action(suggestion) == "WAIT_AND_RETRY" and any(
            not str(op["path"]).startswith("/headers/") for op in finding.patch_of(suggestion) if op["op"] != "test"
        ):
            sentence = f"Suggestion {index} says to send the same request later, and changes it."
            yield sentence, "no edit", finding.patch_of(suggestion), index


_RULES: Final = (
    ("SRF-OPS-02", _applies),
    ("SRF-OPS-01", _asked_for),
    ("SRF-OPS-05", _askable),
    ("SRF-OPS-02", _stays_here),
    ("SRF-OPS-03", _guarded),
    ("SRF-OPS-05", _described),
    ("SRF-OPS-06", _parameters_agree),
    ("SRF-OPS-06", _waits_only),
    ("SRF-OPS-07", _alternatives),
    ("SRF-OPS-07", _groups),
    ("SRF-OPS-08", _earned),
    ("SRF-OPS-10", _idempotent),
    ("SRF-OPS-11", _credentials),
)
