"""The constraint that the sentence of an error states, as JSON Schema keywords.

`must be less than or equal to 200` states `{"maximum": 200}`, `expected one of 'a', 'b'` states `{"enum": ["a", "b"]}`.
Only obligations count (`must be`, `should be`, `not a valid`), so that a sentence that tells of something else, or
describes what was sent, states nothing.
"""

from __future__ import annotations

import re
from typing import Final

import re2

from corrigible.rules.budget import spend
from corrigible.rules.pattern import compiled
from corrigible.rules.safety.time_span import GO_DURATION
from corrigible.schema.exchange import Json

from .go_duration import is_unread_duration
from .go_json import BYTES, decode_error
from .lists import Listed, read_list
from .pattern_list import PatternList
from .shown_form import shown_form

_LONGEST: Final = 2000
_A_SEARCH: Final = 10
_NUMBER: Final = r"(?P<n>-?\d{1,15}(?:\.\d{1,9})?)(?![\w,]|\.\d)"
_TO_BE: Final = (
    r"(?:must|should|shall|ha(?:s|ve) to|needs? to|expected(?: \w{1,20}){0,3}(?: to)?|required to|ensure"
    r" [\w ]{1,40}? (?:is|has|are|have)"
    r"|can only|may only|only)(?: be| have| contain| a)?(?: a)?(?: value| number| string| length| size)?(?: of|"
    r" that is| be)?"
)
_NOT_TO_BE: Final = (
    r"(?:must not|mustn't|should not|may not|can ?not|can't|not|no)(?: be| have| contain| exceed)?(?: a)?"
    r"(?: value| length)?"
)
_UNIT: Final = (
    r"(?:\s(?P<unit>characters?|character\(s\)|chars?|letters?|symbols?|bytes|items?|item\(s\)|elements?|"
    r"element\(s\)|entries|rows)"
    r"(?![a-z]))?"
)
_DIGIT: Final = re.compile(r"\d")
_LENGTH: Final = re.compile(
    r"\b(?:length|long(?:er)?|short(?:er)?|characters?|chars|letters|size of the string)(?![a-z])", re.IGNORECASE
)
_EXCLUSIVE: Final = re.compile(r"\b(?:exclusive(?:ly)?|strictly)\b", re.IGNORECASE)
_OTHER_UNIT: Final = re.compile(
    r"\s?(?P<unit>words?|lines?|sentences?|paragraphs?|[kmg]i?b|kilobytes?|megabytes?|gigabytes?|minutes?|mins?|hours?"
    r"|days?|weeks?|months?|years?)\b",
    re.IGNORECASE,
)
_ITEMS: Final = re.compile(r"\b(?:items?|elements?|entries|rows)(?![a-z])", re.IGNORECASE)


