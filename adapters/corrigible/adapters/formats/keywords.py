"""What a complaint states about its place beside its text: the keyword of its code, and its structured members."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from corrigible.adapters.formats.message.limits import limits_in, type_in
from corrigible.adapters.formats.message.lists import read_list
from corrigible.adapters.formats.message.shown_form import is_of_moment
from corrigible.schema.exchange import Json

KEYWORDS: Final = frozenset(
    {
        *("enum", "const", "required", "type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("multipleOf", "minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems"),
        *("additionalProperties", "unevaluatedProperties", "anyOf", "oneOf", "allOf", "not", "minProperties"),
        *("maxProperties", "dependentRequired"),
    }
)
"""JSON Schema's own, as ajv, Prism and express-openapi-validator give them."""

_CODES: Final[Mapping[str, str]] = {
    # Jakarta Bean Validation, FluentValidation, DRF, Go's validator, Joi, Zod, Vine, Symfony, OData and others:
    # letters and digits only, in lower case.
    **dict.fromkeys(
        (
            *("required", "missing", "notnull", "notblank", "notempty", "isnotempty", "isdefined", "presence", "blank"),
            *("anyrequired", "valueerrormissing", "missingfield", "missingargument", "missingparameter"),
            *("notnullvalidator", "notemptyvalidator", "parametermissing", "requiredfield", "missingrequired"),
            *("missingrequiredfield", "missingrequiredparameter", "required_error", "fieldrequired", "fieldismissing"),
        ),
        "required",
    ),
    **dict.fromkeys(
        (
            *("objectunknown", "unrecognizedkeys", "unknownfield", "unknownproperty", "extraforbidden", "unknown"),
            *("whitelistvalidation", "unrecognizedfield", "unknownparameter", "unexpectedproperty", "extrafields"),
            *("unpermittedparameter", "unrecognizedproperty", "additionalproperty", "valueerrorextra"),
        ),
        "additionalProperties",
    ),
    **dict.fromkeys(
        (
            *("enum", "literalerror", "anyonly", "oneof", "isenum", "isin", "invalidchoice", "invalidenumvalue", "in"),
            *("inclusion", "enumvalidator", "invalidenum", "choice", "allowedvalues", "invalidoption"),
        ),
        "enum",
    ),
    **dict.fromkeys(("min", "decimalmin", "gte", "numbermin", "greaterthanequal", "minvalue"), "minimum"),
    **dict.fromkeys(("positiveorzero", "greaterthanorequal", "greaterthanorequalvalidator"), "minimum"),
    **dict.fromkeys(("max", "decimalmax", "lte", "numbermax", "lessthanequal", "maxvalue"), "maximum"),
    **dict.fromkeys(("negativeorzero", "lessthanorequal", "lessthanorequalvalidator"), "maximum"),
    **dict.fromkeys(("positive", "gt", "numbergreater", "numberpositive", "greaterthan"), "exclusiveMinimum"),
    **dict.fromkeys(("negative", "lt", "numberless", "numbernegative", "lessthan"), "exclusiveMaximum"),
    **dict.fromkeys(("minlength", "stringmin", "stringtooshort", "minimumlengthvalidator"), "minLength"),
    **dict.fromkeys(("maxlength", "stringmax", "stringtoolong", "maximumlengthvalidator"), "maxLength"),
    **dict.fromkeys(("arraymin", "arrayminsize", "minitems", "listtooshort"), "minItems"),
    **dict.fromkeys(("arraymax", "arraymaxsize", "maxitems", "listtoolong"), "maxItems"),
    **dict.fromkeys(("pattern", "matches", "regex", "stringpatternbase", "stringpatternmismatch"), "pattern"),
    **dict.fromkeys(("numbermultiple", "multipleof", "notmultipleof", "isdivisibleby"), "multipleOf"),
    **dict.fromkeys(("uniqueitems", "arrayunique", "unique_items"), "uniqueItems"),
    **dict.fromkeys(
        (
            *("email", "isemail", "stringemail", "url", "uri", "isurl", "invaliddate", "isuuid", "uuid", "stringguid"),
            *("dateformat", "dateformatiso", "isdatestring", "datetimeparsing", "dateparsing", "uuidparsing", "format"),
        ),
        "format",
    ),
    **dict.fromkeys(
        (
            *("type", "typemismatch", "invalidtype", "isstring", "isnumber", "isint", "isboolean", "isarray"),
            *("isobject", "numberbase", "stringbase", "booleanbase", "arraybase", "objectbase", "notalist"),
            "numberinteger",
        ),
        "type",
    ),
}  # fmt: skip
_TYPE_OF_CODE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("isstring", "stringbase", "stringtype"), "string"),
    **dict.fromkeys(("isnumber", "numberbase"), "number"),
    **dict.fromkeys(("isint", "numberinteger", "intparsing", "inttype", "intfromfloat"), "integer"),
    **dict.fromkeys(("isboolean", "booleanbase", "boolparsing", "booltype"), "boolean"),
    **dict.fromkeys(("isarray", "arraybase", "listtype", "notalist"), "array"),
    **dict.fromkeys(("isobject", "objectbase", "dicttype", "modeltype", "modelattributestype"), "object"),
}
_LISTS: Final = (
    *("enum", "allowedValues", "allowed_values", "allowed", "options", "choices", "validValues", "valid_values"),
    *("acceptedValues", "accepted_values", "possibleValues", "possible_values", "permitted", "permittedValues"),
    *(
        "valids",
        "enum_values",
        "enumValues",
        "values",
        "expected",
        "supportedValues",
        "supported_values",
        "validOptions",
    ),
)
"""Members that hold a closed list: ajv's `allowedValues`, Joi's `valids`, Zod's `options` and `values`."""
_LIST_NAMES: Final = frozenset(_LISTS)
_LIMITS: Final[Mapping[str, str]] = {
    **{name: name for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern")},
    **{name: name for name in ("minLength", "maxLength", "minItems", "maxItems")},
    **{"ge": "minimum", "gte": "minimum", "min": "minimum", "min_value": "minimum", "minValue": "minimum"},
    **{"le": "maximum", "lte": "maximum", "max": "maximum", "max_value": "maximum", "maxValue": "maximum"},
    **{"gt": "exclusiveMinimum", "lt": "exclusiveMaximum", "multiple_of": "multipleOf", "regex": "pattern"},
    **{"min_length": "minLength", "max_length": "maxLength", "MinLength": "minLength", "MaxLength": "maxLength"},
    **{"{{ min }}": "minimum", "{{ max }}": "maximum", "From": "minimum", "To": "maximum", "divisor": "multipleOf"},
}
"""Members that hold a limit: pydantic's `ctx`, Zod's issues, Vine's `meta`, Symfony's parameters."""
_OF_THE_CODE: Final = (
    *("limit", "limit_value", "param", "comparisonValue", "ComparisonValue", "allowedValue", "{{ limit }}"),
    *("{{ compared_value }}", "comparison_value", "requirement", "constraint_value", "expectedValue"),
)
"""Members that hold the limit of the keyword that the code says: ajv's and Joi's `limit`, Go's `param`."""
_NESTED: Final = (
    "extensions",
    "params",
    "ctx",
    "context",
    "meta",
    "parameters",
    "attributes",
    "formattedMessagePlaceholderValues",
)
_LENGTHS: Final[Mapping[str, str]] = {"minimum": "min", "maximum": "max", "minLength": "min", "maxLength": "max"}
_TEXTS: Final = frozenset({"string", "str", "text"})
_ARRAYS: Final = frozenset({"array", "list", "set", "tuple", "slice"})
_MOST_CHOICES: Final = 300


def keyword_of(code: str) -> str:
    """Return the JSON Schema keyword that an error code of any framework stands for, empty where it is none."""
    if not code or len(code) > _LONGEST_CODE:
        return ""
    if code in KEYWORDS:
        return code
    return _CODES.get(_plain(code), "")


_LONGEST_CODE: Final = 60


def stated_keywords(code: str, keyword: str, native: Mapping[str, Json], message: str) -> dict[str, Json]:
    """Return the JSON Schema keywords that a complaint states: its members before its text."""
    members: dict[str, Json] = dict(native)
    for name in _NESTED:
        inner = native.get(name)
        if isinstance(inner, dict):
            members |= inner
    stated = _listed(members, keyword)
    if not stated:
        stated = _limits(members, code, keyword)
    if not stated and keyword in ("", "type") and (kind := _TYPE_OF_CODE.get(_plain(code))):
        stated = {"type": kind}
    if (
        not stated
        and isinstance(members.get("expected"), str)
        and (kind := type_in(f"expected {members['expected']}."))
    ):
        stated = {"type": kind}
    if not stated:
        stated = limits_in(message)
    if keyword in ("required", "additionalProperties"):
        stated.pop("type", None)
    return stated


_SEPARATORS: Final = re.compile(r"[^a-z0-9]")


def _plain(code: str) -> str:
    return _SEPARATORS.sub("", code.lower())


def _listed(members: Mapping[str, Json], keyword: str) -> dict[str, Json]:
    for name in _LISTS if not _LIST_NAMES.isdisjoint(members) else ():
        value = members.get(name)
        if isinstance(value, list) and value and len(value) <= _MOST_CHOICES and all(map(_is_scalar, value)):
            if name in ("values", "expected", "enum") or keyword in ("", "enum"):
                return {"enum": list(value)}
        elif isinstance(value, str) and name in ("expected", "permitted", "values", "allowed"):
            listed = read_list(value)  # pydantic: "'a', 'b' or 'c'", Valibot: '("a" | "b")'
            enough = len(listed.items) > 1 or (keyword == "enum" and listed.items)
            if enough and keyword in ("", "enum") and listed.is_closed and not value[listed.end :].strip(" )"):
                return {"enum": list(listed.items)}
    choices = members.get("{{ choices }}")
    if isinstance(choices, str) and (listed := read_list(choices)).items and listed.is_closed:
        return {"enum": list(listed.items)}
    param = members.get("param")
    if keyword == "enum" and isinstance(param, str) and " " in param.strip():
        return {"enum": param.split()}  # Go's validator: `oneof=a b c`
    return {}


def _limits(members: Mapping[str, Any], code: str, keyword: str) -> dict[str, Json]:
    about = str(members.get("origin") or members.get("type") or "").lower()
    is_text, is_array = (
        about in _TEXTS or "string" in code.lower(),
        about in _ARRAYS or code.startswith(("array", "list")),
    )
    if _plain(code) in ("tooshort", "toolong") and members.get("actual_length") is not None:
        is_array = True  # pydantic's, of a list
    stated: dict[str, Json] = {}
    for name, value in members.items():
        limited = _LIMITS.get(name) or (keyword if name in _OF_THE_CODE else "")
        if not limited or limited in ("required", "additionalProperties", "enum", "type", "format"):
            continue
        if limited == "pattern":
            if isinstance(value, str) and _is_pattern(value):
                stated["pattern"] = value
            continue
        number = _number(value)
        if number is None:
            continue
        if limited in ("minimum", "maximum") and members.get("inclusive") is False:
            limited = "exclusiveMinimum" if limited == "minimum" else "exclusiveMaximum"
        if limited in ("minimum", "maximum") and keyword.endswith(("Length", "Items")):
            limited = limited[:3] + keyword[3:]
        elif limited in _LENGTHS and (is_text or is_array):
            limited = _LENGTHS[limited] + ("Items" if is_array else "Length")
        if _is_schema(limited, number):
            stated[limited] = number
    return stated


def _is_pattern(text: str) -> bool:
    """Whether a text is a regular expression: it goes to those who check a value by it."""
    try:
        re.compile(text[:_LONGEST_PATTERN])
    except (re.error, OverflowError, RecursionError):
        return False
    return len(text) <= _LONGEST_PATTERN


_LONGEST_PATTERN: Final = 200


def _is_schema(keyword: str, number: float) -> bool:
    """Whether JSON Schema takes a number for a keyword (2020-12, sections 6.2.1, 6.3 and 6.4 of its validation)."""
    if keyword.endswith(("Length", "Items")):
        return number >= 0 and float(number).is_integer()
    return keyword != "multipleOf" or number > 0


def keywords_of_arguments(code: str, arguments: Sequence[Json]) -> dict[str, Json]:
    """Return what Spring's `arguments` state: the member, then the limits of the annotation in alphabetical order."""
    numbers = [number for one in arguments[1:] if (number := _number(one)) is not None]
    if code in ("Size", "Length") and len(numbers) == 2:
        return {"maxLength": numbers[0], "minLength": numbers[1]}
    if code == "Range" and len(numbers) == 2:
        return {"maximum": numbers[0], "minimum": numbers[1]}
    keyword = keyword_of(code)
    return {keyword: numbers[0]} if keyword in ("minimum", "maximum") and len(numbers) == 1 else {}


def _number(value: Json) -> int | float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,15}(?:\.\d{1,9})?", value):
        return float(value) if "." in value else int(value)
    return None


def _is_scalar(value: Json) -> bool:
    return not isinstance(value, (dict, list))


def fit_keywords(stated: Mapping[str, Json], value: Json) -> Mapping[str, Json]:
    """Name limits as those of the value: `max` of a list limits its elements, whatever the validator calls it.

    The form of a date is not that of a word.
    """
    if isinstance(value, str) and is_of_moment(stated) and not any(map(str.isdigit, value)):
        return {}
    if isinstance(value, str) and not _NUMERIC.fullmatch(value):
        return {_OF_TEXT.get(keyword, keyword): limit for keyword, limit in stated.items()}
    if isinstance(value, list):
        return {_OF_LIST.get(keyword, keyword): limit for keyword, limit in stated.items()}
    return stated


_NUMERIC: Final = re.compile(r"\s*[-+]?[\d.,]{1,40}\s*")
_OF_TEXT: Final[Mapping[str, str]] = {"minimum": "minLength", "maximum": "maxLength"}
_OF_LIST: Final[Mapping[str, str]] = {**_OF_TEXT, "minLength": "minItems", "maxLength": "maxItems"} | {
    "minimum": "minItems",
    "maximum": "maxItems",
}
