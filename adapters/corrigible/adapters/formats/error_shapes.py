"""The shapes of errors in JSON, as a table: which members hold the text, the place, the code and further errors.

Names are written as `fold` writes them: `errorMessage`, `error_message` and `ErrorMessage` are one name. A new shape is
a name in one of these lists, or a row of `PLACES`. What frameworks send:

An object for each error, in a list under any name, is what most send: ajv (`instancePath`), Joi, Yup and Zod (`path`),
Valibot (`path` of keys), express-validator (`path`, `location`), VineJS, Spring Boot and Go's validator (`field`),
Quarkus and RESTEasy (`path` from the method on), Symfony (`propertyPath`), FluentValidation (`propertyName`), Litestar
(`key`, `source`), DRF (`attr`), colander and RFC 9457 (`name`), OData (`target`), Google (`location`), AWS (`path`).

| framework | example |
|---|---|
| FastAPI, pydantic, under any key | `{"detail": [{"loc": ["body", "n"], "msg": "...", "type": "missing"}]}` |
| marshmallow, webargs | `{"errors": {"json": {"name": ["Missing data for required field."]}}}` |
| connexion | `{"title": "Bad Request", "detail": "{'name': ['Missing data for required field.']}"}` |
| Django REST framework | `{"email": ["This field is required."], "items": [{}, {"n": ["..."]}]}` |
| Rails, Phoenix, Laravel | `{"errors": {"name": ["can't be blank"]}}` |
| Grape and others | `{"error": "name is missing"}` |
| ASP.NET | `{"title": "...", "status": 400, "errors": {"$.age": ["...could not be converted..."]}}` |
| Micronaut | `{"_embedded": {"errors": [{"message": "user.name: must not be blank"}]}}` |
| Dropwizard | `{"errors": ["name must not be blank"]}` |
| swagger-request-validator | `{"messages": [{"message": "...", "context": {"pointers": {"instance": "/n"}}}]}` |
| celebrate | `{"validation": {"body": {"source": "body", "keys": ["n"], "message": "\\"n\\" is required"}}}` |
| Zod, flattened | `{"formErrors": [], "fieldErrors": {"n": ["Required"]}}` |
| Zod, formatted | `{"_errors": [], "n": {"_errors": ["Required"]}}` |
| tRPC | `{"error": {"message": "[{\\"code\\": \\"too_big\\", \\"path\\": [\\"n\\"]}]"}}` |
| class-validator | `[{"property": "n", "constraints": {"isInt": "n must be ..."}, "children": []}]` |
| NestJS | `{"statusCode": 400, "message": ["n must be an integer number"], "error": "Bad Request"}` |
| Directus | `{"errors": [{"message": "...", "extensions": {"field": "n", "type": "required"}}]}` |
| go-openapi, go-swagger | `{"code": 602, "message": "n in body is required"}` |
| JSON:API | `{"errors": [{"status": "422", "detail": "...", "source": {"pointer": "/data/n"}}]}` |
| protovalidate | `{"violations": [{"field": {"elements": [{"fieldName": "n"}]}, "ruleId": "...", "message": "..."}]}` |
| Orthanc | `{"Message": "Bad file format", "Details": "Missing field Resources in the JSON body"}` |
| bare strings and text | `"n is required"` |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple


def _names(words: str) -> tuple[str, ...]:
    return tuple(words.split())


TEXTS: Final = _names(
    """
    message detail description errordescription errormessage defaultmessage msg reason title summary text messagetext
    exceptionmessage faultstring error exception cause info errmsg usermessage details hint
    """
)
"""Members that hold the sentence of an error, the most telling first."""
TEXTS_BESIDE: Final = _names(
    """
    details detail description errordescription reason cause error message msg errormessage developermessage info hint
    """
)
"""Members whose sentence may say more than a general text beside it, the most telling first."""
SENTENCES: Final = frozenset(_names("message detail error msg errormessage"))
"""Names under which almost every API has the sentence of its error, and hardly any the sentences of a map."""
TEXTS_BY_CODE: Final = "constraints"
"""The member in which class-validator has its texts by their codes."""

CODES: Final = _names("code errorcode keyword rule ruleid tag validator constraintid type keycode errno")
PLACES_OF_CODES: Final[Mapping[str, str]] = {
    "NO_PATH_MATCHED_ERROR": "/path",
    "NO_METHOD_MATCHED_ERROR": "/method",
    "METHOD_NOT_ALLOWED": "/method",
    "INVALID_CONTENT_TYPE": "/headers/content-type",
    "415": "/headers/content-type",
}
"""What gateways call a request that leads to no operation, or that no operation can read."""


class Source(NamedTuple):
    """Where the object of an error has its place."""

    member: str
    is_object: bool = False
    """Whether its object holds the place: JSON:API's `source.pointer`, Directus' `extensions.field`."""
    is_beside_text: bool = False
    """Whether it is a place only where a text stands beside it that is no place's: a `name` alone is none."""
    may_be_the_route: bool = False
    """Whether it may tell where the request went: without a text beside it that is no place."""
    whole_if_empty: bool = False
    """Whether an empty one is the whole body, as an empty JSON pointer is (RFC 6901, section 5)."""


