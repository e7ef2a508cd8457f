"""Validates that suggestions declare changes of intent, losses, side effects and guesses (SRF-OPS-09, 12, 13, 14).

What an edit loses is worked out from the two documents alone, whoever made the edit and whatever it says of itself.
A similar value is used only if no other is as similar and little depends on it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from rapidfuzz.distance import OSA

from corrigible.conformance.validators import finding
from corrigible.conformance.validators.edit import Stage, document, invalid, leads_to, same, stages
from corrigible.conformance.validators.trust import is_safe
from corrigible.schema.document import MISSING, Leaf, leaves
from corrigible.schema.exchange import Json

MEMBERS: Final = ("query", "body")
"""Where a caller's values stand. Methods, paths and headers are how they are carried."""
_JOINTS: Final = re.compile(r"[\s,;:/|&=+\"'\[\]{}-]+")
_STORED: Final = re.compile(r"(?i)resource_?version|revision|generation|etag")
_TOKEN: Final = re.compile(r"(?i)version|revision|generation|etag|sha\b")
_LETTER: Final = re.compile("[A-Za-z]")
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_SLIPS: Final = 3
"""Characters that may be too many at the end of a text by mistake."""
_PROSE: Final = 8
"""Characters of a text of people that is left: words and paths have abbreviations, which are other spellings."""
_LEAST: Final = 3
"""Characters from which on a text that is part of another one is found there by no accident."""


def lost_values(
    before: Mapping[str, Any], after: Mapping[str, Any], *, looked_up: bool = False, steps: Iterable[Json] = ()
) -> list[str]:
    """Return the pointers of the values of `before` that `after` holds neither there nor anywhere else.

    A value is kept where it was moved, renamed, written in another form, joined with others or split up; where an array
    holds the same element once more; where the path or one of the `steps` has it; and where its place holds what may be
    the same, put right: which texts are near is another question. Another number, the opposite and a text cut short are
    none of that. `looked_up`: live state may say which number is meant, and what a name stands for.
    """
    changed = [
        (place, value)
        for place, value in request_leaves(before)
        # Where nothing is cleared, null is no value (SPEC 1.10).
        if not _equal(before, after, place) and (value is not None or before.get("method") == "PATCH")
    ]
    fresh = {place: value for place, value in request_leaves(after) if not _equal(before, after, place)}
    fresh |= _elsewhere(before, after, steps)
    unclaimed: dict[str, list[str]] = {}
    for place, value in fresh.items():
        unclaimed.setdefault(text(value), []).append(place)
    left = [(place, value) for place, value in changed if not _claimed(unclaimed, place, text(value))]
    open_places = {place for places in unclaimed.values() for place in places}
    whole = "".join(_bare(text(value)) for value in fresh.values())
    lost_pointers = []
    for place, value in left:
        if place in open_places:
            is_lost = _is_another(value, fresh[place], place.rpartition("/")[2], numbers=not looked_up)
        elif isinstance(value, Mapping | list):
            is_lost = finding.at(after, place) is MISSING  # what was empty may be filled
        else:
            is_same = _is_first(before, place) or _is_json_of(value, finding.at(after, place))
            is_lost = not (is_same or _repeated(before, after, place))
        if is_lost and not _contained(text(value), unclaimed, whole):
            if looked_up and _stood_for(value, place, fresh, unclaimed):
                continue
            lost_pointers.append(place)
    return lost_pointers


def _is_json_of(value: Json, now: Json) -> bool:
    """Whether a text says in JSON (RFC 8259) the object or list that its place holds now."""
    try:
        return isinstance(value, str) and isinstance(now, Mapping | list) and json.loads(value) == now
    except (ValueError, RecursionError):
        return False


def _elsewhere(before: Mapping[str, Any], after: Mapping[str, Any], steps: Iterable[Json]) -> dict[str, Json]:
    """Return what paths hold that the first one did not, and what the requests hold that are sent before."""
    had = set(str(before.get("path")).split("/"))
    out: dict[str, Json] = {}
    for number, request in enumerate((after, *steps)):
        if not isinstance(request, Mapping):
            continue
        for index, part in enumerate(str(request.get("path")).split("/")):
            if part not in had:
                out[f"/path/{number}/{index}"] = unquote(part)
        if number:
            out |= {f"/steps/{number}{place}": value for place, value in request_leaves(request)}
    return out