_BOUNDS: Final = (
    ("maximum", rf"{_TO_BE} (?:less|smaller|lower|fewer|shorter) than or (?:be )?equal to {_NUMBER}{_UNIT}"),
    ("maximum", rf"{_TO_BE} (?:at most|up to|no (?:more|greater|larger|longer|higher) than|not (?:more|greater)"
        rf" than|(?:a )?maximum(?: of)?|max|<=) ?{_NUMBER}{_UNIT}"),
    ("maximum", rf"{_NOT_TO_BE} (?:(?:more|greater|larger|bigger|longer|higher) than|over|above|exceed)"
        rf" {_NUMBER}{_UNIT}"),
    ("maximum", rf"\b(?:must not|should not|may not|can ?not|can't|not) exceed {_NUMBER}{_UNIT}"),
    ("maximum", rf"\b(?:greater|more|larger|longer|bigger|higher) than (?:the )?(?:maximum|limit|max)(?:"
        rf" allowed)?(?: value| length| size)?(?: of| is)?:? {_NUMBER}{_UNIT}"),
    ("maximum", rf"\bexceeds? (?:the |its )?(?:maximum|limit|max)(?: allowed| permitted)?(?: value| length|"
        rf" size| limit)?(?: of| is)?:? \(?{_NUMBER}{_UNIT}"),
    ("maximum", rf"\b(?:maximum|max)(?: allowed| permitted)?(?: value| length| size| limit)?(?: is| of|:)"
        rf" {_NUMBER}{_UNIT}"),
    ("maximum", rf"\b(?:maximum|max) (?:accepted|allowed|permitted|supported) (?:value|length|size|limit)"
        rf"(?: is|:)? {_NUMBER}"),
    ("maximum", rf"\blonger than maximum length {_NUMBER}"),
    ("maximum", rf"\bhas? at most {_NUMBER}{_UNIT}"),
    ("minimum", rf"{_TO_BE} (?:greater|more|larger|higher|longer) than or (?:be )?equal to {_NUMBER}{_UNIT}"),
    ("minimum", rf"{_TO_BE} (?:at least|no (?:less|fewer|shorter|smaller|lower) than|not (?:less|fewer) than|"
        rf"(?:a )?minimum(?: of)?|min|>=) ?{_NUMBER}{_UNIT}"),
    ("minimum", rf"{_NOT_TO_BE} (?:(?:less|fewer|smaller|shorter|lower) than|below|under) {_NUMBER}{_UNIT}"),
    ("minimum", rf"\b(?:less|fewer|smaller|shorter|lower) than (?:the )?(?:minimum|min)(?: allowed)?(?: value|"
        rf" length| size)?(?: of| is)?:? {_NUMBER}{_UNIT}"),
    ("minimum", rf"\b(?:minimum|min)(?: allowed)?(?: value| length| size)?(?: is| of|:) {_NUMBER}{_UNIT}"),
    ("minimum", rf"\bminimum string length is {_NUMBER}"),
    ("maximum", rf"\bmaximum string length is {_NUMBER}"),
    ("minimum", rf"\bshorter than minimum length {_NUMBER}"),
    ("exclusiveMaximum", rf"{_TO_BE} (?:(?:less|smaller|lower|fewer|shorter) than|below|under|<) ?{_NUMBER}{_UNIT}"),
    ("exclusiveMinimum", rf"{_TO_BE} (?:(?:greater|more|larger|higher|longer) than|above|over|>) ?{_NUMBER}{_UNIT}"),
    # msgspec: "Expected `int` <= 200", "Expected `str` of length >= 3"; Valibot: "Expected <=200 but received 500"
    ("maximum", rf"\bexpected (?:[`'\"]\w{{1,20}}[`'\"] )?(?:of length )?<= ?{_NUMBER}"),
    ("minimum", rf"\bexpected (?:[`'\"]\w{{1,20}}[`'\"] )?(?:of length )?>= ?{_NUMBER}"),
    ("maximum", rf"{_TO_BE} {_NUMBER}{_UNIT} or (?:less|fewer|shorter|lower|below)"),
    ("minimum", rf"{_TO_BE} {_NUMBER}{_UNIT} or (?:more|longer|greater|higher|above)"),
    ("maximum", rf"\bat most {_NUMBER}(?P<unit> (?:characters?|chars|items?|elements?)(?![a-z]))"),
    ("minimum", rf"\bat least {_NUMBER}(?P<unit> (?:characters?|chars|items?|elements?)(?![a-z]))"),
    ("maximum", rf"\bis not (?:less|smaller) or equal to {_NUMBER}"),
    ("minimum", rf"\bis not (?:greater|more) or equal to {_NUMBER}"),
    ("multipleOf", rf"{_TO_BE} (?:a )?(?:multiple of|divisible by) {_NUMBER}"),
)  # fmt: skip
_BOUND: Final = PatternList(*(text for _, text in _BOUNDS))
_RANGE: Final = PatternList(
    # ASP.NET's StringLength
    r"\bminimum length of (?P<low>\d{1,9}) and (?:an? )?maximum length of (?P<high>\d{1,9})",
    r"greater than or equal to (?P<low>-?\d{1,15}(?:\.\d{1,9})?) and less than or equal to (?P<high>-?\d{1,15}"
    r"(?:\.\d{1,9})?)"
    r"(?![\w]|\.\d)",
    r"(?:\bbetween|\bin (?:the )?range(?: of)?|\brange is|\bwithin|\bin the interval|\bfrom) [\[(`]?"
    r"(?P<low>-?\d{1,15}(?:\.\d{1,9})?)`?"
    r"(?: and `?| to |\s?(?:-|"
    "\u2013"
    r"|\.\.|,)\s?)(?P<high>-?\d{1,15}(?:\.\d{1,9})?)(?![\w]|\.\d)",
)
_EXACTLY: Final = PatternList(rf"{_TO_BE} exactly {_NUMBER} (?:characters|chars|letters|digits|symbols)")
_SIGN: Final = PatternList(
    rf"(?:{_TO_BE} (?:a )?(?P<sign>positive|(?:non-?|not )negative|negative)\b|(?P<not>must not|can ?not|may not|should"
    rf" not) be negative)"
)
_PATTERN: Final = PatternList(
    r"\b(?:must|should|does not|doesn't) (?:match|conform to|comply with)(?: the)?"
    r"(?: regex(?:p)?| regular expression| pattern)?"
    r":? ['\"`]?(?P<p>\^[^\s'\"`]{1,200}\$)(?=['\"`]?(?:[\s:;,.]|$))",
)
"""As in `code "a b" must match ^[A-Za-z0-9]+$: invalid`."""
_CHOICES: Final = re.compile(
    r"(?:\bmust match one of|\bone of (?:the )?(?:following|these)(?: values| options| choices)?(?: are)?"
    r"|\b(?:not )?(?:one|any) of(?: the)?(?: values accepted for Enum class)?(?: values| allowed values| options)?"
    r"|\b(?:accepted|allowed|valid|permitted|possible|supported|available|acceptable|known|legal) "
    r"(?:values?|options?|choices?|inputs?|types|names|formats|statuses|states|levels|modes|kinds|constants)"
    r"(?: for [\w.'\"`]{1,60})?(?: are| is| include)?"
    r"|\benum value set|\bexpected values?(?: are| is)?|\bvalue in(?= ?[\[(])|\bin (?:the )?(?:list|enumeration|"
    r"enum|set)|"
    r"\bchoose (?:from|between|one of)"
    r"|\b(?:allowed|permitted|valid|accepted|supported|options|choices)(?: are)?:"
    r"|\b(?:invalid|unknown|unsupported) [\w ]{1,40} (?:\"[^\"\n]{0,60}\"|'[^'\n]{0,60}'): "
    r"(?:must|should) be(?: either)?)"
    r"(?: of)?:? ?(?=\S)",
    re.IGNORECASE,
)
_QUOTED_CHOICES: Final = re.compile(
    r"(?:\b(?:should|must|expected(?: to)?|can only|has to)(?: be)?(?: either| exactly| equal(?: to)?)?:?|\beither,"
    r" expected|\b(?:can|may) be|\b(?:must|should|please|need to|has to) (?:specify|give|set|provide|send|pass)"
    r" [\w ]{1,60}? (?:as|to|to be|to either|as either)) (?=['\"`“])",
    re.IGNORECASE,
)
_END: Final = re.compile(r"\s*(?:[.;)!]*\s*$|[.;)\n]\s)")
_NO_CHOICES: Final = re.compile(
    r"\b(?:one|any|either|all) of(?: the)?(?: following)? (?:schemas?|types?|fields?|parameters?|properties|"
    r"keys|columns|formats)\b"
    r"|\b(?:contains?|ha(?:s|ve)|includes?) (?:at least |exactly |only )?one of\b"
    r"|\b(?:specify|provide|supply|give|set|send) at least one of\b"
    r"|\bunknown (?:field|member|key|property)|unrecogni[sz]ed (?:field|key)"
    r"|\b(?:is|was|are|been) (?:already )?(?:reserved|taken|in use|used|occupied)\b",
    re.IGNORECASE,
)
"""What lists no values that are allowed there: parts of a schema, names, members, or what is free where a name is
taken."""
_CUES: Final = PatternList(_CHOICES.pattern, _QUOTED_CHOICES.pattern, _NO_CHOICES.pattern)
_LISTED, _QUOTED, _OF_NONE = range(3)
_TYPE_WORDS: Final = (
    r"(?P<t>(?:java\.(?:lang|util|math)\.|system\.)?(?:collections\.generic\.)?(?:u?int(?:eger|8|16|32|64)?|"
    r"[iu](?:8|16|32|64|size)"
    r"|long|short|numeric(?: string)?|numbers?|number|float(?:32|64)?|f32|f64|double|bigdecimal|decimal|"
    r"strings?|str|text|bool(?:ean)?s?"
    r"|objects?|dict(?:ionary)?|map(?:ping)?|hash|struct|arrays?|lists?|sequence|slice|vec|array ?list|seq|integers))\b"
)
_LETTER: Final = re.compile(r"\w")
_TYPE_WORD: Final = re.compile(_TYPE_WORDS + "|null", re.IGNORECASE)
_TYPES: Final = PatternList(
    r"\bexpected (?:type:? |a value of type |an? )?['\"`]?" + _TYPE_WORDS + r"['\"`]?(?:,|;|"
        r" but| got|\.?$| found| to be| at | value)",
    r"\b(?:must|should|has to|needs to|expected to)(?: all)? be (?:(?:associated with|given as|passed as|sent as"
        r"|written as|represented (?:as|by)|encoded as) (?=an? ))?(?:of type |of the type |a valid |an? |valid"
    r" |type |in type )?['\"`]?" + _TYPE_WORDS + r"['\"`]?(?![ -]?(?:than|with|of length|"
        r"between|of at|of (?:\d|words|lines|sentences)|greater|less|that|representing|containing|like"
        r"|such as|matching|in ))",
    r"\bnot (?:a valid |an? |of type |of the type |valid )['\"`]?" + _TYPE_WORDS + r"['\"`]?",
    r"^an? valid " + _TYPE_WORDS + r" is required",
    r"\b(?:convert(?:ed)?|parsed?|deserialize value of type|coerced?)\b[^.]{0,60}? (?:to|into|as|type) "
    r"(?:an? |type )?['\"`]?" + _TYPE_WORDS,
    r"\bdeserialize value of type ['\"`]" + _TYPE_WORDS,
    r"\bfound, " + _TYPE_WORDS + r" expected\b",
    r"\bexpects? (?:an? )?" + _TYPE_WORDS + r"\b",
)  # fmt: skip
_KINDS: Final = (
    (re.compile(r"[iu]?(?:int(?:eger|8|16|32|64)?s?|8|16|32|64|size)|uint\w*|long|short|integers"), "integer"),
    (re.compile(r"num\w*(?: string)?|float\w*|f32|f64|double|\w*decimal"), "number"),
    (re.compile(r"str\w*|text"), "string"),
    (re.compile(r"bool\w*"), "boolean"),
    (re.compile(r"array.*|list.*|seq\w*|slice|vec"), "array"),
    (re.compile(r"object.*|dict\w*|map\w*|hash"), "object"),
)
_STRUCT: Final = "struct"


