"""What may not be sent unasked, whatever speaks for it: vetoes, each with a name, a reason and a test.

An edit that no rule wrote is sent unasked only where two independent sources agree about it, or the answer states the
only form that the same value can have (`evidence.py`), and no veto holds. Every other edit is kept and has to be
confirmed. Of an edit that says of itself that it changes what was asked, the vetoes alone decide: many readers send it.

Values are never invented, nothing is lost unsaid, money and rights are never guessed: these laws are computed from the
edit itself (`intent.py`, `rules/safety/`), before any evidence is weighed.

Knows: one refusal, the edits for it, the evidence. Does not know: how an edit was made.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final, NamedTuple

from corrigible.adapters.formats.sent_places import sent_places
from corrigible.adapters.formats.statement import has_word
from corrigible.rules.engine.evaluate import RuleResult
from corrigible.rules.language.rule import Rule
from corrigible.rules.pointer import MISSING, segments, to_pointer, value_at
from corrigible.rules.safety.decisive import is_decisive, word_set, words
from corrigible.rules.safety.equivalence import is_same_value
from corrigible.rules.safety.nearness import is_plural, is_same, is_slip, letters
from corrigible.rules.schema_repair.first_violation import first_violation
from corrigible.rules.schema_repair.json_schema import choices, types
from corrigible.rules.schema_repair.suggestion import RepairSource, confirmed
from corrigible.rules.violation import Violation
from corrigible.rules.wordings import Kind, read
from corrigible.rules.wordings.tokens import Tokens, tokens_of
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Protocol

from .api_profile import RefusalCase
from .evidence import MOST_TEXTS, Change, Edit, Evidence, Refused, is_choice, is_scalar, is_within
from .request_at_fault import OF_UNKNOWN, may_be_about_names, misses_something, refuses_a_member, says_little


class Veto(NamedTuple):
    """One reason why an edit has to be confirmed."""

    name: str
    reason: str
    holds: Callable[[Edit], bool]
    of_all: bool = True
    """Whether it holds as well of an edit that says of itself that it changes what was asked."""


def _is_elsewhere(edit: Edit) -> bool:
    is_of_content = all(one.startswith(("/body/", "/query/")) for one in edit.places)
    is_guessed = not edit.error.pointer or bool(edit.error.likely)
    if is_of_content and is_guessed and (_is_said_of_another(edit) or _is_unread(edit)):
        return True
    told = edit.error.pointer
    likely = [one.pointer for one in edit.error.likely[:2] if one.is_told and one.probability > _LIKELY]
    if not told and likely and is_of_content:  # one of two that the text names, and neither is edited
        return not any(is_within(place, one) for place in likely for one in edit.places)
    is_elsewhere = told.count("/") > 1 and not any(is_within(told, one) for one in edit.places)
    return is_of_content and is_elsewhere and edit.evidence.isdisjoint({Evidence.NAMED, Evidence.UNPLACED})


def _is_said_of_another(edit: Edit) -> bool:
    """Whether a sentence is about a member that was sent, by its name, and an edit is at none of that name."""
    said = {letters(one) for told in read(edit.error.message).said for one in told.slots.get("field", ())}
    sent = {letters(one.path[-1]) for one in islice(sent_places(edit.refused.request), MOST_TEXTS)}
    edited = {letters(name) for place in edit.places for name in segments(place)}
    return not said.isdisjoint(sent) and said.isdisjoint(edited)


def _is_unread(edit: Edit) -> bool:
    """Whether nothing is read of a text that may be about anything, and an edit changes a name."""
    is_told = not edit.error.likely or edit.error.likely[0].is_told
    text = edit.error.message
    is_open = not is_told and not read(text).said and not may_be_about_names(text)
    return is_open and any(one.is_rename for one in edit.changes)


def _is_known_name(edit: Edit) -> bool:
    return any(one.is_rename and _is_known_to_the_server(one, edit) for one in edit.changes)


def _is_told_otherwise(edit: Edit) -> bool:
    """Whether the answer has another declared name or allowed value instead of what an edit sends."""
    said = tokens_of(edit.error.message)
    return any(_has_another(change, edit.refused, said) for change in edit.changes)


def _has_another(change: Change, refused: Refused, said: Tokens) -> bool:
    if change.is_move:
        holder = value_at(refused.request, change.source.rpartition("/")[0])
        sent = frozenset(holder) if isinstance(holder, Mapping) else frozenset()
        meant = {*segments(change.place), *change.names()}.difference(segments(change.source))
        others = (one for one in refused.declared(change.source).siblings if one not in meant and one not in sent)
        told = [one for one in islice(others, MOST_TEXTS) if said.mention(one) is not None]
        return bool(told) and not any(said.mention(one) for one in meant)
    if not isinstance(change.old, str) or not isinstance(change.new, str):
        return False
    allowed = [one for one in choices(refused.schema(change.place)) if isinstance(one, str)]
    told = [one for one in islice(allowed, MOST_TEXTS) if one not in (change.new, change.old) and said.find(one) >= 0]
    return bool(told) and said.find(change.new) < 0


def _is_undeclared_name(edit: Edit) -> bool:
    """Whether a member gets another spelling that the description declares no more than the one that was sent."""
    renames = [one for one in edit.changes if one.is_rename and one.place.startswith("/body/")]
    declared = ((segments(one.place)[-1], edit.refused.declared(one.place)) for one in renames)
    return any(one.siblings and not one.schema and name not in one.siblings for name, one in declared)


def _is_known_to_the_server(change: Change, edit: Edit) -> bool:
    """Whether the answer speaks of the value under the name that was sent, and does not call it unknown.

    Or writes the name as no description does, where the spelling is all that an edit changes.
    """
    name, meant, text = segments(change.source)[-1], segments(change.place)[-1], edit.refused.text
    if edit.error.constraint in OF_UNKNOWN or refuses_a_member(text):
        return False
    if has_word(text, meant) or (edit.error.pointer == change.place and not edit.error.likely):
        return False
    if is_same(name, meant) and f" {letters(meant)} " in edit.refused.words:
        return True
    return has_word(text, name)


def _is_made_text(edit: Edit) -> bool:
    made = [one for one in edit.changes if not one.is_move and isinstance(one.old, int | float)]
    made = [one for one in made if isinstance(one.new, str)]
    return not all(_asks_for_text(one, edit) for one in made)


def _asks_for_text(change: Change, edit: Edit) -> bool:
    """Whether the answer says that a value has to be a text, or of a number that this one is what is wrong."""
    error, refused = edit.error, edit.refused
    if isinstance(change.old, bool):
        return bool(choices(refused.schema(change.place)))  # any other text is hardly ever the word `true`
    is_of_call = refused.request.protocol is Protocol.GRPC
    if is_of_call and isinstance(change.old, float) and change.old.is_integer():
        return False  # protobuf has no other numbers in a Struct: `7` and `7.0` are two texts of one
    if error.pointer == change.place and (error.stated.get("type") == "string" or error.constraint == "type"):
        return True
    if {Evidence.NAMED, Evidence.QUOTED} <= edit.evidence:
        return True
    if error.pointer.count("/") > 1 and error.pointer != change.place:
        return False  # what is said of another place is not said here
    is_meant = Evidence.NAMED in edit.evidence or has_word(refused.text, scalar_text(change.old))
    return is_meant and any(f" {word} " in refused.words for word in ("string", "strings", "text", "str", "texts"))


def _lacks_a_form(edit: Edit) -> bool:
    for one in edit.changes:
        if not one.is_move and is_scalar(one.old) and not isinstance(one.old, str) and isinstance(one.new, str):
            schema = edit.refused.schema(one.place)
            if not _OF_A_FORM.isdisjoint(words(_name(one.place))) and not {"format", "pattern"} & schema.keys():
                return True
    return False


def _is_restructured(edit: Edit) -> bool:
    is_told = {Evidence.STATED, Evidence.NAMED} <= edit.evidence and edit.error.pointer != "/body"
    is_told = is_told and not any(one.is_move and isinstance(one.new, Mapping) for one in edit.changes)
    is_seen = not edit.evidence.isdisjoint({Evidence.DECLARED, Evidence.BROKEN})
    return not is_told and not is_seen and any(map(_changes_shape, edit.changes))


def _changes_shape(change: Change) -> bool:
    """Whether a value is put into a list or object, or taken out of one, or moved to another level."""
    if change.is_move:
        return not change.is_rename
    return len({_shape(one) for one in (change.old, change.new) if one is not MISSING}) > 1


def _is_strange_there(edit: Edit) -> bool:
    return any(_is_no_element(one, edit) for one in edit.changes)


def _is_no_element(change: Change, edit: Edit) -> bool:
    schema = edit.refused.schema(change.place)
    if change.is_move:  # out of a list that it is the only element of
        known = schema.get("properties") if change.source == f"{change.place}/0" else None
        return isinstance(change.new, Mapping) and isinstance(known, Mapping) and change.new.keys().isdisjoint(known)
    if isinstance(change.new, list) and len(change.new) == 1 and change.new[0] is change.old:
        inner = schema.get("items")
        if not schema and is_scalar(change.old):
            return True  # nobody says what an element has to be
        known = inner.get("properties") if isinstance(inner, Mapping) else None
        return isinstance(change.old, Mapping) and isinstance(known, Mapping) and change.old.keys().isdisjoint(known)
    if isinstance(change.new, Mapping) and is_scalar(change.old) and change.old in change.new.values():
        required, members = schema.get("required"), schema.get("properties")
        is_missing = isinstance(required, list) and not set(required) <= change.new.keys()
        is_chosen = isinstance(members, Mapping) and len(members) > 1 and not any(map(edit.refused.has, change.new))
        return is_missing or is_chosen
    return False


def _leaves_another(edit: Edit) -> bool:
    return any(_leaves(one, edit) for one in edit.changes)


def _leaves(change: Change, edit: Edit) -> bool:
    """Whether an edit mends one value or name, and leaves one that is likely wrong in the same way."""
    refused = edit.refused
    if change.is_rename:
        return any(keyword in OF_UNKNOWN for _, keyword in refused.broken(refused.after_all))
    if change.is_move or not is_scalar(change.old) or not is_scalar(change.new):
        return False
    *parent, last = segments(change.place)
    beside = value_at(refused.request, to_pointer(parent))
    if last.isdecimal() and type(change.old) is not type(change.new) and isinstance(beside, list):
        others = (f"{to_pointer(parent)}/{index}" for index, one in enumerate(beside) if type(one) is type(change.old))
        return any(one not in refused.edited for one in others)
    if not isinstance(change.old, str) or not isinstance(change.new, str) or not _is_encoded(change):
        return False
    form = _form(refused.schema(change.place))
    others = (
        to_pointer(one.path) for one in islice(sent_places(refused.request), MOST_TEXTS) if isinstance(one.value, str)
    )
    return any(one not in refused.edited and _form(refused.schema(one)) == form for one in others)


def _does_not_fit(edit: Edit) -> bool:
    """Whether what was sent lacks what another method takes or has what it does not take, or a body in another form."""
    refused = edit.refused
    if "/method" in edit.places:
        return not refused.fits(edit.suggestion)
    is_form = "/body" in edit.places and any(one.startswith("/headers/") for one in edit.places)
    return is_form and any(keyword == "required" for _, keyword in refused.broken(refused.after_all))


def _is_another_word(edit: Edit) -> bool:
    for one in edit.changes:
        if one.place == "/path" and isinstance(one.old, str) and isinstance(one.new, str):
            old, new = one.old.translate(_PARTS).split("/"), one.new.translate(_PARTS).split("/")
            return Evidence.SEEN not in edit.evidence and len(old) == len(new) and any(map(_is_unlike, old, new))
    return False


def _is_unlike(old: str, new: str) -> bool:
    """Whether a word is replaced by one that is no other spelling, form, or part of it."""
    first, other = letters(old), letters(new)
    if is_same(old, new) or is_slip(old, new) or is_plural(old, new) or first in other or other in first:
        return False
    shorter = min(len(first), len(other))
    return first[: (shorter + 1) // 2] != other[: (shorter + 1) // 2]


def _is_slip_in_another_case(edit: Edit) -> bool:
    for one in edit.changes:
        if one.is_move or not isinstance(one.old, str) or not isinstance(one.new, str) or "/" in one.new:
            continue
        is_other_case = (one.old.islower() and one.new.isupper()) or (one.old.isupper() and one.new.islower())
        is_part = letters(one.old) in letters(one.new)  # `ketch` of `RIG_KETCH`
        if is_other_case and not is_part and not has_word(edit.refused.text, one.new):
            return True
    return False


def _is_another_truth_word(edit: Edit) -> bool:
    words = [one for one in edit.changes if isinstance(one.new, str) and not one.is_move]
    words = [one for one in words if "boolean" in types(edit.refused.schema(one.place))]
    return any(one.new not in ("true", "false") for one in words)


def _is_contradicted(edit: Edit) -> bool:
    """Whether a sentence of the answer states for the same place what the new value is not.

    Of a text that holds an object or list as JSON a sentence may state what is inside.
    """
    changes = [one for one in edit.changes if not one.is_move and one.new is not MISSING]
    changes = [one for one in changes if not (isinstance(one.new, str) and one.new.startswith(("[", "{")))]
    stated = [(one.pointer, one.stated) for one in edit.refused.case.errors if one.stated]
    pairs = ((one, other) for one in changes for place, other in stated if place == one.place)
    return any(
        first_violation(one.new, other, text=not one.place.startswith("/body")) is not None for one, other in pairs
    )


def _is_placed_by_words(edit: Edit) -> bool:
    """Whether another value is written where only words of the answer tell the place, and what has to be there."""
    if not edit.error.likely or not edit.evidence.isdisjoint({Evidence.DECLARED, Evidence.SEEN, Evidence.BROKEN}):
        return False
    # A format has the name, and the text the value: a number is refused again if it is wrong, a text hardly ever.
    is_told = Evidence.QUOTED in edit.evidence and not _TOLD.isdisjoint(edit.error.likely[0].why)
    numbers = [one for one in edit.changes if is_told and isinstance(one.new, int | float)]
    return any(not one.is_move and not one.is_near for one in edit.changes if one not in numbers)


def _is_filled_in(edit: Edit) -> bool:
    """Whether a value is added that nobody sent, and a text that says something does not say that it is missing."""
    added = [one for one in edit.changes if one.old is MISSING and one.new not in ({}, []) and not one.is_move]
    is_told = edit.error.constraint == "required" and not edit.error.likely
    if is_told or not any(one.place.startswith(("/body/", "/query/")) for one in added):
        return False
    message = edit.error.message.strip() or edit.refused.text
    missed = read(message).of(Kind.MISSING)
    of_another = {letters(name) for one in missed for name in one.slots.get("field", ())}
    if of_another and of_another.isdisjoint(letters(segments(one.place)[-1]) for one in added):
        return True
    is_said = bool(missed) or misses_something(message)
    is_named = any(tokens_of(message).mention(segments(one.place)[-1]) is not None for one in added)
    return not is_said and bool(message.strip()) and (is_named or not says_little(message))


def _is_more(edit: Edit) -> bool:
    """Whether more may be asked for than was: a larger number, the other truth value, other words, another time."""
    values = [one for one in edit.changes if one.place.startswith(("/body/", "/query/")) and not one.is_move]
    if edit.is_flagged:  # the only value that there is, or a text cut to its length, is no more than was asked for
        values = [one for one in values if "const" not in edit.refused.schema(one.place) and not _is_cut(one)]
    return any(_is_raised(one, is_flagged=edit.is_flagged) for one in values)


def _is_decisive(edit: Edit) -> bool:
    """Whether another amount, right or person is put where one was sent: a limit that the answer states is no wish."""
    return any(is_decisive(_name(one.place), edit.refused.request) for one in _other_values(edit))


def _is_no_wish(edit: Edit) -> bool:
    """Whether the answer alone states one number in place of another, or how many there may be."""
    if Evidence.DECLARED in edit.evidence:
        return False
    if edit.error.stated and edit.refused.case.exchange.status == _CONFLICT:
        return True  # it is what is left of something
    numbers = [one for one in _other_values(edit) if _number(one.new) is not None]
    is_said = all(has_word(edit.error.message, scalar_text(one.new)) for one in numbers)
    is_limit = bool(choices(edit.error.stated) or read(edit.error.message).of(Kind.LIMIT))
    return bool(numbers) and (is_limit or not is_said)


def _other_values(edit: Edit) -> list[Change]:
    """Return the changes that put another value where one was sent, of an edit that says that it changes the intent."""
    if not edit.is_flagged:
        return []
    return [one for one in edit.changes if not one.is_move and not is_same_value(one.old, one.new)]


def _is_cut(change: Change) -> bool:
    is_text = isinstance(change.old, str) and isinstance(change.new, str)
    return is_text and bool(kept := str(change.new).rstrip(".\u2026")) and str(change.old).startswith(kept)


def _is_raised(change: Change, *, is_flagged: bool) -> bool:
    old, new = change.old, change.new
    if MISSING in (old, new) or is_same_value(old, new):
        return False
    before, after = _number(old), _number(new)
    if before is not None and after is not None:
        return after > before
    if not is_flagged or isinstance(new, Mapping | list) or str(new).removesuffix(str(old)).endswith("/"):
        return False  # `https://` before an address, `/books/` before a name
    return not change.is_near or any(map(str.isdecimal, f"{old}{new}"))


def _number(value: Json) -> float | None:
    """Return a number, or that of a text which is one."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    with suppress(ValueError):
        return float(value) if isinstance(value, str) else value
    return None


