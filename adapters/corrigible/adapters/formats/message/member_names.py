"""What the sentence of an error says: the member that is missing, the one too many, the place it is about.

Only names are taken from it, and only in the fixed sentences of this module, each with the framework that writes it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from corrigible.rules.budget import spend

from .go_duration import is_unread_duration
from .lists import names_in
from .pattern_list import PatternList, PatternMatch


class NamedMember(NamedTuple):
    """A member that a sentence names."""

    member: str = ""
    constraint: str = ""
    """`required` where it is missing, `additionalProperties` where it is one too many."""
    part: str = ""
    """The part of the request, where the sentence names it."""
    others: tuple[str, ...] = ()
    """Further members of which the same sentence says the same."""
    known_names: tuple[str, ...] = ()
    """The names that are known in its place, where the sentence lists them."""


class StatedPath(NamedTuple):
    """A place that a sentence gives as a path."""

    path: str | list[str] = ""
    """As it is written, or its steps."""
    is_sure: bool = False
    """Whether it can be nothing else: a word before a colon can."""
    label: str = ""
    """What stands before it, with a colon: it may be the path."""


_NAME: Final = r"""['"`]?(?P<a>[\w$@:\[\].-]{1,80}?)['"`]?(?:[.,;]?$|[,;\s])"""
_QUOTED: Final = r"""['"`](?P<a>[\w$@:\[\].-]{1,80})['"`]"""
_KIND: Final = (
    r"(?:(?P<where>query|header|path|body|form|cookie) )?(?:(?:string )?param(?:eter)?s?|(?P<header>headers?)"
    r"|propert(?:y|ies)|fields?|arguments?|attributes?|members?|keys?|inputs?|options?)"
)
_PLAIN_KIND: Final = r"(?:param(?:eter)?s?|propert(?:y|ies)|fields?|arguments?|attributes?|members?|keys?|inputs?)"
_SENT: Final = (
    r"(?:(?:request|message|event|post|json|http|form)(?:'s)? )?(?:content|body|json|payload|request|params|form)"
)
_HOLDER: Final = rf"(?:{_SENT}|input|data|object|parameters|arguments|args|document|dict|dictionary|map|hash)"
"""What holds the members that were sent, in a sentence that names it."""
_LACKED: Final = r"(?:is |was )?(?:missing|absent|not(?: found| present| included| contained| given| provided)?)"
_LACKS: Final = r"does(?: not|n't) (?:have|contain|include|specify)"
_PART: Final = r"(?P<where>query|header|path|body|form|formData|cookie)"
_PERHAPS_SEVERAL: Final = (
    r"(?:param(?:eter)?|property|properties|field|key|argument|attribute|input|member|column|value)"
)
_PLURAL: Final = r"\((?:s|es|ies)\)"
"""How one writes that it may be several: `parameter(s)`. It is no list, and no name."""
_LISTED: Final = r"(?P<many>[A-Za-z_$][\w$@.-]{0,79}(?:(?:, ?(?:and )?| and )[A-Za-z_$][\w$@.-]{0,79}){0,30})[.!]?$"
"""Names without quotes that end a sentence."""


_MISSING_WORD: Final = PatternList(
    r"miss|requir|lacks|must|not |n't |has no |absent|expected|without|empty |^no [a-z]+-|="
)
_MISSING: Final = PatternList(
    # go-openapi: "matchers in body is required"
    rf"^\.?(?P<a>[\w$@.\[\]-]{{1,80}}) in {_PART} is required\b",
    # kin-openapi: 'parameter "limit" in query has an error: value is required but missing'
    rf"\bparameter {_QUOTED} in {_PART} has an error: value is required",
    # Rails, before and since 7.2: "param is missing or the value is empty or invalid: user"
    r"\bparam is missing or the value is empty(?: or invalid)?: (?P<a>\w{1,80})",
    # Go's validator: "Key: 'User.Name' Error:Field validation for 'Name' failed on the 'required' tag"
    r"\bKey: '(?P<a>[\w.\[\]-]{1,200})' Error:\s?Field validation for '[\w.\[\]-]{1,80}' failed on the 'required' tag",
    # Newtonsoft: "Required property 'name' not found in JSON"; everit: "required key [name] not found"
    r"""\brequired (?:property|key|field) ['"`\[](?P<a>[\w$@.-]{1,80})['"`\]] (?:was )?(?:not found|not present|"""
    r"""missing)""",
    # kotlinx.serialization: "Field 'name' is required for type with serial name 'User', but it was missing at path: $"
    rf"\bfield {_QUOTED} is required for type\b",
    # kotlinx: "Fields [a, b] are required for type"; openapi4j: 'Object has missing required properties (["a"])'
    r"\bfields (?P<many>\[[^\[\]]{1,400}\]) are required\b",
    # WordPress: "Missing parameter(s): username, email"; by hand: "Missing fields: a, b and c"
    rf"\bmissing (?:the )?(?:following )?(?:(?:required|mandatory) )?(?:{_PERHAPS_SEVERAL}{_PLURAL}:?"
    rf"|{_PERHAPS_SEVERAL}s?:) {_LISTED}",
    rf"\bmissing (?:the )?(?:following )?(?:(?:required|mandatory) )?{_PERHAPS_SEVERAL}{_PLURAL}:? {_NAME}",
    r"\bmissing (?:the )?(?:following )?(?:required|mandatory)?\s?"
    r"(?:property\(ies\)|propert(?:y|ies)|field\(s\)|fields?|parameter\(s\)|param(?:eter)?s?|keys?|arguments?|"
    r"attributes?"
    r"|inputs?|members?|columns?)"
    r"(?: in (?:the )?(?:json|request|body|json data|request body|data|payload|query|form))?:? ?"
    rf"(?P<many>(?!{_PLURAL})[(\[{{].{{1,400}})",
    # by hand: "Missing field in JSON data: path", "Missing property in request body: 'name'"
    rf"\bmissing (?:required )?{_PLAIN_KIND} (?:in|from) (?:the )?(?:json data|json|request body|request|body|"
    rf"data|payload)"
    r":? ['\"`]?(?P<a>[\w$@.-]{1,80})['\"`]?[.!]?$",
    # by hand: "noteId and parentNoteId are mandatory properties for Branch", "a, b and c are required fields"
    r"^(?P<many>['\"`]?[A-Za-z_$][\w$.-]{0,79}['\"`]?(?:, ['\"`]?[A-Za-z_$][\w$.-]{0,79}['\"`]?){0,8},? and"
    r" ['\"`]?[A-Za-z_$][\w$.-]{0,79}['\"`]?) are (?:both |all )?(?:mandatory|required|obligatory)"
    rf"(?: {_PLAIN_KIND})?(?: (?:for|of|in|on|to) .{{1,80}})?[.!]?$",
    # Node: 'The "password" argument must be of type string or an instance of Buffer. Received undefined'
    rf"^the {_QUOTED} (?:argument|property) must be .{{1,400}}[.] received undefined$",
    # msgspec: "Object missing required field `name`"; serde: "missing field `name` at line 1 column 5"
    rf"\bmissing (?:required )?(?:{_PART} )?{_PLAIN_KIND}:? {_QUOTED}",
    # by hand: 'Missing "since" argument', 'Both the "a" and the "b" fields are missing'
    rf"\bmissing (?:the )?(?:required |mandatory )?{_QUOTED} (?:{_KIND}|payload|object|entry)\b",
    r"""\bboth (?:the )?(?P<many>['"`][\w$.-]{1,80}['"`] and (?:the )?['"`][\w$.-]{1,80}['"`])"""
    rf""" (?:{_PLAIN_KIND} )?are (?:missing|required|mandatory)\b""",
    # by hand: 'Replacing this requires the "Force" option to be set to true'
    rf"\brequires (?:an? |the )?{_QUOTED} {_KIND} (?:to be )?(?:set|given|present|specified|provided|true|enabled)\b",
    # by hand: "Import request requires a 'method' field."
    rf"\b(?:must have|requires|lacks|needs)(?: an?| the)? (?:required )?{_QUOTED} {_PLAIN_KIND}[.!]?$",
    rf"\b(?:must have|requires|lacks)(?: an?| the)? (?:required )?{_KIND}(?: (?:named|called))?:? {_NAME}",
    rf"\bmissing (?:required |mandatory )?(?:creator )?{_KIND}:? {_NAME}",
    # AWS: "The request must contain the parameter QueueName."
    rf"\b(?:request|body|call) must contain (?:an? |the )?(?:required )?{_KIND}:? {_NAME}",
    rf"^required {_KIND} {_QUOTED} (?:is (?:not present|missing)|was not)\b",
    rf"(?:^|: ){_QUOTED} is (?:a )?required(?: property| field| parameter)?\b",
    rf"""(?:^|: )(?:the )?{_KIND} ['"`]?(?P<a>[\w$@.-]{{1,80}})['"`]? (?:is (?:required|missing|mandatory)|must"""
    rf""" be set|(?:must not|may not|can(?:not|'t| not)) be (?:null|blank|empty|nil))\b""",
    rf"""^the ['"`]?(?P<a>[\w$@.-]{{1,80}})['"`]? {_KIND} (?:is (?:required|missing|mandatory)|must be set)\b""",
    r"^(?P<a>[a-z_$][\w$@.-]{0,79}) is (?:missing|mandatory|(?:a )?required(?: property| field| parameter)?)"
    r"(?: (?:when|if|unless) .{1,200})?\.?$",
    rf"^(?:{_PLAIN_KIND} )?{_QUOTED} (?:wasn't|was not|must be|has to be|should be) (?:supplied|provided|given|"
    rf"specified|set|present)\b",
    # Hibernate through Dropwizard and others: "name must not be null", "query param limit must not be null"
    rf"^(?:{_PART} param )?(?P<a>[a-z_$][\w$@.\[\]-]{{0,79}}) (?:must not be (?:null|blank|empty)|may not be"
    rf" null|should not be (?:null|undefined))\b",
    # Temporal: "WorkflowId is not set on request."; by hand: "Missing TaskQueue."
    r"^(?P<a>[a-z_$][\w$@.-]{0,79}) (?:is|was) not (?:set|specified|given|provided)\b",
    r"^missing (?P<a>(?-i:[a-z0-9]+(?:_[a-z0-9]+)+|[A-Za-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+))[.!]?$",
    # Go, by hand: "Image.Name required", "validation failed: container.Runtime.Name must be set if Spec is"
    r"(?:^|: )(?P<a>[A-Za-z_]\w{0,79}(?:\.[A-Za-z_]\w{0,79}){1,5}) (?:(?:is |are )?required|(?:must|has to|needs to) be"
    r" (?:set|given|provided|specified)|(?:must not|may not|can ?not) be empty)(?: (?:if|when|unless) [^:]{1,200})?"
    r"(?:[.!:;,]|$)",
    # Go, by hand: "box.ID: identifier must not be empty"
    r"(?:^|: )(?P<a>[A-Za-z_]\w{0,79}(?:\.[A-Za-z_]\w{0,79}){1,5}): (?:(?:the )?(?:identifier|value|name|field|it) )?"
    r"(?:(?:is )?(?:required|missing)|(?:must not|may not|can ?not|can't) be (?:empty|blank))(?:[.!:;,]|$)",
    # Django, by hand: "Path must be set for Local Files storage"
    r"^(?P<a>[A-Za-z_$][\w$@.-]{0,79}) (?:must|has to|needs to) be (?:set|given|provided|specified)"
    r" (?:for|in|when|if|unless)\b.{0,200}$",
    # by hand: "snapshotter argument missing"
    rf"^(?!(?:required|mandatory|query|path|header|body|form|url|request|an?|one|some|this|that|input)\b)"
    rf"['\"`]?(?P<a>[a-z_$][\w$.-]{{0,79}})['\"`]? {_PLAIN_KIND} (?:is |was )?"
    r"(?:missing|required|mandatory)(?:[.!:;,]|$)",
    # Go, by hand: "empty policy name"
    r"^empty (?:[\w-]{1,40} ){0,4}(?P<a>name|id|key|identifier|address)[.!]?$",
    # by hand: "No name provided", "no 'name' given"
    r"""^no ['"`]?(?P<a>[a-z_$][\w$@.-]{0,79})['"`]? (?:was )?(?:provided|given|supplied|specified)\b""",
    # by hand: "You must provide a name", "Please specify 'path'"
    rf"\b(?:must|please|need to|have to) (?:provide|specify|supply|include|give|set|pass)(?: an?| the)?(?: value"
    rf" for)?(?: {_PLAIN_KIND})? {_QUOTED}",
    rf"\bexpected (?:a |the )?{_PLAIN_KIND} {_QUOTED}",
    # by hand: "'name' not in content", "Key 'name' not found in body", "name is missing from the request body"
    rf"(?:^|: )(?:(?:required )?{_PLAIN_KIND} )?{_QUOTED} {_LACKED} (?:in|from) (?:the |your )?{_HOLDER}\b",
    rf"(?:^|: )(?P<a>[a-z_$][\w$.-]{{0,79}}) {_LACKED} (?:in|from) (?:the |your )?{_SENT}\b",
    # WordPress: "Set 'force=true' to delete."
    r"""(?:^|[.;!] )(?:please )?(?:set|use|pass|add|send|specify) ['"`](?P<a>[A-Za-z_$][\w$-]{0,60})=[\w.-]{1,40}"""
    r"""['"`] to (?:permanently |really )?(?:delete|remove|destroy|overwrite|replace|override|proceed|continue"""
    r"|confirm|allow|discard)\b",
    # WordPress: "Sorry, you are not allowed to create this comment without a post."
    r"\bnot (?:allowed|permitted|able) to\b.{1,80} without (?:an? |the |any )"
    r"""['"`]?(?P<a>[a-z_$][\w$.-]{0,79}?)['"`]?[.!]?$""",
    # by hand: "Content has no name key", "body does not contain the 'name' field", "dict has no key 'type'"
    rf"""(?:^|: )['"`](?P<within>[\w$-]{{1,80}})['"`] (?:dict|dictionary|object|map|hash|value|field)"""
    rf""" (?:has no|{_LACKS})(?: an?| the| any)? (?!attribute){_PLAIN_KIND} {_QUOTED}""",
    rf"\b(?!object has no attribute){_HOLDER} (?:has no|{_LACKS})(?: an?| the| any)? (?:{_PLAIN_KIND} )?{_QUOTED}",
    rf"\b{_HOLDER} (?:has no|{_LACKS})(?: an?| the| any)? (?P<a>[a-z_$][\w$.-]{{0,79}}) {_PLAIN_KIND}\b",
    # by hand: "Cannot process without a name", "A job can't be started without the 'queue'"
    r"""\b(?:can(?: ?not|'t)|could(?: not|n't)|unable to|not possible to)\b.{1,80} without (?:an? |the |any )?"""
    r"""['"`]?(?P<a>[a-z_$][\w$.-]{0,79})['"`]?[.!]?$""",
)
_UNKNOWN: Final = PatternList(
    r"""additional propert(?:y|ies); found ['"`](?P<a>[^'"`]{1,80})['"`]""",
    r"""additional properties are not allowed \((?P<many>['"`][^()]{1,400}) w(?:as|ere) unexpected\)""",
    # jsonschema for Node: 'instance.data is not allowed to have the additional property "x"'
    rf"\bnot allowed to have the additional property {_QUOTED}",
    r"""unevaluated properties: ['"`](?P<a>[^'"`]{1,80})['"`]""",
    # Rails: "found unpermitted parameters: :a, :b"
    r"\bunpermitted parameters?: (?P<many>:\w.{0,400})$",
    # Zod: "Unrecognized key(s) in object: 'a', 'b'"; Zod 4: 'Unrecognized keys: "a", "b"'
    r"""\bunrecognized keys?(?:\(s\))?(?: in object)?: (?P<many>['"`].{1,400})$""",
    # everit: "extraneous key [x] is not permitted"; go-openapi: "nam in body is a forbidden property"
    r"\bextraneous key \[(?P<a>[\w$@. -]{1,80})\] is not permitted",
    rf"^\.?(?P<a>[\w$@.\[\]-]{{1,80}}) in {_PART} is a forbidden property\b",
    # Newtonsoft: "Could not find member 'nam' on object of type 'User'"
    rf"\bcould not find member {_QUOTED} on object\b",
    # networknt: "property 'x' is not defined in the schema and the schema does not allow additional properties"
    rf"\bproperty {_QUOTED} is (?:not defined in the schema|unsupported|not declared|not expected)",
    # H2O: "Field not found: 'nam' on object example.User@1f2e"
    rf"\b{_PLAIN_KIND} not (?:found|known|recogni[sz]ed):? {_QUOTED} (?:on|in|of) (?:an? |the )?"
    r"(?:object|class|type|schema|model|struct)\b",
    # graphql-like and by hand: "Input 'secnd' was not found. Available inputs are 'first', 'second'"
    rf"""\b{_PLAIN_KIND} {_QUOTED} (?:was |is |could )?not (?:be )?(?:found|known|recogni[sz]ed|supported|valid)\b""",
    rf"\b(?:unknown|unexpected|unrecogni[sz]ed|unevaluated|undeclared|unsupported|extra|invalid) {_KIND}(?:"
    rf" name)?:? {_QUOTED}",
    rf"\b(?:unknown|unexpected|unrecogni[sz]ed|undeclared|unsupported|extra) {_PERHAPS_SEVERAL}{_PLURAL}:? {_LISTED}",
    # Go: 'json: unknown field "x"'; Jackson: 'Unrecognized field "x" (class ...)'; kotlinx: "Unknown key 'x'"
    rf"\b(?:unknown|unexpected|unrecogni[sz]ed|unevaluated|undeclared) {_KIND}:? {_NAME}",
    rf"(?:^|: )(?:\w+ )?{_KIND} {_QUOTED} (?:is not allowed|does not exist|is unknown|is not permitted"
    r"|should not exist)",
    # Yup: "this field has unspecified keys: colour"
    r"\bunspecified keys: (?P<many>\w.{0,400})$",
    # Strapi: "Invalid key qty at lines"
    r"^invalid key (?P<a>[A-Za-z_$][\w$-]{0,79})(?: at [\w$.\[\]-]{1,200})?$",
    # Joi: '"nam" is not allowed'
    rf"^{_QUOTED} is not allowed$",
    r"^property (?P<a>[\w$@.-]{1,80}) should not exist$",
    # WordPress: "colour is not a valid property of Object."
    r"^['\"`]?(?P<a>[\w$@.-]{1,80})['\"`]? is not an? (?:valid|known|recogni[sz]ed) (?:property|member|key)"
    r" of (?:the )?\w{1,60}\.?$",
    r"^extra (?P<where>query) parameter(?:\(s\))? ['\"`]?(?P<a>[\w$@.-]{1,80})['\"`]? not in spec",
)
_KNOWN_NAMES: Final = re.compile(
    r"(?:expected(?: one of)?|available \w{1,20} are|known (?:properties|fields|members|parameters|keys)"
    r"(?: are)?:?|allowed (?:properties|fields|parameters|keys)(?: are)?:?|valid (?:fields|parameters|keys|options"
    r"|properties)(?: are)?:?|(?:allowed|valid|known|supported)(?: are)?(?=:)"
    r"|possible (?:fields|keys) are:?|did you mean(?: one of)?|must be one of|choose from)"
    r":? (?P<many>['\"`\[].{1,1000})",
    re.IGNORECASE | re.DOTALL,
)
_SUBJECT: Final = PatternList(
    rf"\bfor (?P<where>query|path|header) parameter {_QUOTED}",
    # kin-openapi: 'parameter "limit" in query has an error: ...'; go-openapi: "status in body should be one of ..."
    rf"\bparameter {_QUOTED} in {_PART} has an error\b",
    rf"^\.?(?P<a>[\w$@.\[\]-]{{1,80}}) in {_PART} (?:should|must|is)\b",
    rf"^{_PART} param(?:eter)? ['\"`]?(?P<a>[\w$@.\[\]-]{{1,80}})['\"`]? (?:is|must|should|has)\b",
    r"^.{1,80} - ['\"`](?P<a>[\w$@:\[\].-]{1,80})['\"`]$",
    rf"^(?:the )?(?:{_PLAIN_KIND} )?['\"`]?(?P<a>[\w$@.\[\]-]{{1,80}}?)['\"`]? "
    rf"(?:(?:{_PLAIN_KIND}|size|length|value) )?"
    r"(?:\([\w$.-]{1,80}\) )?(?:is|are|must|has|does|should|can(?:not|'t|\b)|may not|needs|out of|exceeds)\b",
    r"^(?:the )?(?:invalid|unknown|unsupported|bad|wrong) (?:value (?:for|of) )?(?:the )?"
    rf"(?:{_PLAIN_KIND} )?['\"`]?(?P<a>[\w$@.\[\]-]{{1,80}}?)['\"`]?(?: {_PLAIN_KIND})?(?:[.:,;]|$)",
    rf"\b(?:value|input|type|format)(?: \S{{1,80}})? (?:for|of|in|at) (?:the )?(?:{_PLAIN_KIND} )?{_QUOTED}",
)
_PATH: Final = PatternList(
    # Go's validator: "Key: 'User.Name' Error:Field validation for 'Name' failed on the 'max' tag"
    r"\bKey: '(?P<p>[\w.\[\]-]{1,200})' Error:",
    # System.Text.Json and Newtonsoft: "Path: $.age | LineNumber: 0", "Path 'items[0].age', line 1, position 12"
    r"\bPath: (?P<p>\$[\w$@.\[\]'-]{0,200}) \|",
    r"\bPath '(?P<p>[^']{1,200})', line \d",
    # Gson, kotlinx, Moshi, msgspec: "at line 1 column 9 path $.age", "at path: $.age", "at `$.age`"
    r"\b(?:at )?path:? (?P<p>\$[\w$@.\[\]'-]{1,200})",
    r"\bat [`'\"]?(?P<p>\$[.\[][\w$@.\[\]'-]{1,200})",
    # kin-openapi: 'Error at "/age": value must be an integer'
    r"""\bat ["'`](?P<p>#?/[^"'`\s]{1,200})["'`]""",
    # networknt and everit: "$.age: string found, integer expected", "#/age: expected type: Number, found: String"
    r"^(?P<p>[$#](?:[./\[][^\s:]{1,200})?): ",
    # Smithy: "Value null at '/address/city' failed to satisfy constraint: Member must not be null"
    r"\bat '(?P<p>/?[\w.$\[\]/-]{1,200})' failed to satisfy constraint",
    # superstruct: "At path: address.city -- Expected a string, but received: undefined"
    r"^At path: (?P<p>[\w$.\[\]-]{1,200}) -- ",
    # ajv's text: "data/items/0/price must be number", "request/body/name must be string"
    r"(?:^|, )(?:data|instance|(?:request/)?body)(?P<p>/[^\s,]{1,200}) (?:must|should)\b",
    # axum, voluptuous: "items[0].age: invalid type: string, expected u8", "... for dictionary value @ data['age']"
    r"@ data(?P<p>\[[^\s]{1,200}\])",
    # Effect 4: 'Missing key\n  at ["address"]["city"]'
    r"""\n\s*at (?P<p>(?:\["[^"\]\n]{1,120}"\]|\[\d{1,6}\]){1,12})\s*$""",
    # jsonschema through openapi-core and others, under a label: "Validation failed: user.age: 'x' is not of type ..."
    r"^(?P<label>[A-Za-z][\w -]{0,60}): (?P<p>[A-Za-z_][\w-]{0,79}(?:[.\[][\w.\[\]'-]{1,120})?): \S",
    r"(?:^|\btype: )(?P<p>[A-Za-z_][\w-]{0,79}(?:[.\[][\w.\[\]'-]{1,120})?): \S",
)
_UNSURE: Final = 2
"""The last patterns, which a label or any word before a colon matches too."""
TAG: Final = PatternList(r"\bfailed on the '(?P<tag>\w{1,40})' tag")
"""Go's validator names the rule at the end of its sentence."""
_CHAIN: Final = re.compile(r"\(through reference chain: (?P<chain>[^()]{1,1000})\)")
_LINK: Final = re.compile(r"""\["(?P<name>[^"]{1,120})"\]|\[(?P<index>\d{1,6})\]""")
_NO_NAMES: Final = frozenset(
    {"value", "this", "it", "field", "input", "that", "body", "parameter", "property", "which"}
)
"""Words in the place of a name: protovalidate's "value is required" is about the place that it tells beside."""
_LONGEST: Final = 2000
_A_SEARCH: Final = 3


_ABOUT_A_RESPONSE: Final = PatternList(
    r"\b(?:in|from|of) (?:the |its |an? )?(?:\w+ )?response\b",
    r"\b(?:upstream|the) (?:\w+ )?response (?:is|was|body|has|lacks|did|does)\b",
    r"\bupstream response\b",
)
"""Of a sentence about what another service answered: no member of the request is meant."""


def find_member(message: str) -> NamedMember:
    """Return the missing or unknown member that a message names, nothing where it names neither."""
    if _ABOUT_A_RESPONSE.search(message[:_LONGEST]) is not None or is_unread_duration(message):
        return NamedMember()
    patterns_of = (("required", _MISSING), ("additionalProperties", _UNKNOWN))
    for constraint, patterns in patterns_of if _MISSING_WORD.search(message) is not None else patterns_of[1:]:
        found = _search(message, patterns)
        if found is None:
            continue
        match = found.match
        groups = match.groupdict()
        if (groups.get("a") or "").lower() in _NO_NAMES or _goes_on(match, message):
            continue
        if groups.get("within"):
            groups["a"] = f"{groups['within']}.{groups['a']}"
        names = [groups["a"]] if groups.get("a") else names_in(groups["many"]) if groups.get("many") else []
        if names:
            known = _KNOWN_NAMES.search(message, match.end((names and "a" in groups and "a") or 0))
            return NamedMember(
                names[0],
                constraint,
                _part_of_request(match),
                tuple(names[1:]),
                tuple(names_in(known["many"])) if known is not None and constraint != "required" else (),
            )
    return NamedMember()


def _goes_on(match: re.Match[str], message: str) -> bool:
    """Whether what stands for a name is a word of the sentence: "missing argument to repetition operator"."""
    if not match.re.groupindex.get("a") or match["a"] is None or match["a"].lower() not in _FUNCTION_WORDS:
        return False
    start, end = match.span("a")
    is_quoted = message[start - 1 : start] in ("'", '"', "`")
    return not is_quoted and re.match(r" \w", message[end:]) is not None


_FUNCTION_WORDS: Final = frozenset(
    {"to", "for", "of", "in", "from", "at", "on", "with", "by", "and", "or", "after", "before", "as", "is", "was"}
)


def find_subject(message: str) -> NamedMember:
    """Return what a message is about in its first words; it may be no member at all."""
    found = _search(message, _SUBJECT)
    return NamedMember() if found is None else NamedMember(found.match["a"], "", _part_of_request(found.match))


def stated_path(message: str) -> StatedPath:
    """Return the place that a message gives as a path."""
    chain = _CHAIN.search(message) if "reference chain" in message else None
    if chain is not None:  # Jackson: com.x.Order["items"]->java.util.ArrayList[0]->com.x.Item["price"]
        return StatedPath([link["name"] or link["index"] for link in _LINK.finditer(chain["chain"])], True)
    found = _search(message, _PATH)
    if found is None:
        return StatedPath()
    last = len(_PATH.texts)
    label = found.match["label"] if found.number == last - _UNSURE else ""
    return StatedPath(found.match["p"], found.number < last - _UNSURE, label)


def missing_member(message: str) -> str:
    """Return the missing member that a message names, empty where it names none."""
    name = find_member(message)
    return name.member if name.constraint == "required" else ""


def unknown_member(message: str) -> str:
    """Return the unknown member that a message names, empty where it names none."""
    found = _search(message, _UNKNOWN)
    if found is None:
        return ""
    groups = found.match.groupdict()
    return groups.get("a") or next(iter(names_in(groups.get("many") or "")), "")


def _search(message: str, patterns: PatternList) -> PatternMatch | None:
    if len(message) > _LONGEST:
        return None
    spend(_A_SEARCH)
    return patterns.search(message)


def _part_of_request(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return "header" if groups.get("header") else (groups.get("where") or "").lower()