def limits_in(message: str) -> dict[str, Json]:
    """Return the JSON Schema keywords that a message states about the value it is about."""
    if not message or len(message) > _LONGEST:
        return {}
    spend(_A_SEARCH)
    if (go := decode_error(message)) is not None:
        if go.type == BYTES:
            return {"type": "string", "format": "byte"}
        return {"type": go.type} if go.type else {}
    if is_unread_duration(message):
        return {"pattern": GO_DURATION}
    if shown := shown_form(message):
        return {"pattern": shown}
    stated: dict[str, Json] = {}
    listed = choices_in(message)
    if listed is not None:
        return {"enum": list(listed.items)}
    if _DIGIT.search(message) is not None:
        stated |= _bounds(message)
    if not stated and (sign := _SIGN.search(message)) is not None:
        word = (sign.match["sign"] or "").lower()
        stated[
            "exclusiveMinimum" if word == "positive" else "exclusiveMaximum" if word == "negative" else "minimum"
        ] = 0
    if not stated and (pattern := _pattern_in(message)):
        return {"pattern": pattern}
    if not stated and (kind := type_in(message)):
        stated["type"] = kind
    return stated


def _pattern_in(message: str) -> str:
    """Return the regular expression that a message gives for the whole value, empty where it gives none."""
    found = _PATTERN.search(message)
    if found is None:
        return ""
    pattern: str = found.match["p"]
    try:
        compiled(pattern)
    except re2.error:
        return ""
    return pattern