VETOES: Final = (
    Veto("elsewhere", "the answer tells another place", _is_elsewhere, False),
    Veto("known name", "the answer shows the name that was sent as one that it knows", _is_known_name, False),
    Veto(
        "told otherwise", "the answer has another of the names or values that are described", _is_told_otherwise, False
    ),
    Veto("undeclared name", "a member gets a name that is not described either", _is_undeclared_name, False),
    Veto("made a text", "a number or truth value becomes a text, and none was asked for there", _is_made_text, False),
    Veto("restructured", "what holds a value changes, and only one source says so", _is_restructured, False),
    Veto("contradicted", "the answer states something else for the same place", _is_contradicted),
    Veto("strange", "a value is put where what an API wants has other members", _is_strange_there, False),
    Veto("another left", "another value of the same kind stays as it is", _leaves_another, False),
    Veto("form", "a number becomes a text that no number is: a span, a date, an address, a kind", _lacks_a_form),
    Veto("misfit", "another method or form would be sent what it does not take, or lack what it needs", _does_not_fit),
    Veto("another word", "a word of the path becomes one that is no spelling of it", _is_another_word),
    Veto("two changes", "a value is near in other letters and another case", _is_slip_in_another_case),
    Veto("truth word", "a truth value would be a word that is not true or false", _is_another_truth_word),
    Veto("words alone", "only words of the answer tell the place, and what has to stand there", _is_placed_by_words),
    Veto("filled in", "a value is added that nobody sent, and the answer misses none", _is_filled_in),
    Veto("decides", "another amount, right or person is put where one was sent", _is_decisive),
    Veto("no wish", "only the answer states this number, or how many there may be", _is_no_wish),
    Veto("more", "more may be asked for than was: an amount, a time, a right", _is_more),
)
"""Laws 4 to 8 of the design: no invented values, nothing lost unsaid, near is not enough where it is not alone."""