def _is_first(before: Mapping[str, Any], place: str) -> bool:
    """Whether it is the version of what a POST stores for the first time."""
    return before.get("method") == "POST" and _STORED.fullmatch(place.rpartition("/")[2]) is not None


def _stood_for(value: Json, place: str, fresh: Mapping[str, Json], unclaimed: dict[str, list[str]]) -> bool:
    """Take a new value that may be what another one names. What a look-up showed cannot be seen here."""
    inside = "/".join(place.split("/")[:2])
    for form, places in list(unclaimed.items()):
        new = fresh[places[0]]
        names_both = isinstance(value, str | int) and isinstance(new, str | int) and _LETTER.search(f"{value}{new}")
        if names_both and place not in fresh and any(place.startswith(f"{inside}/") for place in places):
            _claimed(unclaimed, places[0], form)
            return True
    return False


def _claimed(unclaimed: dict[str, list[str]], place: str, form: str) -> bool:
    """Take a new place that says the same as what stood at a place: itself before any other."""
    places = unclaimed.get(form)
    if not places:
        return False
    places.remove(place if place in places else places[0])
    if not places:
        del unclaimed[form]
    return True


def _is_another(old: Json, new: Json, name: str, *, numbers: bool) -> bool:
    """Whether a value gave way to one that cannot be the same, put right."""
    if _TOKEN.search(name):
        return False  # which version of a thing is meant is nothing that anybody wishes
    was, is_now = text(old), text(new)
    if _NUMBER.fullmatch(was) and _NUMBER.fullmatch(is_now):
        return numbers and _digits(was) != _digits(is_now)  # milliseconds are seconds, cents are euros
    if {was, is_now} == {"true", "false"}:
        return True
    return " " in was and len(is_now) >= _PROSE and was.startswith(is_now) and len(was) - len(is_now) > _SLIPS


def _digits(number: str) -> str:
    """Return the digits that stay in another unit of ten, a hundred, a thousand."""
    return number.replace(".", "").strip("0")


def request_leaves(document: Mapping[str, Any]) -> Iterator[Leaf]:
    """Yield every scalar and every empty object or array of the query and the body, with its pointer."""
    for member in MEMBERS:
        value = document.get(member)
        if value not in (None, {}):
            yield from leaves(value, f"/{member}")