def choices_in(message: str) -> Listed | None:
    """Return the closed list of values that a message gives, None where it gives none."""
    cues = _CUES.candidates(message)
    if not cues or (_OF_NONE in cues and _NO_CHOICES.search(message) is not None):
        return None
    for cue in _CHOICES.finditer(message) if _LISTED in cues else ():
        listed = _whole(read_list(message, cue.end()), message, is_announced=cue[0].rstrip().endswith(":"))
        if listed is not None:
            return listed
    quoted = _QUOTED_CHOICES.search(message) if _QUOTED in cues else None
    listed = read_list(message, quoted.end()) if quoted is not None else None
    if listed is None or not listed.items or not listed.is_closed:
        return None
    if len(listed.items) == 1 and quoted is not None and quoted[0].lower().startswith(("can be", "may be")):
        return None
    return listed if all(_is_value(item) for item in listed.items) else None


def _is_value(item: Json) -> bool:
    """Whether a quoted word may be a value: no mark of a parser (`expected "," or "}"`) and no name of a type."""
    return not isinstance(item, str) or (_LETTER.search(item) is not None and _TYPE_WORD.fullmatch(item) is None)


def _whole(listed: Listed, message: str, *, is_announced: bool) -> Listed | None:
    """Return a list whose end is sure: in brackets or quotes, or words with commas up to the end of the sentence.

    One word is a list only after a colon (`must be one of: closed`), and only if it is no word for a set of values.
    """
    if not listed.items or not all(map(_is_value, listed.items)):
        return None
    if listed.is_closed:
        return listed
    is_enough = len(listed.items) > 1 or (is_announced and _OF_SETS.fullmatch(str(listed.items[0])) is None)
    return listed if is_enough and _END.match(message, listed.end) is not None else None


