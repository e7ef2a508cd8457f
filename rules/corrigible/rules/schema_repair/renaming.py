"""Members with an undeclared name: rename them to a near declared one, else leave them out where that is harmless."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

from rapidfuzz.distance import OSA

from corrigible.rules.engine.guarded_patch import PatchError
from corrigible.rules.pointer import MISSING, escape, resolve, segments, value_at
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
from corrigible.schema.exchange import Json, Request

from . import nesting as level
from .first_violation import first_violation
from .json_schema import Schema, types
from .schema_violation import SchemaViolation
from .suggestion import Proposal, ask, edit, guarded_edit, left_out, options
from .trim_schema import trim_schema

_LIMITING: Final = re.compile(
    r"(?i)(?:^|[_.\-\[]|(?-i:(?<=[a-z])(?=[A-Z])))(?:amount|sum|total|count|size|quantity|limit|max\w*|min\w*|percent\w*|price|only"
    r"|dry_?run|preview|simulate|validate\w*|test|draft|capture\w*|trial\w*|hold\w*|confirm\w*|force|if|when|where|filter\w*"
    r"|until|after|before|since|from|to|start\w*|end|ends|expir\w*|ttl|schedule\w*|delay\w*|private|visibility|access"
    r"|restrict\w*|read_?only|exclude\w*|except|skip\w*|scope\w*|prevent\w*|require\w*|allow\w*|deny|version|etag|match"
    r"|free|refund\w*|keep\w*|id|ids)(?:$|[_.\-\]\[]|(?-i:(?=[A-Z])))"
)
"""Words in names of members that limit a call (how much, when, to whom): without such a member a call may do more."""


def may_limit(name: str) -> bool:
    """Whether a call without a member of this name may do more than the caller intends."""
    return _LIMITING.search(name) is not None


def undeclared(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    """Rename an undeclared member to the declared one it is near to, else leave it out where that is harmless."""
    document = request.document()
    value = resolve(document, violation.pointer)
    if value is MISSING:
        return None
    parent, name = _split(violation.pointer)
    present = resolve(document, parent)
    free = [one for one in violation.siblings if not isinstance(present, Mapping) or one not in present]
    if (outside := level.unwrapped(parent, violation.schema, violation, request)) is not None:
        return Proposal([outside])
    near = near_names(name, free)
    if all(_is_no_object(violation.schema, one, value) for one in near):
        near = []
    rivals = _rivals(name, near[0], present, violation.siblings) if len(near) == 1 else {}
    if any(distance(name, near[0]) > slips for slips in rivals.values()):
        near = []  # another one is meant for that name
    elif rivals:
        return _asked_which(violation, request, f"{parent}/{escape(near[0])}", [name, *rivals])
    if len(near) == 1:
        properties = violation.schema.get("properties")
        schema = properties.get(near[0]) if isinstance(properties, Mapping) else None
        is_one = _is_element(schema, value, text=request.form or not parent.startswith("/body"))
        return _moved(violation, request, violation.pointer, f"{parent}/{escape(near[0])}", value, into_list=is_one)
    short = [one for one in free if _is_short_form(name, one, free)]
    if not near and not rivals and len(short) == 1:
        is_listed = is_short_form(name, short[0])
        target = f"{parent}/{escape(short[0])}"
        return _moved(violation, request, violation.pointer, target, value, is_guess=not is_listed)
    if near:
        moves = [_moved(violation, request, violation.pointer, f"{parent}/{escape(one)}", value) for one in near]
        return options([one for move in moves if move is not None for one in move.suggestions], group)
    nested = level.into_missing(violation, request)
    if nested is not None:
        return Proposal([nested])
    levels = level.move_member(violation, request)
    if levels is not None and levels.is_certain:
        return Proposal([levels.suggestion]) if levels.is_first else None
    omission = _left_out(violation, request, name, value, group)
    if value is None:
        return omission
    meant = only_missing(parent, violation.schema, request)
    if meant is not None and is_longer_form(name, segments(meant)[-1], free):
        is_guess = _adds_identifier(name, segments(meant)[-1])
        return _moved(violation, request, violation.pointer, meant, value, is_guess=is_guess)
    renamed = None if meant is None else _moved(violation, request, violation.pointer, meant, value, is_guess=True)
    first = [] if levels is None else [levels.suggestion]
    first += [] if renamed is None else renamed.suggestions
    return options([*first, *omission.suggestions], group) if first else omission


def _is_no_object(around: Schema, name: str, value: Json) -> bool:
    """Whether a value is an object, and a declared member is of other types: `{"note": {...}}` is no `noteId`."""
    properties = around.get("properties")
    schema = properties.get(name) if isinstance(properties, Mapping) else None
    allowed = types(schema) if isinstance(schema, Mapping) else ()
    return isinstance(value, Mapping) and bool(allowed) and "object" not in allowed


def only_missing(parent: str, around: Schema | None, request: Request, told: str = "") -> str | None:
    """Return the place of the only missing member of an object with one undeclared member, whose value it takes.

    `told`: a declared member that the server misses, whether or not the description requires it.
    """
    present = value_at(request, parent)
    properties = (around or {}).get("properties")
    if around is None or not isinstance(present, Mapping) or not isinstance(properties, Mapping):
        return None
    required = around.get(level.REQUIRED)
    defaults = {name for name, inner in properties.items() if isinstance(inner, Mapping) and "default" in inner}
    names = [str(name) for name in required] if isinstance(required, list) else []
    missing = [name for name in names if name not in present and (name not in defaults or name == told)]
    if told and told not in missing and told not in present and told in properties:
        missing.append(told)
    strange = [name for name in present if name not in properties]
    if len(missing) != 1 or len(strange) != 1:
        return None
    schema, text = properties.get(missing[0]), request.form or not parent.startswith("/body")
    if not isinstance(schema, Mapping) or not _takes(schema, present[strange[0]], text=text):
        return None
    return f"{parent}/{escape(missing[0])}"


def _takes(schema: Schema, value: Json, *, text: bool) -> bool:
    """Whether a place takes a value. A list of one is written like its element in a query and in a form."""
    is_element = text and types(schema) == ("array",) and not isinstance(value, list)
    return first_violation([value] if is_element else value, schema, text=text) is None


class Renaming(NamedTuple):
    """The renaming of one member to a name that it is not near to."""

    proposal: Proposal
    is_sure: bool
    """Whether one name is the other with further words, or the member is an object that the missing one declares.
    Otherwise the caller may have meant something else."""
    is_likely: bool
    """Whether one name is part of the other, or both are names of a content: the first thing to be confirmed, and no
    choice."""


_CONTENT: Final = frozenset({"content", "contents", "text", "body"})
"""Names under which an API takes what a document holds: each calls it otherwise."""


def rename_only_undeclared(violation: SchemaViolation, request: Request) -> Renaming | None:
    """Return the renaming of the only undeclared member to the only missing one; unless it is sure, it is confirmed."""
    parent = violation.pointer.rpartition("/")[0]
    told = segments(violation.pointer)[-1]
    if parent == "/headers" or only_missing(parent, violation.parent_schema, request, told) != violation.pointer:
        return None
    present = value_at(request, parent)
    name = next(str(one) for one in present if one not in violation.siblings)
    free = [one for one in violation.siblings if one not in present]
    meant = segments(violation.pointer)[-1]
    is_plain = not any(may_limit(one) or not _SIDES.isdisjoint(words(one)) for one in (name, meant))
    is_sure = is_longer_form(name, meant, free) or (is_plain and is_described(present[name], violation.schema))
    is_guess = not is_sure or _adds_identifier(name, meant)
    source = f"{parent}/{escape(name)}"
    proposal = _moved(violation, request, source, violation.pointer, present[name], is_guess=is_guess)
    if proposal is None:
        return None
    is_alone = len(violation.siblings) == 1 and words(meant)[-len(words(name)) :] == words(name)
    is_content = _CONTENT.issuperset((letters(name), letters(meant)))
    return Renaming(proposal, is_sure, is_alone or is_content or _is_part(name, meant))


def is_described(value: Json, schema: Schema) -> bool:
    """Whether a value is an object of which a schema declares every member: `{"name": "x"}` under another name."""
    declared = schema.get("properties")
    if not isinstance(value, Mapping) or not isinstance(declared, Mapping):
        return False
    return bool(value) and value.keys() <= declared.keys()


def _is_part(name: str, other: str) -> bool:
    """Whether one of two names begins or ends with the other: `email` and `mail`."""
    shorter, longer = sorted((letters(name), letters(other)), key=len)
    return len(shorter) >= _SHORTEST_BEGINNING and (longer.startswith(shorter) or longer.endswith(shorter))


def is_longer_form(name: str, meant: str, free: Sequence[str]) -> bool:
    """Whether one of two names is the other with further words, `query` for `search_query`, and no third one is.

    No such name are those of which a word says nothing by itself (`id`, `user_id`), or that may be two sides of a thing
    (`version`, `new_version`).
    """
    shorter, longer = sorted((words(name), words(meant)), key=len)
    further = [word for word in longer if word not in shorter]
    is_part = 0 < len(shorter) < len(longer) and set(shorter) <= set(longer)
    if not is_part or _GENERAL.issuperset(shorter) or not _SIDES.isdisjoint(further):
        return False
    if any(may_limit(word) for word in further if word not in _IDENTIFIERS):
        return False
    own = set(words(name))
    others = [set(words(one)) for one in free if one != meant]
    return not any(own <= other or (other and other <= own) for other in others)


def _adds_identifier(name: str, meant: str) -> bool:
    """Whether only the meant name is one of an identifier: what was sent may be the name of the thing."""
    return not _IDENTIFIERS.isdisjoint(words(meant)) and _IDENTIFIERS.isdisjoint(words(name))


_IDENTIFIERS: Final = frozenset({"id", "ids", "uuid", "key", "ref", "token"})
_GENERAL: Final = word_set(
    "id ids name names type value values key keys code kind text status state data item items list object count number"
    " date time path uri url email label title description note"
)
"""Words that say nothing by themselves of what a longer name means."""
_SIDES: Final = word_set(
    "new old current previous next first last source target parent child own other left right in out input output"
    " sender receiver recipient sub super non no not un is has default original raw final base alt secondary primary"
    " billing shipping home work temp backup"
)
"""Words for one of several of a kind: the name without it may mean another one."""


def _is_element(schema: Json, value: Json, *, text: bool) -> bool:
    """Whether a value is one element of the list that a place of JSON takes: `role` for `roles`."""
    if text or isinstance(value, list | None) or not isinstance(schema, Mapping) or types(schema) != ("array",):
        return False
    return _takes(schema, [value], text=False)


def _rivals(name: str, meant: str, present: Json, declared: Sequence[str]) -> dict[str, int]:
    """Return other undeclared members, each with its slips, that are as near to a name: two cannot take one place."""
    known, least = frozenset(declared), distance(name, meant)
    strange = islice((one for one in present if one not in known and one != name), _MOST_STRANGE)
    slips = {one: distance(one, meant) for one in strange}
    return {one: count for one, count in slips.items() if count <= least and near_names(one, [meant])}


def _asked_which(violation: SchemaViolation, request: Request, pointer: str, names: Sequence[str]) -> Proposal | None:
    """Ask for the value of a declared member that several undeclared ones may be, once for all of them."""
    parent = violation.pointer.rpartition("/")[0]
    present = value_at(request, parent)
    if next((one for one in present if one in names), None) != names[0]:
        return None
    around = violation.schema.get("properties")
    schema = around.get(segments(pointer)[-1]) if isinstance(around, Mapping) else None
    message = f"Say which value belongs there: {', '.join(names)} are not known." if _are_plain(names) else _WHICH
    return ask(violation, request, message, places=[(pointer, trim_schema(schema if schema is not None else {}))])


_WHICH: Final = "Say which value belongs there: several names are not known."


def _are_plain(names: Sequence[str]) -> bool:
    return len(names) <= _MOST_NAMED and all(_PLAIN.fullmatch(one) for one in names)


_MOST_NAMED: Final = 4
_PLAIN: Final = re.compile(r"[A-Za-z_][\w.-]{0,39}", re.ASCII)


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
    shorter = min(len(name), len(other))
    return shorter >= _SHORTEST_BEGINNING and (name.startswith(other) or other.startswith(name))


_SHORTEST_BEGINNING: Final = 4
_MOST_STRANGE: Final = 64
"""Undeclared members that are held against a missing one."""


def _left_out(violation: SchemaViolation, request: Request, name: str, value: Json, group: str) -> Proposal:
    try:
        ops = guarded_edit(request, violation.pointer, value, {"op": "remove", "path": violation.pointer})
    except PatchError:
        return ask(violation, request, "Leave out what is not known.", schema={})
    if value is None and request.method != "PATCH" and not may_limit(name):  # in a PATCH null clears
        return Proposal([edit(violation, request, ops, "Leave out what is not known: null is no value.")])
    message = "Leave out what is not known. The call then does without it."
    return options([left_out(violation, request, ops, message)], group)


def misspelt(violation: SchemaViolation, request: Request, group: str) -> Proposal | None:
    """Return the renaming of a present, undeclared member that can only be the missing one."""
    if violation.pointer.startswith("/headers/"):
        return None
    parent, name = _split(violation.pointer)
    present = value_at(request, parent)
    if not isinstance(present, Mapping):
        return None
    free = [one for one in {*violation.siblings, name} if one not in present]
    declared = {*violation.siblings}
    strange = [str(one) for one in present if one not in declared][:_MOST_STRANGE]
    # What is not near to the missing name by itself need not be held against all the others.
    meant = [one for one in strange if near_names(one, [name]) and near_names(one, free) == [name]]
    meant = meant or [one for one in strange if _is_short_form(one, name, free) and not near_names(one, free)]
    if not violation.siblings:
        meant = [one for one in meant if _is_typo(one, name)]  # any other may be a member that the server knows
    if len(meant) != 1:
        return None
    source = f"{parent}/{escape(str(meant[0]))}"
    text = request.form or not parent.startswith("/body")
    value = present[meant[0]]
    is_one = _is_element(violation.schema, value, text=text)
    if not is_one and not _takes(violation.schema, value, text=text):
        return None
    return _moved(violation, request, source, violation.pointer, value, into_list=is_one)


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


def in_one_form(violation: SchemaViolation, forms: Sequence[Schema], request: Request) -> Proposal | None:
    """Return the renaming of the only member that no form declares, where with one near name the object has a form."""
    present = violation.value
    properties = [form.get("properties") for form in forms]
    names = list(dict.fromkeys(str(one) for each in properties if isinstance(each, Mapping) for one in each))
    strange = [one for one in present if one not in names] if isinstance(present, Mapping) else []
    if len(strange) != 1 or not violation.pointer.startswith("/body"):
        return None
    near = near_names(strange[0], [name for name in names if name not in present])
    if len(near) != 1:
        return None
    renamed = {near[0] if name == strange[0] else name: value for name, value in present.items()}
    if all(first_violation(renamed, form, text=request.form) is not None for form in forms):
        return None
    source, target = (f"{violation.pointer}/{escape(one)}" for one in (strange[0], near[0]))
    return _moved(violation, request, source, target, present[strange[0]])


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
    try:
        ops = guarded_edit(request, source, value, {"op": "move", "from": source, "path": target})
        if into_list:
            ops.append({"op": "replace", "path": target, "value": [value]})
    except PatchError:
        return None
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


_PARTIES: Final = word_set("from to cc bcc sender receiver receivers recipient recipients reply")
"""Words of names of those between whom something is sent, of which some are one slip away from others."""


def _split(pointer: str) -> tuple[str, str]:
    return pointer.rpartition("/")[0], segments(pointer)[-1]