def text(value: Json) -> str:
    """Return what a scalar says, however it is written: 5, 5.0 and "5"; true and "True"."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number(value)
        case str():
            stripped = value.strip()
            try:
                return _number(int(stripped)) if stripped.lstrip("+-").isdecimal() else _number(float(stripped))
            except (ValueError, OverflowError):
                return stripped.casefold()
        case _:
            return "[]" if isinstance(value, list) else "{}"


def _number(value: int | float) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return str(value)


def _bare(form: str) -> str:
    return _JOINTS.sub("", form)


def _contained(form: str, others: Iterable[str], whole: str) -> bool:
    """Whether a text was joined to others, or was split up in order."""
    if len(form) >= _LEAST and any(form in other for other in others):
        return True
    bare_form = _bare(form)
    if bare_form and any(_bare(other) == bare_form for other in others):
        return True  # the same letters and digits
    return len(bare_form) >= _LEAST and bare_form in whole


def _equal(before: Mapping[str, Any], after: Mapping[str, Any], pointer: str) -> bool:
    return same(finding.at(before, pointer), finding.at(after, pointer))


def _repeated(before: Mapping[str, Any], after: Mapping[str, Any], pointer: str) -> bool:
    """Whether a value stood in an element of an array that was there twice and still is once."""
    split = pointer.split("/")
    for depth in range(len(split) - 1, 1, -1):
        array = finding.at(before, "/".join(split[:depth]))
        if not isinstance(array, list):
            continue
        left = finding.at(after, "/".join(split[:depth]))
        element = finding.at(before, "/".join(split[: depth + 1]))
        if isinstance(left, list) and any(same(leaf, element) for leaf in left):
            return True
    return False


_LIMITS: Final = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("maxLength", "maxItems", "minItems", "uniqueItems"),
    }
)
"""Keywords whose repair is another value than the one that was asked for."""


def _flagged(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    """A clamp, a cut: not what was asked for, and it says so."""
    limits: dict[str, str] = {}
    if annotated.description is not None:
        for breach in annotated.description.breaches_of(annotated.request) or ():
            if breach.keyword in _LIMITS:
                limits[breach.pointer] = breach.keyword
    for stage in stages(annotated):
        safety = stage.suggestion.get("safety")
        if stage.after is None or _says(stage, "changes_intent"):
            continue
        for op in finding.patch_of(stage.suggestion):
            reason = _other(op, stage, limits)
            if reason:
                sentence = f"Suggestion {stage.index} {reason}, which is not what was asked for, and does not say so."
                yield sentence, {"changes_intent": True}, safety, stage.index, "safety"


def _other(op: Mapping[str, Json], stage: Stage, limits: Mapping[str, str]) -> str:
    place, verb = str(op["path"]), op["op"]
    old, new = finding.at(stage.before, place), op.get("value")
    for limited, keyword in limits.items():
        if verb in ("replace", "remove", "add") and leads_to(limited, place) and old is not MISSING:
            return f"changes {place} because of {keyword}"
    value = place.startswith(("/body/", "/query/"))
    if value and verb == "replace" and isinstance(old, str) and isinstance(new, str) and _is_cut(old, new):
        return f"cuts {place} short"
    return ""


def _is_cut(old: str, new: str) -> bool:
    """Whether a text of people lost its end. Words and paths have abbreviations: those are other spellings."""
    return " " in old and len(new) >= 8 and old.startswith(new)


def _harmless(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    """Nothing that a suggestion has a reader send changes anything, where it says so."""
    for stage in stages(annotated):
        suggestion = stage.suggestion
        safety = suggestion.get("safety")
        if (
            not isinstance(safety, Mapping)
            or safety.get("side_effects") != "none"
            or finding.base_action(suggestion) in finding.TERMINAL
        ):
            continue
        for sent in [*finding.listed(suggestion, "steps"), stage.after or stage.before]:
            method = str(sent.get("method"))
            if not is_safe(method) and not _tries(sent.get("query")):
                sentence = f"Suggestion {stage.index} says that it has no side effects, and leads to a {method}."
                yield sentence, {"side_effects": "possible|certain"}, dict(safety), stage.index, "safety"
                break


def _tries(query: Json) -> bool:
    """Whether a request asks only to be tried."""
    parameters = query if isinstance(query, Mapping) else {}
    return str(parameters.get("dry_run")).lower() == "true" or parameters.get("dryRun") == "All"


def _unnamed(annotated: finding.AnnotatedError) -> Iterator[tuple[Stage, list[str], list[str]]]:
    """Yield what each suggestion puts something else for, and what it drops, without naming it."""
    sent = dict(request_leaves(document(annotated.request)))
    for stage in stages(annotated):
        if stage.after is None:
            continue
        evidence, loses = stage.suggestion.get("evidence"), _loses(stage)
        looked_up = isinstance(evidence, Mapping) and bool(evidence.get("lookups"))
        steps = finding.listed(stage.suggestion, "steps")
        lost = lost_values(stage.before, stage.after, looked_up=looked_up, steps=steps)
        missing = [one for one in lost if one in sent and not any(leads_to(str(p), one) for p in loses)]
        overwritten = [one for one in missing if not _says(stage, "changes_intent") and _is_there(stage.after, one)]
        yield stage, overwritten, [one for one in missing if one not in overwritten]


def _is_there(whole: Json, pointer: str) -> bool:
    return finding.at(whole, pointer) is not MISSING


def _says(stage: Stage, flag: str) -> bool:
    safety = stage.suggestion.get("safety")
    return isinstance(safety, Mapping) and safety.get(flag) is True


def _loses(stage: Stage) -> list[Json]:
    """Return what a suggestion says that it loses."""
    safety = stage.suggestion.get("safety")
    loses = safety.get("loses") if isinstance(safety, Mapping) else None
    return loses if isinstance(loses, list) else []


def _overwritten(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    """What takes the place of a value that was sent is another wish, and the suggestion says so."""
    for stage, places, _ in _unnamed(annotated):
        if places:
            sentence = f"Suggestion {stage.index} puts something else at {', '.join(places[:3])}, and does not say so."
            yield sentence, {"changes_intent": True}, stage.suggestion.get("safety"), stage.index, "safety"


def _accounted(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    """Every value that was sent survives, or the suggestion names it and says that the intent changes."""
    for stage, _, missing in _unnamed(annotated):
        safety, loses = stage.suggestion.get("safety"), _loses(stage)
        if missing:
            places = ", ".join(missing[:3])
            sentence = f"What stood at {places} is nowhere after suggestion {stage.index}, and it does not say so."
            yield sentence, {"loses": missing[:10]}, safety, stage.index, "safety"
        if loses and not _says(stage, "changes_intent"):
            sentence = f"Suggestion {stage.index} names what it loses, and does not say that this changes the intent."
            yield sentence, {"changes_intent": True}, safety, stage.index, "safety"
        for pointer in loses:
            if finding.parts(pointer) is None or not _is_there(document(annotated.request), pointer):
                sentence = f"Suggestion {stage.index} says that it loses what the request does not hold."
                yield sentence, "a pointer into the refused request", pointer, stage.index, "safety"


DECISIVE: Final = frozenset(
    {"currency", "amount", "account", "customer", "role", "permission", "visibility", "private", "force"}
)
"""Names on which money, identity, permission, deletion or visibility hangs, whoever decides what else does."""


def _guesses(annotated: finding.AnnotatedError) -> Iterator[finding.Wrong]:
    """A guess is not passed off as knowledge. What is near is known by the description's own lists."""
    if annotated.description is None:
        return
    for stage in stages(annotated):
        suggestion = stage.suggestion
        group = suggestion.get("group")
        choice = isinstance(group, Mapping) and group.get("relation") == "one_of"
        for op in finding.patch_of(suggestion):
            old, new, place = finding.at(annotated.request.document(), op["path"]), op.get("value"), str(op["path"])
            if op["op"] != "replace" or not isinstance(old, str) or not isinstance(new, str):
                continue
            if _letters(old) == _letters(new):
                continue  # another spelling of the same is no guess
            schema = annotated.description.schema_at(annotated.request, place)
            listed = schema.get("enum") if schema is not None else None
            if not isinstance(listed, list) or new not in listed:
                continue
            rivals = [value for value in as_near(old, listed) if value != new]
            if rivals and not choice:
                sentence = f"Suggestion {stage.index} takes {new} for {old}, though {rivals[0]} is as near."
                yield sentence, "a group one_of, or a question", dict(op), stage.index
            if _words(place) & DECISIVE and not _says(stage, "requires_confirmation"):
                sentence = f"Suggestion {stage.index} guesses at {place}, on which much hangs, and asks nobody."
                yield sentence, {"requires_confirmation": True}, suggestion.get("safety"), stage.index