def gated(case: RefusalCase, matched: Sequence[tuple[RuleResult, Violation]]) -> list[RuleResult]:
    """Return the results of one refusal, with a confirmation where an edit may not be sent unasked."""
    refused = Refused(case, [result for result, _ in matched])
    return [_gated(refused, result, error) for result, error in matched]


def _gated(refused: Refused, result: RuleResult, error: Violation) -> RuleResult:
    if isinstance(result.rule, Rule) or (isinstance(result.rule, RepairSource) and result.rule.is_weighed):
        return result  # its author has said what is sure, and has cases for it
    suggestions = [
        confirmed(one) if is_unasked(one) and not may_be_sent(Edit(refused, one, result, error)) else one
        for one in result.suggestions
    ]
    if all(one is other for one, other in zip(suggestions, result.suggestions, strict=True)):
        return result
    return result.with_suggestions(suggestions)


def may_be_sent(edit: Edit) -> bool:
    """Whether an edit may be sent unasked."""
    is_vetoed = any(one.holds(edit) for one in VETOES if one.of_all or not edit.is_flagged)
    return (edit.is_flagged or edit.is_enough) and not is_vetoed


def is_unasked(suggestion: Mapping[str, Any]) -> bool:
    """Whether a reader may apply an edit without asking."""
    safety = suggestion.get("safety") or {}
    is_edit = bool(suggestion.get("patch")) and not suggestion.get("placeholders")
    return is_edit and not is_choice(suggestion) and not safety.get("requires_confirmation")