PLACES: Final = (
    Source("pointer"),
    *(Source(name, whole_if_empty=True) for name in _names("instancepath datapath instancelocation")),
    *(Source(name) for name in _names("jsonpointer jsonpath propertypath fieldpath field fieldname param parameter")),
    *(Source(name) for name in _names("paramname property propertyname attribute attr loc argumentname parametername")),
    *(Source(name) for name in _names("inputname variable")),
    *(Source(name, may_be_the_route=True) for name in _names("path location")),
    *(Source(name, is_object=True) for name in _names("extensions meta context details source pointers field")),
    *(Source(name, is_beside_text=True) for name in _names("argument target source column element member where")),
    *(Source(name, is_beside_text=True) for name in _names("name key")),
)
"""Where the place may stand, the surest first."""
IN_OBJECTS: Final[Mapping[str, str]] = {
    **{"pointer": "body", "instance": "body", "parameter": "query", "header": "headers"},
    **dict.fromkeys(_names("field attribute path param"), ""),
}
"""What the object of a place calls it, and the part of the request that the name stands for."""
IN_ELEMENTS: Final = _names("fieldname index stringkey")
"""What protovalidate calls the steps of a path."""
EXACT: Final = (
    frozenset({"keyword", "instancepath"}),
    frozenset({"keyword", "datapath"}),
    frozenset({"loc", "msg", "type"}),
)
"""Names that the objects of Ajv and pydantic have: what else stands in them was sent, and is no error."""
FURTHER_STEPS: Final = _names("params.missingproperty params.additionalproperty params.unevaluatedproperty")
"""Members that name one more step of the place: Ajv points to the object that lacks a member, or has one too many."""
LISTED_PLACES: Final = _names("fields keys missing missingfields invalidfields unknownfields membernames")
"""Members that list the places of one error: express-validator's `fields`, Zod's `keys`."""
PARTS: Final = _names("location in source locationtype where")
"""Members that may hold the part of the request: express-validator's `location: "query"`."""

