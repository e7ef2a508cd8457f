"""Members with an undeclared name: rename them to a near declared one, else leave them out where that is harmless."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final
from urllib.parse import unquote

from rapidfuzz.distance import OSA

from corrigible.rules.budget import spend
from corrigible.rules.functions.edits import Operation
from corrigible.rules.pointer import MISSING, escape, segments, value_at
from corrigible.rules.safety.decisive import READS, is_decisive_guess, word_set, words
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
)
from corrigible.rules.safety.other_word import may_be_other_word
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request

from . import levels
from .first_violation import first_violation
from .json_schema import Schema, members, trim_schema, types
from .schema_violation import SchemaViolation
from .suggestion import Proposal, ask, confirmed, edit, guarded_ops, is_secret, left_out, options

INSTEAD: Final = "x-instead"
"""In the schema around an undeclared member: the name that the server says is to be sent instead."""

_LIMITING: Final = re.compile(
    r"(?i)(?:^|[_.\-\[]|(?-i:(?<=[a-z])(?=[A-Z])))(?:amount|sum|total|count|size|quantity|limit|max\w*|min\w*|percent\w*|price|only"
    r"|dry_?run|preview|simulate|validate\w*|test|draft|capture\w*|trial\w*|hold\w*|confirm\w*|force|if|when|where|filter\w*"
    r"|until|after|before|since|from|to|start\w*|end|ends|expir\w*|ttl|schedule\w*|delay\w*|private|visibility|access"
    r"|restrict\w*|read_?only|exclude\w*|except|skip\w*|scope\w*|prevent\w*|require\w*|allow\w*|deny|version|etag|match"
    r"|free|refund\w*|keep\w*|id|ids)(?:$|[_.\-\]\[]|(?-i:(?=[A-Z])))"
)
"""Words in names of members that limit a call (how much, when, to whom): without such a member a call may do more."""
_PARTIES: Final = word_set("from to cc bcc sender receiver receivers recipient recipients reply")
"""Words of names of those between whom something is sent, of which some are one slip away from others."""
_OF_A_THING: Final = re.compile(r"^(?:id|ID|Id|name|key|slug|uuid|uid|guid)$|(?:_id|_uuid|[a-z]Id|[a-z]ID)$")
"""What members are called that say which thing is meant."""
ASK_MISSING: Final = "Give the value that is missing."
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
    return len(one) != len(two) and not is_plural(name, other) and OSA.distance(one, two, score_cutoff=1) <= 1


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
        target = f"{parent}/{escape(instead)}"
        renamed = _moved(violation, request, violation.pointer, target, value, is_guess=not is_backed)
        is_free = isinstance(present, Mapping) and instead not in present
        return renamed if is_free else _left_out(violation, request, name, value, group)
    if (outside := levels.unwrapped(parent, violation.schema, violation, request)) is not None:
        return Proposal([outside])
    near = near_names(name, free)
    if levels.named_place(violation) is not None and not any(is_same(name, one) for one in near):
        into = levels.into_named(violation, request)
        return ask(violation, request, _WHERE, schema={}) if into is None else Proposal([into])
    if isinstance(value, Mapping) and all(_is_no_object(declared.get(one, {})) for one in near):
        near = []  # `{"note": {...}}` is no `noteId`
    rivals = _rivals(name, near[0], present, violation.siblings) if len(near) == 1 else {}
    if any(distance(name, near[0]) > slips for slips in rivals.values()):
        near = []  # another one is meant for that name
    elif rivals:
        return _asked_which(violation, request, near[0], [name, *rivals])
    if len(near) == 1:
        is_one = _is_element(declared.get(near[0], {}), value, text=request.form or not parent.startswith("/body"))
        return _moved(violation, request, violation.pointer, f"{parent}/{escape(near[0])}", value, into_list=is_one)
    short = [one for one in free if _is_short_form(name, one, free)]
    if not near and not rivals and len(short) == 1:
        target, is_guess = f"{parent}/{escape(short[0])}", not is_short_form(name, short[0])
        return _moved(violation, request, violation.pointer, target, value, is_guess=is_guess)
    if near:
        moves = [_moved(violation, request, violation.pointer, f"{parent}/{escape(one)}", value) for one in near]
        return options([one for move in moves if move is not None for one in move.suggestions], group)
    return _elsewhere(violation, request, group, value, free)


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


def _elsewhere(
    violation: SchemaViolation, request: Request, group: str, value: Json, free: Sequence[str]
) -> Proposal | None:
    """Send a member that is near to no declared one at another level or as the only missing one, else leave it out."""
    parent, name = _split(violation.pointer)
    if (nested := levels.into_missing(violation, request)) is not None:
        return Proposal([nested])
    moved = levels.move_member(violation, request)
    if moved is not None and (moved.is_certain or name not in levels.GENERAL_NAMES):
        # Of what one other place alone declares nothing is left out: it is moved there, or asked about.
        suggestion = moved.suggestion if moved.is_certain else confirmed(moved.suggestion)
        return Proposal([suggestion]) if moved.is_first else None
    if moved is None and (under := levels.under_empty(violation, request)) is not None:
        return Proposal([under])
    omission = _left_out(violation, request, name, value, group)
    if value is None:
        return omission
    meant = only_missing(parent, violation.schema, request)
    if meant is not None and moved is None:
        return _moved(violation, request, violation.pointer, meant, value, is_guess=True) or omission
    return omission if moved is None else options([moved.suggestion, *omission.suggestions], group)


def _is_no_object(schema: Schema) -> bool:
    return bool(types(schema)) and "object" not in types(schema)


def _rivals(name: str, meant: str, present: Json, declared: Sequence[str]) -> dict[str, int]:
    """Return other undeclared members, each with its slips, that are as near to a name: two cannot take one place."""
    known, least = frozenset(declared), distance(name, meant)
    strange = islice((one for one in present if one not in known and one != name), _MOST_STRANGE)
    slips = {one: distance(one, meant) for one in strange}
    return {one: count for one, count in slips.items() if count <= least and near_names(one, [meant])}


def _asked_which(violation: SchemaViolation, request: Request, meant: str, names: Sequence[str]) -> Proposal | None:
    """Ask for the value of a declared member that several undeclared ones may be, once for all of them."""
    parent = violation.pointer.rpartition("/")[0]
    if next((one for one in value_at(request, parent) if one in names), None) != names[0]:
        return None
    places = [(f"{parent}/{escape(meant)}", trim_schema(members(violation.schema).get(meant, {})))]
    return ask(violation, request, "Say which value belongs there: several names are not known.", places=places)


def without(violation: SchemaViolation, request: Request, message: str) -> Proposal | None:
    """Return the request without a member that must not be there, flagged unless nothing is lost by it.

    None for a secret, which the edit would repeat.
    """
    value = value_at(request, violation.pointer)
    if value is MISSING or is_secret(violation.pointer, value):
        return None
    ops = guarded_ops(request, violation.pointer, value, {"op": "remove", "path": violation.pointer})
    if not ops:
        return ask(violation, request, message, schema={})
    if _is_said_by_path(violation.pointer, value, request):
        return Proposal([edit(violation, request, ops, message)])
    if referring := references_to(violation.pointer, request):
        return _asked_first(violation, request, ops, message, referring)
    return Proposal([left_out(violation, request, ops, message)])


def _asked_first(
    violation: SchemaViolation, request: Request, ops: list[Operation], message: str, referring: Sequence[str]
) -> Proposal:
    """Return the question where a member belongs that something else names, and its removal, to confirm.

    With the member is lost what leads to it.
    """
    question = ask(violation, request, message, schema={})
    removal = confirmed(left_out(violation, request, ops, _WITH_REFERENCES))
    removal["safety"]["loses"] = list(referring[:_MOST_NAMED])
    return Proposal([*question.suggestions, removal])


def _is_said_by_path(pointer: str, value: Json, request: Request) -> bool:
    """Whether a member of the body is the identifier that the path ends with: the request still says it without."""
    where, *names = segments(pointer)
    if where != "body" or len(names) != 1 or isinstance(value, bool) or not isinstance(value, str | int):
        return False
    last = unquote(request.path.rstrip("/").rpartition("/")[2])
    return _OF_A_THING.search(names[0]) is not None and bool(last) and scalar_text(value) == last


def _left_out(violation: SchemaViolation, request: Request, name: str, value: Json, group: str) -> Proposal:
    ops = guarded_ops(request, violation.pointer, value, {"op": "remove", "path": violation.pointer})
    if not ops:
        return ask(violation, request, "Leave out what is not known.", schema={})
    if referring := references_to(violation.pointer, request):
        return _asked_first(violation, request, ops, _WHERE, referring)
    if value is None and request.method != "PATCH" and not may_limit(name):  # in a PATCH null clears
        return Proposal([edit(violation, request, ops, "Leave out what is not known: null is no value.")])
    message = "Leave out what is not known. The call then does without it."
    return Proposal([confirmed(left_out(violation, request, ops, message))])


def references_to(pointer: str, request: Request) -> list[str]:
    """Return where texts of the body lead to a member, or are its name: `#/definitions/User`, `${user}`, `"user"`.

    Without the member they would lead nowhere. Of a list of named things they may be a name of those.
    """
    name, removed, found = segments(pointer)[-1], value_at(request, pointer), list[str]()
    elements = removed if isinstance(removed, list) else []
    called = {name, *(str(one[key]) for one in elements if isinstance(one, Mapping) for key in _NAMING if key in one)}
    leads = re.compile(rf"#(?:/[^/]*)*/{re.escape(escape(name))}(?:/|$)|[${{]\{{?\s*{re.escape(name)}\b")
    waiting: list[tuple[str, Json]] = [("/body", request.body)]
    looked_at = 0
    while waiting and looked_at < _MOST_TEXTS:
        place, value = waiting.pop()
        looked_at += 1
        if place == pointer:
            continue
        if isinstance(value, str) and (value in called or leads.search(value[:_LONGEST_REFERENCE]) is not None):
            found.append(place)
        if isinstance(value, Mapping):
            members = islice(value.items(), _MOST_TEXTS)
            waiting += [(f"{place}/{escape(str(key))}", inner) for key, inner in members]
        elif isinstance(value, list):
            waiting += [(f"{place}/{index}", inner) for index, inner in enumerate(islice(value, _MOST_TEXTS))]
    spend(looked_at)
    return found


# Missing members under another name


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
    value, text = present[meant[0]], request.form or not parent.startswith("/body")
    is_one = _is_element(violation.schema, value, text=text)
    if not is_one and not _takes(violation.schema, value, text=text):
        return None
    source = f"{parent}/{escape(meant[0])}"
    renamed = _moved(violation, request, source, violation.pointer, value, is_guess=is_guess, into_list=is_one)
    question = ask(violation, request, ASK_MISSING).suggestions if is_guess else []
    return renamed and Proposal([*renamed.suggestions, *question])


def in_one_form(violation: SchemaViolation, forms: Sequence[Schema], request: Request) -> Proposal | None:
    """Return the renaming of the only member that no form declares, where with one near name the object has a form."""
    present = violation.value
    names = list(dict.fromkeys(name for form in forms for name in members(form)))
    strange = [one for one in present if one not in names] if isinstance(present, Mapping) else []
    near = near_names(strange[0], [name for name in names if name not in present]) if len(strange) == 1 else []
    if len(near) != 1 or not violation.pointer.startswith("/body"):
        return None
    renamed = {near[0] if name == strange[0] else name: value for name, value in present.items()}
    if all(first_violation(renamed, form, text=request.form) is not None for form in forms):
        return None
    source, target = (f"{violation.pointer}/{escape(one)}" for one in (strange[0], near[0]))
    return _moved(violation, request, source, target, present[strange[0]])


# Edits


def _takes(schema: Schema, value: Json, *, text: bool) -> bool:
    """Whether a place takes a value. A list of one is written like its element in a query and in a form."""
    is_element = text and types(schema) == ("array",) and not isinstance(value, list)
    return first_violation([value] if is_element else value, schema, text=text) is None


def _is_element(schema: Schema, value: Json, *, text: bool) -> bool:
    """Whether a value is one element of the list that a place of JSON takes: `role` for `roles`."""
    if text or isinstance(value, list | None) or types(schema) != ("array",):
        return False
    return _takes(schema, [value], text=False)


def _moved(
    violation: SchemaViolation,
    request: Request,
    source: str,
    target: str,
    value: Json,
    *,
    is_guess: bool = False,
    into_list: bool = False,
) -> Proposal | None:
    ops = guarded_ops(request, source, value, {"op": "move", "from": source, "path": target})
    if not ops:
        return None
    if into_list:
        ops.append({"op": "replace", "path": target, "value": [value]})
    message = f"Send the value under the name that is known{', in a list' if into_list else ''}."
    confirm = is_guess or is_decisive_guess(ops, request) or _is_other(source, target, request)
    return Proposal([edit(violation, request, ops, message, requires_confirmation=confirm)])


def _is_other(source: str, target: str, request: Request) -> bool:
    """Whether a name may be that of another member, or the value under its new name says who it comes from or goes to.

    Who only reads gets what was not asked for, and sees it.
    """
    name, meant = segments(source)[-1], segments(target)[-1]
    if request.method in READS or is_same(name, meant):
        return False
    return may_be_other_word(name, meant) or not _PARTIES.isdisjoint(set(words(meant)).difference(words(name)))


def _split(pointer: str) -> tuple[str, str]:
    return pointer.rpartition("/")[0], segments(pointer)[-1]
