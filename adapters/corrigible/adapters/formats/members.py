"""The members of one native error: its names as the table has them, its texts, and what stands beside them.

Knows: one object of an answer and those around it. Does not know: places, requests, descriptions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from corrigible.rules.budget import spend
from corrigible.rules.safety.nearness import split_words
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Json

from . import error_shapes as shapes

Members = Mapping[str, Json]

_FIELDS: Final = frozenset({"code", "message", "pointer", "constraint", "type", "param"})
_LONGEST_NAME: Final = 80


def folded(members: Members) -> dict[str, Json]:
    """Return the members under their names as the table has them; of two that are one name the first."""
    out: dict[str, Json] = {}
    for name, value in members.items():
        out.setdefault(fold(name), value)
    return out


def fold(name: str) -> str:
    """Return a name as the table has it."""
    return _folded(name) if len(name) <= _LONGEST_NAME else name


@lru_cache(4096)
def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def text(members: Members, *names: str) -> str:
    """Return the first of some members that is a text or a number, as text; empty where none is."""
    for name in names:
        if name in members and isinstance(value := members[name], (str, int, float)):
            return str(value)
    return ""


def with_plain_message(members: Members) -> Members:
    """Return the members with the sentence of OData's `{"message": {"lang": "en-US", "value": "..."}}` as a text."""
    for name in ("message", "Message"):
        inner = members.get(name)
        if isinstance(inner, dict) and isinstance(inner.get("value"), str) and inner.keys() <= {"lang", "value"}:
            return {**members, name: inner["value"].partition("\nRequestId:")[0]}
    return members


def others(members: Members) -> dict[str, Json]:
    """Return the members that are called like no field of a violation."""
    return {name: value for name, value in members.items() if name not in _FIELDS}


def plain_code(code: str) -> str:
    """Return a code without what stands before it in AWS's protocols and in URIs: `com.x#Y`, `https://x/errors#Y`."""
    word = code.rpartition("#")[2]
    is_word = len(word) <= _LONGEST_CODE and all(one.isalnum() or one in "._-" for one in word)
    return word if word and is_word else code


_LONGEST_CODE: Final = 200


def is_thing(members: Json, body: Json) -> bool:
    """Whether an object beside a sentence is what was sent, or exists already, and no error.

    | beside the sentence                                    | what it is           |
    |--------------------------------------------------------|----------------------|
    | `"object": {"id": 7, "name": "ann", "note": "must..."}` | what exists          |
    | `"data": {"name": "ann"}`                              | what was sent        |
    | `"data": {"name": ["is required"]}`                    | errors by place      |
    | `"info": {"reason": "must be longer", "name": "ann"}`  | an error             |

    It repeats a member of the body with its value, and has nothing that an error has: what another member of it says
    ("must be tidied up") is then no error, whatever its words.
    """
    if not isinstance(members, dict) or not isinstance(body, dict):
        return False
    told = {name: value for name, value in folded(members).items() if name not in folded(body)}
    if any(isinstance(told.get(name), str) for name in shapes.SENTENCES) or not shapes.OF_ERRORS.isdisjoint(told):
        return False
    return any(
        fold(name) not in shapes.CODES
        and isinstance(sent, str | int)
        and sent not in ("", True, False)
        and members.get(name) == sent
        for name, sent in body.items()
    )


def without_notes(items: Sequence[Json]) -> Sequence[Json]:
    """Return the items of a list without those that are only notes, where any is more than that.

    Validators hand on all that they noted of a request: `{"severity": "INFO", "message": "..."}` beside an error is not
    what the request was refused for.
    """
    errors = [one for one in items if not _is_note(one)]
    return errors if len(errors) < len(items) and any(isinstance(one, Mapping) for one in errors) else items


def _is_note(item: Json) -> bool:
    return isinstance(item, Mapping) and any(
        isinstance(value, str) and value.lower() in shapes.NOTES and name.lower().endswith(shapes.GRADES)
        for name, value in item.items()
    )


def sentence(members: Members, sent: Collection[str]) -> str:
    """Return the sentence of an error that has several texts: the first that names something, else the first.

    Many servers have a general text for each kind of error, the same for all requests, and beside it what is wrong with
    this one: `{"Message": "Bad file format", "Details": "Missing field Resources in the JSON body"}`. `members` are
    folded; `sent` are names of the request.
    """
    first = text(members, *shapes.TEXTS)
    texts = [members[name] for name in shapes.TEXTS_BESIDE if name in members]
    particular = [one for one in texts if isinstance(one, str) and one != first and _is_sentence(one)]
    if _says_no_reason(first) and (reason := next(filter(complains, particular), "")):
        return reason
    if not particular or _names_something(first, sent):
        return first
    longer = (one for one in particular if len(one.split()) > len(first.split()))
    return next((one for one in particular if _names_something(one, sent)), next(longer, first))


