"""Errors that seem to name a member that is not known, and quote a value behind the name: they are about the value.

`unknown key type aes256` is about the value of `type`, and not about a member `type`.

Knows: one error and the request. Does not know: descriptions, rules.
"""

from __future__ import annotations

import re
from typing import Final

from corrigible.adapters.formats.message.limits import choices_in
from corrigible.rules.budget import spend
from corrigible.rules.pointer import segments, value_at
from corrigible.rules.safety.decisive import word_set
from corrigible.rules.violation import Violation
from corrigible.schema.document import scalar_text
from corrigible.schema.exchange import Json, Request

from .place_by_message import listed_values
from .sent_places import PLACES_A_STEP, sent_places

_READ: Final = 2000
"""Letters of a message that are looked at."""
_BEHIND: Final = re.compile(r"""['"`]?:? (?:['"`](?P<quoted>[^'"`\n]{1,200})['"`]|(?P<word>[^\s'"`]{1,200}))""")
"""What stands right behind a name, without a comma between them."""
_OF_SENTENCES: Final = word_set(
    "in on at of for from to with by and or as is was are not the a an this that found sent given passed provided"
    " detected specified supplied while during when"
)
"""Words with which a sentence goes on behind a name. A value may be such a word, but then it is not told apart."""


def with_value_behind_name(error: Violation, request: Request) -> Violation:
    """Return an error about an unknown member as one about a value, where a value that was sent follows the name.

    If it is the value of the member itself, the place stays. If it is another one, the place is yet to be found.
    """
    if error.constraint != "additionalProperties" or not error.pointer:
        return error
    behind = _behind(segments(error.pointer)[-1], error.message[:_READ])
    if not behind:
        return error
    if _written(value_at(request, error.pointer)) in behind:
        return as_value(error)
    sent = list(sent_places(request))
    spend(len(sent) // PLACES_A_STEP)
    is_value = any(_written(one.value) in behind for one in sent)
    return as_value(error)._replace(pointer="") if is_value else error


def as_value(error: Violation) -> Violation:
    """Return an error about an unknown name as one about a value: what it lists are values that are known."""
    choices = choices_in(error.message)
    listed = listed_values(error) or (list(choices.items) if choices is not None else [])
    return error._replace(constraint="enum", stated={"enum": listed} if listed else {})


def _behind(name: str, message: str) -> frozenset[str]:
    """Return the word behind a name, with and without a mark at its end; empty where the sentence goes on there."""
    spend()
    told = re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", message)
    following = None if told is None else _BEHIND.match(message, told.end())
    if following is None:
        return frozenset()
    if following["quoted"] is not None:
        return frozenset({following["quoted"]})
    word = following["word"]
    plain = word.rstrip(".,;:!)")
    return frozenset({word, plain} - {""}) if plain.lower() not in _OF_SENTENCES else frozenset()


def _written(value: Json) -> str:
    return scalar_text(value) if isinstance(value, str | int | float) else ""
