"""What an error of a gRPC call is about: its sentence alone, the code that the sentence stands for, its place.

Knows: one error, the request, what the method declares. Does not know: descriptions, the answer around the error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from corrigible.adapters.formats.message.complaint import told_state
from corrigible.adapters.formats.message.names_told import names_in_message
from corrigible.adapters.formats.message.sent_values import (
    SentValue,
    is_label,
    is_only_around,
    says_absent,
    value_mentioned,
)
from corrigible.adapters.formats.message.told_code import is_fault, told_code, without_codes
from corrigible.adapters.vocabulary import Vocabulary
from corrigible.rules.pointer import MISSING, value_at
from corrigible.rules.schema_repair.suggestion import is_secret
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Request

from .field_names import blank_told, map_key, nested_name, required_of_list
from .lack_in_call import (
    left_empty_named,
    metadata_missing,
    place_of_condition,
    read_of_nothing,
    required_beside,
    what_is_required,
)
from .likely_fields import fields_of_failure, fields_told, likely_fields, likely_names, number_told, value_at_end
from .place_by_message import (
    place_by_text,
    suspected_place,
)
from .place_by_path import left_empty
from .place_in_call import (
    field_named,
    place_of_lack,
    place_of_mismatch,
    reference_named,
)
from .place_in_list import element_told, list_told, list_too_long
from .place_of_content import is_of_bytes, is_of_query, place_of_content
from .printed_in_call import place_of_python_call, without_printed

_NO_CODE: Final = frozenset({"UNKNOWN", "INTERNAL"})
"""Codes of google.rpc that a service sends which chose none, or wraps another one's."""
_SERVER_ERROR: Final = 500
_READ: Final = 500
_OF_REQUEST: Final = frozenset({"INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "OUT_OF_RANGE"})
_OF_LENGTHS: Final = frozenset({"INVALID_ARGUMENT", "OUT_OF_RANGE"})
OF_REFERENCES: Final = frozenset({"NOT_FOUND", "ALREADY_EXISTS"})
_OF_ABSENCE: Final = frozenset({"INVALID_ARGUMENT", "FAILED_PRECONDITION"})
"""Codes that some services send for a thing that is not there, where its name was left out."""
_OF_MISMATCH: Final = frozenset({"PERMISSION_DENIED", "FAILED_PRECONDITION"})
"""Codes that some services send for a value which the request has to have, and has not."""
_OF_LACKS: Final = frozenset({"INVALID_ARGUMENT", "FAILED_PRECONDITION", "UNKNOWN"})
_OF_FIELDS: Final = frozenset({"INVALID_ARGUMENT", "OUT_OF_RANGE", "UNKNOWN"})
_WITHOUT_A_WORD: Final = re.compile(
    r"(?i)\W*(?:(?:an? )?(?:unexpected|unknown|unhandled|application)? ?(?:server )?(?:error|exception|failure)"
    r"(?: (?:in|while|during) (?:the )?(?:rpc )?(?:handling|processing|call)| processing rpc| occurred"
    r"| calling application)?"
    r"|none|null|unknown|something went wrong|no message)?\W*"
)
"""What runtimes send for an exception that nobody caught: gRPC's for Java and C++, and services that hide the cause."""
_OWN: Final = re.compile(r"\b(?:Type|Attribute|Name|Import|Memory|Recursion)Error\b")
"""Exceptions of Python that tell of the program, not of what was sent."""
_CHOICES: Final = re.compile(
    r"(?i)(?<=\w)['\"\)]?[.;,:]? \(?(?:valid|available|known|allowed|supported|possible|existing|defined) "
    r"(?:[a-z]+ )?(?:are|include)?:? ?[\['\"{].{0,2000}$",
    re.DOTALL,
)
"""What would do, behind a sentence: names that were sent as well are not what is wrong."""
_CLASS_LINE: Final = re.compile(r"(?<!\s)(?=[^\S\n]*\n)\s++(?:[a-z]\w*\.){1,12}[A-Z][\w$]*(?:Exception|Error)\W*$")
"""The class of an exception on a line of its own, below what it says."""
_OF_FORM: Final = re.compile(
    r"(?i)^\W*(?:invalid|malformed|illegal)\b(?! (?:\w+ )?(?:state|status|phase|transition))|\bexpected format\b"
    r"|\bis not (?:a )?valid\b|\bmust match\b"
    r"|\bis (?:not|n't) an? (?:regular )?(?:file|directory|folder|number|date|url|uri)\b"
)
"""Words of sentences about how a value is written."""


def read_call(error: Violation, exchange: Exchange, declared: Callable[[], Vocabulary]) -> tuple[Violation, str]:
    """Return an error of a gRPC call with its sentence alone, and the code that the sentence stands for, if any."""
    if error.pointer.startswith(("/path", "/query")):
        error = error._replace(pointer="")  # a call has neither: `Invalid query` is about one of its fields
    if error.message:
        error = error._replace(message=without_printed(error.message, exchange.request))
    code = told_code(error.message) if error.type in _NO_CODE else ""
    if exchange.status == _SERVER_ERROR and error.type in _OF_REQUEST:
        code = error.type  # it stands in the text
    if error.type in _NO_CODE and error.message:
        request, vocabulary = exchange.request, declared()
        if is_of_query(error.message, request, vocabulary) or is_of_bytes(error.message, request, vocabulary):
            code = "INVALID_ARGUMENT"  # whatever is not there, the query names it
    if code:
        error = error._replace(message=without_codes(error.message))
    error = error._replace(message=_CLASS_LINE.sub("", error.message))
    if lacking := place_of_lack(error.message, exchange.request, declared):
        error = error._replace(pointer=lacking, constraint="required")
    return error, code


def told_in_call(
    error: Violation,
    code: str,
    request: Request,
    vocabulary: Vocabulary,
    sent: Sequence[SentValue],
    *,
    any_text: bool,
) -> tuple[Violation, str]:
    """Return an error of a gRPC call with what its sentence tells, and its place."""
    message = _CHOICES.sub("", error.message)
    if (code or error.type) == "NOT_FOUND" and told_state(message) is not None:
        return error, ""  # it is there, in another state
    if error.type in _OF_MISMATCH and (place := place_of_mismatch(message, sent)):
        return error._replace(type="INVALID_ARGUMENT", constraint="", stated={}), place
    if place := left_empty_named(message, request, vocabulary) or left_empty(message, request, vocabulary):
        return error._replace(constraint="required"), place
    if error.type in _OF_LACKS and (
        place := read_of_nothing(message, request, vocabulary)
        or required_beside(message, request, vocabulary, sent)
        or what_is_required(message, request, vocabulary, sent)
        or metadata_missing(message, request)
    ):
        return error._replace(constraint="required" if is_unset(place, request) else ""), place
    if place := required_of_list(message, request, vocabulary):
        return error._replace(constraint="required"), place
    if place := map_key(message, sent, vocabulary) or blank_told(message, sent):
        return error, place
    if place := list_told(message, request, vocabulary) or element_told(message, sent, vocabulary):
        return error, place
    if (code or error.type) in _OF_LENGTHS and (place := list_too_long(message, sent)):
        return error, place
    place = (
        nested_name(message, sent)
        or place_by_text(error, request, vocabulary, sent)
        or value_mentioned(message, sent, any_text=any_text)
    )
    if place and error.type in _OF_FIELDS and is_label(message, sent, place):
        place = ""
    if place and place == place_of_condition(message, sent):
        place = ""
    if place and is_only_around(message, sent, place) and not says_absent(message):
        worded = [one for one in names_in_message(message, sent) if one != place]
        place = worded[0] if len(worded) == 1 else ""
        if not place:
            return error, ""  # what is wrong there is not told by its value
    if not place and (place := _meant(error, code, request, vocabulary)) and is_unset(place, request):
        is_unnamed = error.type == "FAILED_PRECONDITION"  # there is no state of what is not named
        error = error._replace(constraint="required", type="NOT_FOUND" if is_unnamed else error.type)
    place = place or place_of_python_call(message, sent) or place_of_content(message, request, vocabulary, sent)
    if place and is_unset(place, request) and not error.constraint:
        error = error._replace(constraint="required")
    if error.type == "FAILED_PRECONDITION" and _OF_FORM.search(message[:_READ]) is not None:
        place = place or field_named(message, request, vocabulary) or _only_text(sent)
        if place and not is_secret(place, value_at(request, place)):  # no state makes that valid
            constraint = "required" if is_unset(place, request) else error.constraint
            error = error._replace(type="INVALID_ARGUMENT", constraint=constraint)
    # What it names is not there, whatever state that is. What is asked for would repeat a secret.
    is_absent = bool(place) and error.type == "FAILED_PRECONDITION" and says_absent(message)
    if is_absent and not is_secret(place, value_at(request, place)):
        error = error._replace(type="NOT_FOUND")
    if not place and code:
        place = suspected_place(message.partition("\n")[0], request)
    return error, place


def likely(
    error: Violation, code: str, request: Request, vocabulary: Vocabulary, sent: Sequence[SentValue]
) -> Violation:
    """Return an error of a gRPC call without a place with the few places that it may be about.

    A service that chose no code, and did not fail, mostly refuses what was sent.
    """
    meant = code or error.type
    if meant == "NOT_FOUND":
        is_state = told_state(error.message) is not None
        is_own = error.type in _NO_CODE and "KeyError" in str(
            error.native.get("top", "")
        )  # a name that the service looked for by itself
        is_own |= error.type == "INTERNAL"
        places = [] if is_state or is_own or error.stated else likely_names(error.message, request, vocabulary, sent)
    elif meant in _OF_FIELDS:
        chose_none = error.type in _NO_CODE
        if error.type == "UNKNOWN" and _WITHOUT_A_WORD.fullmatch(error.message) is not None:
            places = fields_of_failure(request, vocabulary, sent)
            return error._replace(native={**error.native, "likely": places}) if places else error
        top = str(error.native.get("top", ""))
        if chose_none and (
            is_fault(error.message) or _OWN.search(top) is not None or told_state(error.message) is not None
        ):
            return error
        is_of_service = error.type == "INTERNAL"
        places = likely_fields(error.message, request, vocabulary, sent, has_words=is_of_service)
        code = "INVALID_ARGUMENT" if chose_none and places else code
    elif meant == "UNIMPLEMENTED":
        places = fields_told(error.message, sent)
    elif error.type == "INTERNAL" and not is_fault(error.message):
        places = [told] if (told := value_at_end(error.message, sent)) else number_told(error.message, sent)
        code = "INVALID_ARGUMENT" if places else code
    else:
        return error
    if places:
        error = error._replace(native={**error.native, "likely": places}, type=code or error.type)._replace(
            constraint="", stated={}
        )
    return error


def _meant(error: Violation, code: str, request: Request, vocabulary: Vocabulary) -> str:
    """Return the field of a gRPC message that an error means without its value."""
    meant = code or error.type
    if meant in _OF_FIELDS and (place := field_named(error.message, request, vocabulary)):
        return place
    if meant in OF_REFERENCES or (meant in _OF_ABSENCE and says_absent(error.message)):
        exists = meant == "ALREADY_EXISTS"
        method = request.method.rpartition("/")[2]
        if place := reference_named(error.message, method, request, vocabulary, exists=exists):
            return place
    return field_named(error.message, request, vocabulary) if code == "NOT_FOUND" else ""


def _only_text(sent: Sequence[SentValue]) -> str:
    texts = [one.pointer for one in sent if not isinstance(one.value, Mapping | list)]
    return texts[0] if len(texts) == 1 else ""


def is_unset(place: str, request: Request) -> bool:
    value = value_at(request, place)
    return value is MISSING or value == ""