def _says_no_reason(message: str) -> bool:
    """Whether a text says that something failed, and no more: `update of job 7 failed`."""
    return message.rstrip(" .!").lower().endswith(_FAILED) and not complains(message)


_FAILED: Final = (" failed", " failure", " error")
_READ: Final = 500
_QUOTES: Final = frozenset("'\"`“[{")
_PUNCTUATION: Final = " .,:;!?()"


def _names_something(message: str, sent: Collection[str]) -> bool:
    """Whether a text is about this very request: it has a name of it, a quoted word, a number, a name of its own."""
    spend()
    for number, word in enumerate(message[:_READ].split()):
        plain = word.strip(_PUNCTUATION)
        if not plain or plain.isupper() or (len(plain) == 3 and plain[0] in "45" and plain.isdecimal()):
            continue  # a status is the same for all requests
        if word[0] in _QUOTES or plain in sent or "_" in plain or any(one.isdigit() for one in plain):
            return True
        if any(one.isupper() for one in plain[1:]) or (number and plain[0].isupper()):
            return True
    return ": " in message[:_READ].rstrip()


def _is_sentence(message: str) -> bool:
    """Whether a text tells what is wrong in words: no code, no address, no trace of the server's program."""
    parts = message[:_READ].split()
    is_title = all(word[:1].isupper() for word in parts)  # `Bad Request`, `Unprocessable Entity`
    return len(parts) > 1 and "\n" not in message and not is_title and not message.lower().startswith(shapes.ADVICE)


def complains(message: str) -> bool:
    """Whether a text is worded like an error, where nothing but its words tells it from a value."""
    plain = "".join(one if one.isalpha() or one == "'" else " " for one in message[:_READ].lower())
    return any(f" {word}" in f" {plain}" for word in shapes.COMPLAINTS)


_MOST: Final = 32
"""Members beside a text that are kept, and values of each of them."""
_MOST_LETTERS: Final = 500
_MOST_VALUES: Final = 300
_DEEPEST: Final = 3


def beside(around: Sequence[tuple[Members, str]], told: Collection[str]) -> dict[str, Json]:
    """Return what stands beside the text of an error: its own members, then those of the objects around it.

    `around` are the objects from the root to the error's own, each with the name of the member that leads on. `told`
    are texts that the violation has already. What an object like `data` or `params` holds stands under its own names,
    too: `{"error": {"message": "taken", "data": {"free_slots": [3, 4]}}}` has `free_slots`.
    """
    out: dict[str, Json] = {}
    left = [_MOST_VALUES]
    for members, below in reversed(around):
        for name, value in members.items():
            if len(out) >= _MOST:
                return out
            is_told = value in (None, "") or (isinstance(value, str) and value in told)
            if not is_told and name != below and name not in out and fold(name) not in shapes.ABOUT_THE_ANSWER:
                out[name] = _bounded(value, 0, left)
    for name in [name for name in out if fold(name) in shapes.WITH_MEMBERS]:
        inner = out[name]
        for key, value in inner.items() if isinstance(inner, dict) else ():
            if len(out) < _MOST:
                out.setdefault(key, value)
    return out


def _bounded(value: Json, depth: int, left: list[int]) -> Json:
    left[0] -= 1
    if isinstance(value, str):
        return value[:_MOST_LETTERS]
    if not isinstance(value, (dict, list)):
        return value
    if depth == _DEEPEST or left[0] < 0:
        return None
    spend()
    if isinstance(value, list):
        return [_bounded(one, depth + 1, left) for one in value[:_MOST]]
    return {name: _bounded(one, depth + 1, left) for name, one in islice(value.items(), _MOST)}


def members_of(error: Violation) -> Members:
    """Return what stands beside the text of an error, by name."""
    members = error.native.get("members")
    return members if isinstance(members, dict) else {}


class About(NamedTuple):
    """What a member beside a text says of a place, by its name and its value."""

    keyword: str
    """Of JSON Schema: `enum` of a list of values, `maximum` or `minimum` of a number."""
    noun: tuple[str, ...]
    """The other words of its name, which may be those of the place: `slots` of `free_slots`."""
    value: Json


def said_of_places(members: Members) -> list[About]:
    """Return what the members beside a text say of places: `{"free_slots": [3, 4], "max_amount": 500}`."""
    out: list[About] = []
    for name, value in members.items():
        is_list = isinstance(value, list) and bool(value) and not any(isinstance(one, dict | list) for one in value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_list and not is_number:
            continue
        parts, roles = split_words(name[:_LONGEST_NAME]), shapes.ROLES if is_list else shapes.ROLES_OF_NUMBERS
        if keyword := next((roles[one] for one in parts if one in roles), ""):
            out.append(About(keyword, tuple(one for one in parts if one not in roles), value))
    return out