LISTS: Final = frozenset(
    _names(
        """
        errors error validation violations invalidparams detail details issues message messages validationerrors
        fielderrors fields exceptiondetail extra inner causes cause children nonfielderrors formerrors errormessages
        fieldviolations warnings fieldlist problems failures reasons embedded data result payload parameterviolations
        propertyviolations description reason validationmessages modelstate fault errordetails errorlist
        validationerror
        """
    )
)
"""Names of members that hold errors, and are no place."""
MAPS: Final = frozenset(
    _names("errors validationerrors fielderrors modelstate errormessages validationmessages invalid problems failures")
)
"""Names of members whose object can only hold errors by their places."""
WHOLE: Final = frozenset(
    {"", "_", "base", "non_field_errors", "__all__", "_schema", "form", "_errors", "_global", "$", "__root__", "root"}
)
"""Names, in an object of errors by place, for errors that are about no single place; as they are written."""
NODES: Final = frozenset(_names("errors properties items children nested root other"))
"""Names of the members of a node in a tree of errors: its own errors, and those of what is inside of its value."""
LEAVES: Final = frozenset(_names("code message msg params args"))
"""Names of the members of an error that stands in a list under the name of its place."""
RELATIVE: Final = frozenset({"children"})
"""Members whose errors are placed below the place of the error that holds them: class-validator's."""
NO_ERRORS: Final = frozenset(
    _names(
        """
        input rejectedvalue attemptedvalue value values invalidvalue target received ctx request requestbody original
        headers stack trace stacktrace links locations arguments codes formattedmessageplaceholdervalues schema
        parentschema context paramsschema help url instance traceid debug meta dataschema response params extensions
        constraints keys options expected allowed choices valids permitted allowedvalues validvalues parameters pointers
        tags path loc schemapath relativepath absolutepath relativeschemapath absoluteschemapath validatorvalue
        """
    )
)
"""Members that hold what was sent or where it happened, no errors."""
ABOUT_THE_ANSWER: Final = frozenset(
    _names(
        """
        status statuscode timestamp time date requestid traceid success ok version id url docs documentationurl docurl
        severity level stack trace stacktrace help links debug jsonrpc keywordlocation absolutekeywordlocation
        """
    )
)
"""Members beside a text that tell of the answer itself, and are no names of places."""
OF_ERRORS: Final = frozenset(
    _names(
        """
        pointer field fieldname param parameter property loc reason errors violations constraint constraints rule
        keyword value issues
        """
    )
)
"""Names that few resources have, but an error beside the value that it is about."""
OF_ONE: Final = frozenset(_names("message msg detail description code defaultmessage errormessage reason title"))
"""Names one of which the object of one error has, and no map of errors by place."""

GRADES: Final = ("severity", "level", "type", "kind")
"""How the names of members end that grade a message: `severity`, `logLevel`, `message_type`."""
NOTES: Final = frozenset(_names("trace debug info information informational notice note hint warn warning"))
"""Grades of what does not refuse a request; all of them are words of logs, in any case."""

WITH_MEMBERS: Final = frozenset(
    _names("data details context meta extra info params parameters metadata extensions ctx attributes")
)
"""Members whose object has what belongs to a text."""
ROLES: Final[Mapping[str, str]] = {
    "allowed available free vacant open valid supported possible accepted acceptable permitted options choices": "enum",
    "enum": "enum",
    "max maximum limit ceiling upper most": "maximum",
    "min minimum least lower floor": "minimum",
}
"""Words in the name of a member that tell what it says of a place: a list of `free_slots`, a number `max_amount`.

Suggestions and candidates are no closed lists.
"""
ADVICE: Final = (
    *("see ", "please see ", "visit ", "refer ", "check ", "read ", "contact ", "please contact ", "try ", "consult "),
    *("ensure ", "make sure ", "for more ", "for further ", "http://", "https://", "more info", "at ", "traceback"),
    *("caused by", "please try ", "please check ", "please visit ", "please read ", "please ensure "),
)
"""How a text begins that is about the documentation or the server's code, or says what to do besides what is wrong."""
COMPLAINTS: Final = (
    *("requir", "missing", "must", "should", "invalid", "not", "cannot", "can't", "expected", "unknown", "unexpected"),
    *("too long", "too short", "too large", "too small", "at least", "at most", "already", "wrong", "blank", "empty"),
    *("greater", "less"),
)
"""How words begin that a complaint has, and a value seldom."""
DETERMINERS: Final = frozenset(_names("this the that your given provided"))
WITHOUT_SUBJECT: Final = frozenset(
    _names(
        """
        field value input string number integer property parameter item list array
        object text length format it is isn't are aren't can cannot can't must should shall may has have was were does
        doesn't do need needs not no none required mandatory missing invalid unknown unexpected unsupported expected
        ensure enter select choose provide please too at only already bad wrong empty null blank exceed exceeds out
        accept accepts allow allows permit permits contain contains shorter longer greater less outside use failed fails
        """
    )
)
"""How a sentence begins that leaves its subject to the name that it stands under."""
OF_PART: Final = re.compile(
    r"(?i)(?:invalid|bad|wrong|malformed) (?:request )?(?P<part>query|path|header|body)"
    r"(?:[ -]?string)?(?: param(?:eter)?s?| arguments?| fields?)?\W*"
)
"""A sentence that says no more than which part of the request the errors listed beside it are about."""