def as_near(text: str, candidates: Sequence[Any]) -> list[str]:
    """Return the candidates at the least distance from a text, and those that go on from it where any does."""
    texts = [value for value in candidates if isinstance(value, str)]
    plain = {value: _letters(value) for value in texts}
    if not texts:
        return []
    target_letters = _letters(text)
    going_on = [value for value in texts if len(target_letters) > 1 and plain[value].startswith(target_letters)]
    if going_on:
        return going_on
    least = min(OSA.distance(target_letters, plain[value]) for value in texts)
    return [value for value in texts if OSA.distance(target_letters, plain[value]) == least]


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).casefold()


def _words(pointer: str) -> frozenset[str]:
    name = (finding.parts(pointer) or ("",))[-1]
    return frozenset(re.split(r"[\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))


_RULES: Final = (
    ("SRF-OPS-09", _flagged),
    ("SRF-OPS-09", _overwritten),
    ("SRF-OPS-12", _harmless),
    ("SRF-OPS-13", _accounted),
    ("SRF-OPS-14", _guesses),
)


def judge(annotated: finding.AnnotatedError) -> Iterator[finding.Finding]:
    """Yield where a suggestion does not name what it does, or guesses. What is no patch has no outcome."""
    if not any(invalid(annotated)):
        yield from annotated.judged(_RULES)
