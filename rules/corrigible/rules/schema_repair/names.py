"""Members that are not declared, and members that are missing.

What has an undeclared name is renamed to a near declared one, moved to where it is declared, or left out. What is
missing may be there under another name; what the description settles is sent; anything else is asked for. Of an object
that has none of several forms, the member that all require is missing, or one choice for each form is offered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

from corrigible.rules.budget import spend
from corrigible.rules.functions.builtin import Operation
from corrigible.rules.pointer import MISSING, escape, resolve, segments, to_pointer, value_at
from corrigible.rules.safety.decisive import READS, is_decisive_guess, is_for_the_caller, words
from corrigible.rules.safety.nearness import (
    abbreviates,
    distance,
    in_brackets,
    is_plural,
    is_same,
    is_short_form,
    is_slip,
    letters,
    nearest,
    slips,
)
from corrigible.rules.safety.spelling import is_form, is_known, is_other_meaning, may_be_other_word
from corrigible.schema.document import leaves, scalar_text
from corrigible.schema.exchange import Json, Request

from . import levels
from .first_violation import first_violation, is_fully_checked
from .json_schema import Schema, choices, members, trim_schema, types
from .schema_violation import WORDS, SchemaViolation
from .suggestion import Proposal, Suggestion, ask, confirmed, edit, guarded_ops, left_out, options

INSTEAD: Final = "x-instead"
"""In the schema around an undeclared member: the name that the server says is to be sent instead."""

NAMED: Final = "x-named"
"""In a schema of a member: the value that the path has under its name, which is its `const` where it is known to be."""

_IF_MEANT: Final = "Send the value that the description has there, if it is what is meant."
_IF_AGREED: Final = "Send the only value that is allowed there, if whoever asks for this agrees."
_ASK_MISSING: Final = "Give the value that is missing."
_ASK_BODY: Final = "Give the body that is missing."
_MOST_FORMS: Final = 3
_LIMITING: Final = re.compile(
    r"(?i)(?:^|[_.\-\[]|(?-i:(?<=[a-z])(?=[A-Z])))(?:amount|sum|total|count|size|quantity|limit|max\w*|min\w*|percent\w*|price|only"
    r"|dry_?run|preview|simulate|validate\w*|test|draft|capture\w*|trial\w*|hold\w*|confirm\w*|force|if|when|where|filter\w*"
    r"|until|after|before|since|from|to|start\w*|end|ends|expir\w*|ttl|schedule\w*|delay\w*|private|visibility|access"
    r"|restrict\w*|read_?only|exclude\w*|except|skip\w*|scope\w*|prevent\w*|require\w*|allow\w*|deny|version|etag|match"
    r"|free|refund\w*|keep\w*|id|ids)(?:$|[_.\-\]\[]|(?-i:(?=[A-Z])))"
)
"""Words in names of members that limit a call (how much, when, to whom): without such a member a call may do more."""
_LEFT_OUT: Final = "Leave out what is not known. The call then does without it."
_WHERE: Final = "Say where it belongs: it is not known there, and something else names it."
_SHORTEST_BEGINNING: Final = 4
_MOST_STRANGE: Final = 64
"""Undeclared members that are held against a missing one."""
_WITH_REFERENCES: Final = "Leave it out, and what leads to it, if the call may do without both."
_NAMING: Final = ("name", "id", "key")
"""Members of an element by which other places refer to it."""
_MOST_NAMED: Final = 8
_MOST_TEXTS: Final = 2000
_LONGEST_REFERENCE: Final = 300


# Which names are meant


def may_limit(name: str) -> bool:
    """Whether a call without a member of this name may do more than the caller intends."""
    return _LIMITING.search(name) is not None


def near_names(name: str, declared: Sequence[str]) -> list[str]:
    """Return the declared names that a name can stand for: a slip of the fingers, other separators, an abbreviation.

    `page` stands for `pagination[page]`.

    Values are compared less strictly: they are one of few, and all answer the same question.
    """
    if inside := in_brackets(name, declared):
        return [inside]
    near = nearest(name, declared)
    meant = [one for one in near if is_slip(name, one) or _begins(letters(name), letters(one))]
    least = min((distance(name, one) for one in meant), default=-1)
    return [one for one in near if one in meant or distance(name, one) <= least]


def is_other_name(name: str, meant: str) -> bool:
    """Whether a name may be meant as it is: it has a word more or less, or one that is no slip of the other's."""
    if is_same(name, meant):
        return False
    one, two = words(name), words(meant)
    if is_other_meaning(name, meant) or may_be_other_word(name, meant):
        return True
    if len(one) != len(two):
        return not is_slip(name, meant) or {*one} <= {*two} or {*two} <= {*one}
    pairs = [*zip(one, two, strict=True)]
    if any(first.endswith("ed") + second.endswith("ed") == 1 and is_known(first) for first, second in pairs):
        return True  # another tense
    return not all(is_slip(*pair) or abbreviates(*pair) or abbreviates(*pair[::-1]) for pair in pairs)