def _shape(value: Json) -> str:
    return "list" if isinstance(value, list) else "object" if isinstance(value, Mapping) else "scalar"


def _form(schema: Mapping[str, Json]) -> Json:
    return schema.get("format") or schema.get("contentEncoding")


def _name(place: str) -> str:
    return next((one for one in reversed(segments(place)) if not one.isdecimal()), "")


def _is_encoded(change: Change) -> bool:
    """Whether an edit writes the base64 of what was sent."""
    encoded = base64.b64encode(str(change.old).encode()).decode().rstrip("=")
    return str(change.new).translate(_URL_SAFE).rstrip("=") == encoded


_URL_SAFE: Final = str.maketrans("-_", "+/")
_CONFLICT: Final = 409
_LIKELY: Final = 0.2
_TOLD: Final = frozenset({"told whole", "told by all its names"})
_PARTS: Final = str.maketrans(":.", "//")
_OF_A_FORM: Final = word_set(
    "duration timeout interval ttl delay period lifetime lease wait backoff retention"
    " date datetime timestamp time day since until deadline expiry"
    " url urls uri uris href link links webhook callback endpoint address host hostname target targets email mail"
    " ref refs reference references path paths file files filename filenames folder directory pattern regex cron"
    " type types kind mode status state phase lifecycle role language locale encoding unit currency algorithm protocol"
)
"""Words of names of texts that no number is: `5m`, `2026-03-01`, an address, a reference, one of some words."""