_OF_SETS: Final = re.compile(r"(?i)(?:none|null|nothing|any|all|empty|unknown|undefined|various|above|below|following)")


def _bounds(message: str) -> dict[str, Json]:
    found = _RANGE.search(message)
    if found is not None:
        between = found.match
        low, high = _number(between["low"]), _number(between["high"])
        lower, upper = _sized("minimum", message, ""), _sized("maximum", message, "")
        if low <= high and not _has_other_unit(message, between.end()):
            is_open = lower == "minimum" and _EXCLUSIVE.search(message) is not None
            return {"exclusiveMinimum": low, "exclusiveMaximum": high} if is_open else {lower: low, upper: high}
    exactly = _EXACTLY.search(message)
    if exactly is not None:
        length = _number(exactly.match["n"])
        return {"minLength": length, "maxLength": length}
    bound = _BOUND.search(message)
    if bound is None:
        return {}
    keyword, match = _BOUNDS[bound.number][0], bound.match
    if _has_other_unit(message, match.end()):
        return {}
    number, unit = _number(match["n"]), match.groupdict().get("unit") or ""
    sized = _sized(keyword, message, unit)
    if sized in ("minLength", "minItems") and keyword == "exclusiveMinimum":
        number += 1
    elif sized in ("maxLength", "maxItems") and keyword == "exclusiveMaximum":
        number -= 1
    return {sized: number} if keyword == "multipleOf" or _is_sane(sized, number) else {}


def _has_other_unit(message: str, at: int) -> bool:
    """Whether a number is followed by a unit that the value need not have: `at most 3 words`, `up to 5 minutes`.

    What is called after its unit has it: `retention_days must be at most 30 days`.
    """
    unit = _OTHER_UNIT.match(message, at)
    return unit is not None and unit["unit"].lower().removesuffix("s") not in message[: unit.start()].lower()


def _is_sane(keyword: str, number: float) -> bool:
    return number >= 0 or not keyword.endswith(("Length", "Items"))


def _sized(keyword: str, message: str, unit: str) -> str:
    """Return the keyword for a length or a number of elements where the sentence is about those."""
    if keyword == "multipleOf":
        return keyword
    about = unit or message
    end = "Length" if _LENGTH.search(about) or unit == "bytes" else "Items" if _ITEMS.search(about) else ""
    if not end:
        return keyword
    return ("min" if "inimum" in keyword else "max") + end


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def type_in(message: str) -> str:
    """Return the JSON type that a message asks for, empty where it asks for none."""
    found = _TYPES.search(message)
    if found is None:
        return ""
    word = found.match["t"].lower().rpartition(".")[2]
    if word == _STRUCT:
        return "object"
    return next((kind for words, kind in _KINDS if words.fullmatch(word)), "")