def _begins(name: str, other: str) -> bool:
    shorter, longer = sorted((name, other), key=len)
    return len(shorter) >= _SHORTEST_BEGINNING and longer.startswith(shorter)


def _is_short_form(short: str, name: str, free: Sequence[str]) -> bool:
    """Whether one of two names is the short form of the other, and of no other that is free: `lat` and `latitude`."""
    written = [one for one in free if abbreviates(short, one)] or [one for one in free if abbreviates(one, short)]
    return written == [name] and not may_limit(short)


def _is_typo(name: str, other: str) -> bool:
    """Whether a name is no other word: other separators, letters in turn, one letter more or less that is no plural."""
    one, two = letters(name), letters(other)
    if one == two or (sorted(one) == sorted(two) and is_slip(name, other)):
        return True
    return len(one) != len(two) and not is_plural(name, other) and slips(one, two, 1) <= 1


# Undeclared members


def undeclared(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    """Rename an undeclared member to the declared one it is near to, else leave it out where that is harmless."""
    value = value_at(request, violation.pointer)
    if value is MISSING:
        return None
    parent, name = _split(violation.pointer)
    present, declared = value_at(request, parent), members(violation.schema)
    free = [one for one in violation.siblings if not isinstance(present, Mapping) or one not in present]
    if isinstance(instead := violation.schema.get(INSTEAD), str):
        # What the server names is asked about, unless the description has it, and not the other, and the value fits.
        is_known = instead in declared and name not in declared and _is_meant(name, instead, free, violation.schema)
        is_backed = is_known and _takes(declared[instead], value, text=request.form)
        steps = [instead] if instead in declared else instead.split(".")  # `text.format` is inside of `text`
        target = parent + to_pointer(steps)
        renamed = _moved(violation, request, violation.pointer, target, value, is_guess=not is_backed)
        is_free = isinstance(present, Mapping) and steps[0] not in present
        return renamed if is_free else without(violation, request, _LEFT_OUT)
    if (outside := levels.unwrapped(parent, violation.schema, violation, request)) is not None:
        return Proposal([outside])
    near = near_names(name, free)
    head = re.split(r"[.\[]", name)[0]
    if head != name and head in violation.siblings and not any(is_same(name, one) for one in near):
        return ask(violation, request, _WHERE, schema={})  # `address.city` leads into a declared member
    rivals = _rivals(name, near[0], present, violation.siblings) if len(near) == 1 else {}
    if rivals and any(one in rivals for one in [*present][: [*present].index(name)]):
        return None  # asked once
    if rivals:
        schema = trim_schema(declared.get(near[0], {}))
        places = [(f"{parent}/{escape(near[0])}", schema)]
        return ask(violation, request, "Say which value belongs there: several names are not known.", places=places)
    short = [] if near or rivals else [one for one in free if _is_short_form(name, one, free)]
    is_guess = len(short) == 1 and not is_short_form(name, short[0])
    meant = near or (short if len(short) == 1 else [])
    moves = [
        _moved(violation, request, violation.pointer, f"{parent}/{escape(one)}", value, is_guess=is_guess)
        for one in meant
    ]
    if len(meant) == 1:
        return moves[0]
    if meant:
        return options([one for move in moves if move is not None for one in move.suggestions], group)
    return _elsewhere(violation, request, group, value)


def _is_meant(name: str, instead: str, free: Sequence[str], around: Schema) -> bool:
    """Whether a description leads to a replacement by itself: it is required, or the only free name, or like the other.

    A text alone does not choose between declared members. `max_tokens` is like `max_completion_tokens`.
    """
    required = around.get(levels.REQUIRED, around.get("required"))
    if instead in free and isinstance(required, list | tuple) and instead in required:
        return True
    own = {*words(name)}
    alike = [one for one in free if own <= {*words(one)} or own >= {*words(one)}]
    return [instead] == (near_names(name, free) or alike or [*free])


def _elsewhere(violation: SchemaViolation, request: Request, group: str, value: Json) -> Proposal | None:
    """Send a member that is near to no declared one at another level or as the only missing one, else leave it out."""
    parent, name = _split(violation.pointer)
    moved = levels.move_member(violation, request)
    if moved is not None and (moved.is_certain or name not in levels.GENERAL_NAMES):
        # Of what one other place alone declares nothing is left out: it is moved there, or asked about.
        suggestion = moved.suggestion if moved.is_certain else confirmed(moved.suggestion)
        return Proposal([suggestion]) if moved.is_first else None
    omission = without(violation, request, _LEFT_OUT)
    if value is None:
        return omission
    meant = only_missing(parent, violation.schema, request)
    if meant is not None and moved is None:
        return _moved(violation, request, violation.pointer, meant, value, is_guess=True) or omission
    return omission if moved is None else options([moved.suggestion, *omission.suggestions], group)


def _rivals(name: str, meant: str, present: Json, declared: Sequence[str]) -> dict[str, int]:
    """Return other undeclared members, each with its slips, that are as near to a name: two cannot take one place."""
    known, least = frozenset(declared), distance(name, meant)
    strange = islice((one for one in present if one not in known and one != name), _MOST_STRANGE)
    slips = {one: distance(one, meant) for one in strange}
    return {one: count for one, count in slips.items() if count <= least and near_names(one, [meant])}


def without(violation: SchemaViolation, request: Request, message: str) -> Proposal:
    """Return the request without a member that must not be there: it may have been wanted."""
    value = value_at(request, violation.pointer)
    ops = guarded_ops(request, violation.pointer, value, {"op": "remove", "path": violation.pointer})
    if not ops:
        return ask(violation, request, message, schema={})
    if referring := references_to(violation.pointer, request):
        # With the member is lost what leads to it.
        removal = confirmed(left_out(violation, request, ops, _WITH_REFERENCES))
        removal["safety"]["loses"] = list(referring[:_MOST_NAMED])
        return Proposal([*ask(violation, request, _WHERE, schema={}).suggestions, removal])
    if value is None and request.method != "PATCH" and not may_limit(segments(violation.pointer)[-1]):
        return Proposal([edit(violation, request, ops, "Leave out what is not known: null is no value.")])
    return Proposal([confirmed(left_out(violation, request, ops, message))])


def references_to(pointer: str, request: Request) -> list[str]:
    """Return where texts of the body lead to a member, or are its name: `#/definitions/User`, `${user}`, `"user"`.

    Without the member they would lead nowhere. Of a list of named things they may be a name of those.
    """
    name, removed = segments(pointer)[-1], value_at(request, pointer)
    elements = removed if isinstance(removed, list) else []
    called = {name, *(str(one[key]) for one in elements if isinstance(one, Mapping) for key in _NAMING if key in one)}
    texts = [one for one in islice(leaves(request.body, "/body"), _MOST_TEXTS) if isinstance(one.value, str)]
    spend(len(texts))
    beside = (one for one in texts if not f"{one.pointer}/".startswith(f"{pointer}/"))
    return [one.pointer for one in beside if one.value in called or _leads_to(name, one.value[:_LONGEST_REFERENCE])]


def _leads_to(name: str, text: str) -> bool:
    if name not in text and escape(name) not in text:
        return False  # most texts: no expression has to be compiled
    leads = rf"#(?:/[^/]*)*/{re.escape(escape(name))}(?:/|$)|[${{]\{{?\s*{re.escape(name)}\b"
    return re.search(leads, text) is not None


# Missing members


def missing(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    """Add what has only one value, give a misspelt member its name, or ask."""
    if value_at(request, violation.pointer) is not MISSING and violation.pointer != "/body":
        return None
    if (renamed := misspelt(violation, request)) is not None:
        return renamed
    parent = violation.pointer.rpartition("/")[0]
    moved = levels.into_missing(violation, request)
    moved = moved or levels.unwrapped(parent, violation.parent_schema, violation, request)
    moved = moved or levels.into_query(violation, request)
    value = settled_value(violation.schema)
    if is_nought(value, violation.schema):
        value = MISSING
    if moved is not None:
        return Proposal([moved])
    question = ask(violation, request, _ASK_BODY if violation.pointer == "/body" else _ASK_MISSING)
    if value is not MISSING:
        ops = _added(request, violation.pointer, value)
        return _filled_in(violation, request, ops, value, question) if ops else question
    other = rename_only_undeclared(violation, request)
    return question if other is None else Proposal([*other.suggestions, *question.suggestions])


def _filled_in(
    violation: SchemaViolation, request: Request, ops: list[Operation], value: Json, question: Proposal
) -> Proposal:
    """Return what the description has for a missing value: flagged where only whoever calls can say it."""
    pointer, schema = violation.pointer, violation.schema
    verified = is_fully_checked(schema) and first_violation(value, schema) is None
    is_only = _is_only_value(schema)
    is_theirs = schema.get(NAMED) != value and is_for_the_caller(pointer, value, request, is_only=is_only)
    # A required parameter has no default (OpenAPI 2.0, 3.0): it is only an example, and may be any text.
    is_parameter = pointer.startswith(("/query/", "/headers/"))
    is_example = is_parameter and "default" in schema and not choices(schema) and types(schema) == ("string",)
    if not is_theirs and not is_example:
        return Proposal([edit(violation, request, ops, "Send the value that belongs there.", verified=verified)])
    message = _IF_AGREED if is_only else _IF_MEANT
    shown = edit(violation, request, ops, message, requires_confirmation=True, verified=verified)
    return Proposal([shown] if is_only else [shown, *question.suggestions])


def _is_only_value(schema: Schema) -> bool:
    return len(choices(schema)) == 1 or types(schema) == ("null",)


def settled_value(schema: Schema) -> Json:
    """Return the value that a schema itself settles: a default or the only one allowed; `MISSING` where it does not."""
    if "default" in schema:
        return schema["default"] if first_violation(schema["default"], schema) is None else MISSING
    listed = choices(schema)
    if len(listed) == 1:
        return listed[0]
    return None if types(schema) == ("null",) else MISSING


def is_nought(value: Json, schema: Schema) -> bool:
    """Whether a default is only what the server's language has for a number or a text that nobody set.

    Generators of descriptions write it there. A server that misses such a member takes no such default itself.
    """
    is_default = "default" in schema and schema["default"] == value and not choices(schema)
    return is_default and not isinstance(value, bool) and value in (0, "")


def _added(request: Request, pointer: str, value: Json) -> list[Operation]:
    """Return the operations that add a member, and the object it belongs into where that is missing too."""
    document = request.document()
    place, new_value = pointer, value
    parent = place.rpartition("/")[0]
    while parent.count("/") >= 1 and resolve(document, parent) in (MISSING, None):
        new_value = {segments(place)[-1]: new_value}
        place, parent = parent, parent.rpartition("/")[0]
    if pointer.startswith("/headers/"):
        new_value = scalar_text(new_value)
    return guarded_ops(request, place, MISSING, {"op": "add", "path": place, "value": new_value})


def only_missing(parent: str, around: Schema | None, request: Request, told: str = "") -> str | None:
    """Return the place of the only missing member of an object with one undeclared member, whose value it takes.

    `told`: a declared member that the server misses, whether or not the description requires it.
    """
    present, declared = value_at(request, parent), members(around)
    if around is None or not isinstance(present, Mapping) or not isinstance(around.get("properties"), Mapping):
        return None
    required = around.get(levels.REQUIRED)
    names = [str(name) for name in required] if isinstance(required, list) else []
    missing = [one for one in names if one not in present and ("default" not in declared.get(one, {}) or one == told)]
    if told and told not in missing and told not in present and told in declared:
        missing.append(told)
    strange = [name for name in present if name not in declared]
    if len(missing) != 1 or len(strange) != 1 or missing[0] not in declared:
        return None
    takes = _takes(declared[missing[0]], present[strange[0]], text=request.form or not parent.startswith("/body"))
    return f"{parent}/{escape(missing[0])}" if takes else None


def rename_only_undeclared(violation: SchemaViolation, request: Request) -> Proposal | None:
    """Return the renaming of the only undeclared member to the only missing one, once that is confirmed.

    Where nothing is declared, it is the only one with words of the missing name: `text` of `rich_text`.
    """
    parent, meant = _split(violation.pointer)
    if not violation.siblings and parent.startswith("/body") and (like := _alike(parent, meant, request)):
        value = value_at(request, like)
        return None if value is None else _moved(violation, request, like, violation.pointer, value, is_guess=True)
    if parent == "/headers" or only_missing(parent, violation.parent_schema, request, meant) != violation.pointer:
        return None
    present = value_at(request, parent)
    name = next(str(one) for one in present if one not in violation.siblings)
    source = f"{parent}/{escape(name)}"
    return _moved(violation, request, source, violation.pointer, present[name], is_guess=True)


def _alike(parent: str, meant: str, request: Request) -> str:
    """Return the place of the only member all of whose words are those of a missing name, or that has all of them."""
    present, wanted = value_at(request, parent), {*words(meant)}
    found = []
    for name in islice(present, _MOST_STRANGE) if isinstance(present, Mapping) else ():
        own = {*words(str(name))}
        is_telling = bool(own & wanted - levels.GENERAL_NAMES)
        found += [str(name)] if is_telling and name != meant and (own <= wanted or wanted <= own) else []
    return f"{parent}/{escape(found[0])}" if len(found) == 1 else ""


def misspelt(violation: SchemaViolation, request: Request) -> Proposal | None:
    """Return the renaming of a present, undeclared member that can only be the missing one."""
    parent, name = _split(violation.pointer)
    present = value_at(request, parent)
    if parent == "/headers" or not isinstance(present, Mapping):
        return None
    declared = {*violation.siblings}
    free = [one for one in {*declared, name} if one not in present]
    strange = [str(one) for one in present if one not in declared][:_MOST_STRANGE]
    # What is not near to the missing name by itself need not be held against all the others.
    meant = [one for one in strange if near_names(one, [name]) and near_names(one, free) == [name]]
    meant = meant or [one for one in strange if _is_short_form(one, name, free) and not near_names(one, free)]
    # Where nothing is declared what was sent may be a member that the server knows, unless it is no other word.
    typos = [one for one in meant if _is_typo(one, name)]
    meant, is_guess = (typos or meant, not typos) if not declared else (meant, False)
    if len(meant) != 1:
        return None
    value = present[meant[0]]
    if not _takes(violation.schema, value, text=request.form or not parent.startswith("/body")):
        return None
    renamed = _moved(violation, request, f"{parent}/{escape(meant[0])}", violation.pointer, value, is_guess=is_guess)
    question = ask(violation, request, _ASK_MISSING).suggestions if is_guess else []
    return renamed and Proposal([*renamed.suggestions, *question])


# One of several forms


def of_forms(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    """Return what all forms of an object lack, a misspelt member under its name, or a question for each form.

    None where some form lacks nothing or there is no object.
    """
    listed = violation.schema.get(violation.keyword)
    forms = [form for form in listed if isinstance(form, Mapping)] if isinstance(listed, list) else []
    if not forms or not isinstance(violation.value, Mapping):
        return None
    lacking = [_lacking(form, violation.value) for form in forms]
    if common := [name for name in lacking[0] if all(name in others for others in lacking)]:
        known = tuple(dict.fromkeys(name for form in forms for name in members(form)))
        declared = [members(form).get(common[0], {}) for form in forms]
        values = [one for schema in declared for one in choices(schema) if not isinstance(one, list | dict)]
        joined: Schema = declared[0] if all(one == declared[0] for one in declared) else {}
        joined = {"enum": list(dict.fromkeys(values))} if all(map(choices, declared)) else joined
        place = f"{violation.pointer}/{escape(common[0])}"
        return missing(SchemaViolation(place, "required", joined, siblings=known), request, group)
    if not all(lacking):
        return None
    questions: list[Suggestion] = []
    kept = [-len(members(form).keys() & violation.value.keys()) for form in forms]
    for number in sorted(range(len(forms)), key=lambda one: (kept[one], len(lacking[one])))[:_MOST_FORMS]:
        wanted = {name: trim_schema(members(forms[number]).get(name, {})) for name in lacking[number]}
        places = [(f"{violation.pointer}/{escape(name)}", schema) for name, schema in wanted.items()]
        message = "Give what is missing, if this is the form that is meant."
        questions += ask(violation, request, message, places=places).suggestions
    return options(questions, group)


def _lacking(form: Schema, value: Mapping[str, Json]) -> list[str]:
    required = form.get("required")
    return [str(name) for name in required if name not in value] if isinstance(required, list) else []


# Edits


def _takes(schema: Schema, value: Json, *, text: bool) -> bool:
    """Whether a place takes a value. A list of one is written like its element in a query and in a form."""
    is_element = text and types(schema) == ("array",) and not isinstance(value, list)
    return first_violation([value] if is_element else value, schema, text=text) is None


def _moved(
    violation: SchemaViolation,
    request: Request,
    source: str,
    target: str,
    value: Json,
    *,
    is_guess: bool = False,
) -> Proposal | None:
    ops = guarded_ops(request, source, value, {"op": "move", "from": source, "path": target})
    if not ops:
        return None
    around = target.rpartition("/")[0]
    if value_at(request, around) is MISSING:
        ops.insert(-1, {"op": "add", "path": around, "value": {}})
    message = "Send the value under the name that is known."
    confirm = is_guess or is_decisive_guess(ops, request) or _is_other(source, target, request)
    return Proposal([edit(violation, request, ops, message, requires_confirmation=confirm)])


def _is_other(source: str, target: str, request: Request) -> bool:
    """Whether a name may be that of another member, or the value under its new name says who it comes from or goes to.

    Who only reads gets what was not asked for, and sees it.
    """
    name, meant = segments(source)[-1], segments(target)[-1]
    if is_other_meaning(name, meant):
        return True
    if request.method in READS or is_same(name, meant):
        return False
    one, two = letters(name), letters(meant)
    if len(one) > len(two) + 1 and one.startswith(two) and not is_form(two, one):
        return True  # a word more says what else it is: `passwordHash` is no `password`
    return may_be_other_word(name, meant) or not WORDS["parties"].isdisjoint(set(words(meant)).difference(words(name)))


def _split(pointer: str) -> tuple[str, str]:
    return pointer.rpartition("/")[0], segments(pointer)[-1]
