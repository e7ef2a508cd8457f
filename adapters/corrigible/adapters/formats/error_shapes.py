"""The shapes of errors in JSON, as data: which members hold the text, the place, the code and further errors.

| framework | example |
|---|---|
| FastAPI, pydantic, under any key | `{"detail": [{"loc": ["body", "n"], "msg": "...", "type": "missing"}]}` |
| Litestar | `{"detail": "...", "extra": [{"message": "Expected int", "key": "n", "source": "body"}]}` |
| marshmallow, webargs | `{"errors": {"json": {"name": ["Missing data for required field."]}}}` |
| connexion | `{"title": "Bad Request", "detail": "{'name': ['Missing data for required field.']}"}` |
| Django REST framework | `{"email": ["This field is required."], "items": [{}, {"n": ["..."]}]}` |
| drf-standardized-errors | `{"errors": [{"code": "required", "detail": "...", "attr": "items.0.n"}]}` |
| colander, Cornice, Kinto | `{"details": [{"location": "body", "name": "data.n", "description": "Required"}]}` |
| Rails, Phoenix, Laravel | `{"errors": {"name": ["can't be blank"]}}` |
| Grape and others | `{"error": "name is missing"}` |
| ASP.NET | `{"title": "...", "status": 400, "errors": {"$.age": ["...could not be converted..."]}}` |
| FluentValidation | `[{"propertyName": "Name", "errorMessage": "...", "errorCode": "NotEmptyValidator"}]` |
| Spring Boot | `{"timestamp": 1, "errors": [{"field": "n", "code": "Max", "defaultMessage": "..."}]}` |
| Quarkus, RESTEasy (Hibernate) | `{"violations": [{"field": "create.user.name", "message": "must not be blank"}]}` |
| RESTEasy, older | `{"parameterViolations": [{"path": "create.arg0.name", "message": "..."}]}` |
| Micronaut | `{"_embedded": {"errors": [{"message": "user.name: must not be blank"}]}}` |
| Dropwizard | `{"errors": ["name must not be blank"]}` |
| swagger-request-validator | `{"messages": [{"message": "...", "context": {"pointers": {"instance": "/n"}}}]}` |
| Symfony, API Platform | `{"violations": [{"propertyPath": "n", "title": ".", "parameters": {"{{ limit }}": "5"}}]}` |
| ajv | `[{"instancePath": "/n", "keyword": "type", "params": {"type": "integer"}, "message": "..."}]` |
| express-validator | `{"errors": [{"type": "field", "msg": "...", "path": "n", "location": "body"}]}` |
| Joi | `{"details": [{"message": "...", "path": ["n"], "type": "number.max", "context": {"limit": 5}}]}` |
| celebrate | `{"validation": {"body": {"source": "body", "keys": ["n"], "message": "\\"n\\" is required"}}}` |
| Zod | `{"issues": [{"code": "too_big", "maximum": 5, "path": ["n"], "message": "..."}]}` |
| Zod, flattened | `{"formErrors": [], "fieldErrors": {"n": ["Required"]}}` |
| Zod, formatted | `{"_errors": [], "n": {"_errors": ["Required"]}}` |
| tRPC | `{"error": {"message": "[{\\"code\\": \\"too_big\\", \\"path\\": [\\"n\\"]}]"}}` |
| Valibot | `{"issues": [{"message": "...", "path": [{"key": "n"}]}]}` |
| Yup | `{"name": "ValidationError", "inner": [{"path": "n", "message": "..."}]}` |
| class-validator | `[{"property": "n", "constraints": {"isInt": "n must be ..."}, "children": []}]` |
| NestJS | `{"statusCode": 400, "message": ["n must be an integer number"], "error": "Bad Request"}` |
| VineJS, Adonis | `{"errors": [{"message": "...", "rule": "min", "field": "n", "meta": {"min": 3}}]}` |
| Directus | `{"errors": [{"message": "...", "extensions": {"field": "n", "type": "required"}}]}` |
| Go validator, in an envelope | `{"errors": [{"field": "Name", "tag": "max", "param": "10"}]}` |
| go-openapi, go-swagger | `{"code": 602, "message": "n in body is required"}` |
| JSON:API | `{"errors": [{"status": "422", "detail": "...", "source": {"pointer": "/data/n"}}]}` |
| RFC 9457 | `{"invalid-params": [{"name": "n", "reason": "must be ..."}]}` |
| OData, Azure | `{"error": {"code": "...", "details": [{"code": "...", "target": "n", "message": "..."}]}}` |
| Google | `{"error": {"errors": [{"reason": "invalid", "location": "n", "locationType": "parameter"}]}}` |
| AWS | `{"__type": "com.aws#ValidationException", "fieldList": [{"path": "/n", "message": "..."}]}` |
| protovalidate | `{"violations": [{"field": {"elements": [{"fieldName": "n"}]}, "ruleId": "...", "message": "..."}]}` |
| Orthanc | `{"Message": "Bad file format", "Details": "Missing field Resources in the JSON body"}` |
| bare strings and text | `"n is required"` |
"""

from __future__ import annotations

from typing import Final

TEXTS: Final = (
    *("message", "detail", "description", "error_description", "errorMessage", "error_message", "defaultMessage"),
    *("msg", "reason", "title", "summary", "text", "Message", "errorDescription", "messageText", "exception_message"),
    *("faultstring", "error", "exception", "cause", "info", "errmsg", "err_msg", "user_message", "userMessage"),
    *("Error", "Detail", "Details", "details", "Description", "Reason", "ErrorMessage", "hint"),
)
"""Members that hold the sentence of an error, the most telling first."""
_BESIDE: Final = (
    *("details", "detail", "description", "errorDescription", "error_description", "reason", "cause", "error"),
    *("message", "msg", "errorMessage", "error_message", "developerMessage", "developer_message", "info", "hint"),
)
SENTENCES: Final = frozenset({"message", "detail", "error", "msg", "Message", "errorMessage", "error_message"})
"""Names under which almost every API has the sentence of its error, and hardly any the sentences of a map."""
TEXTS_BESIDE: Final = {
    spelt: rank
    for rank, name in enumerate(_BESIDE)
    for spelt in (name, name[0].upper() + name[1:], name.lower(), name.upper())
}
"""Members whose sentence may say more than a general text beside it, in any case, the most telling first."""

CODES: Final = (
    *("code", "error_code", "errorCode", "keyword", "rule", "ruleId", "tag", "validator", "constraintId", "__type"),
    *("type", "Code", "key_code", "errno"),
)
PLACES: Final = (
    *("pointer", "instancePath", "dataPath", "instance_path", "instanceLocation", "jsonPointer", "json_pointer"),
    *("jsonPath", "json_path", "propertyPath", "property_path", "fieldPath", "field_path", "field", "fieldName"),
    *("field_name", "param", "parameter", "paramName", "property", "propertyName", "property_name", "attribute"),
    *("attr", "loc", "path", "target", "argument", "argumentName", "column", "source", "location", "Field", "Path"),
    *("PropertyName", "element", "parameterName", "member", "input_name", "where", "key", "name"),
)
"""Members that hold the place of an error, the surest first. `location` may also be the part of the request."""

PLACES_BESIDE_TEXT: Final = ("argument", "target", "source", "column", "element", "member", "where", "name", "key")
"""Members that hold a place only where a text is beside them that is no place's: a `name` alone is none."""
PLACES_OF_ANSWERS: Final = frozenset({"path", "Path", "location"})
"""Members that may tell where the request went: without a text beside them they are no places."""
LISTED_PLACES: Final = (
    *(
        "fields",
        "keys",
        "missing",
        "missing_fields",
        "missingFields",
        "invalid_fields",
        "invalidFields",
        "unknown_fields",
    ),
)
"""Members that list the places of one error: express-validator's `fields`, Zod's `keys`."""
PARTS: Final = ("location", "in", "source", "locationType", "where")
"""Members that may hold the part of the request: express-validator's `location: "query"`."""
INNER_PLACES: Final = ("extensions", "meta", "context", "details", "source", "pointers", "field")
"""Members whose object may hold the place: JSON:API's `source.pointer`, Directus' `extensions.field`."""

LISTS: Final = frozenset(
    {
        *("errors", "error", "validation", "violations", "invalid_params", "invalid-params", "invalidParams", "detail"),
        *("details", "issues", "message", "messages", "validationErrors", "validation_errors", "fieldErrors"),
        *("field_errors", "fieldErrors", "fields", "exception_detail", "extra", "inner", "causes", "cause", "children"),
        *("non_field_errors", "formErrors", "form_errors", "_errors", "errorMessages", "fieldViolations", "warnings"),
        *("field_violations", "fieldList", "problems", "failures", "reasons", "_embedded", "data", "result", "payload"),
        *("parameterViolations", "propertyViolations", "error_messages", "Errors", "Details", "description", "reason"),
        *("validationMessages", "validation_messages", "modelState", "ModelState", "fault", "Message", "errorDetails"),
        *("error_list", "errorList", "validationError", "validation_error"),
    }
)
"""Names of members that hold errors, and are no place."""
MAPS: Final = frozenset(
    {
        *("errors", "validationErrors", "validation_errors", "fieldErrors", "field_errors", "modelState", "ModelState"),
        *("error_messages", "validationMessages", "validation_messages", "Errors", "invalid", "problems", "failures"),
    }
)
"""Names of members whose object can only hold errors by their places."""
WHOLE: Final = frozenset(
    {"", "_", "base", "non_field_errors", "__all__", "_schema", "form", "_errors", "_global", "$", "__root__", "root"}
)
"""Names, in an object of errors by place, for errors that are about no single place."""
RELATIVE: Final = frozenset({"children"})
"""Members whose errors are placed below the place of the error that holds them: class-validator's."""
NO_ERRORS: Final = frozenset(
    {
        *("input", "rejectedValue", "attemptedValue", "value", "values", "invalidValue", "target", "received", "ctx"),
        *("request", "request_body", "requestBody", "_original", "headers", "stack", "trace", "stackTrace", "_links"),
        *("links", "locations", "arguments", "codes", "formattedMessagePlaceholderValues", "schema", "parentSchema"),
        *("context", "params_schema", "help", "url", "instance", "traceId", "debug", "meta", "data_schema", "response"),
        *(
            "params",
            "extensions",
            "constraints",
            "keys",
            "options",
            "expected",
            "allowed",
            "choices",
            "valids",
            "permitted",
        ),
        *("allowedValues", "allowed_values", "valid_values", "validValues", "parameters", "pointers", "tags"),
    }
)
"""Members that hold what was sent or where it happened, no errors."""
ABOUT_THE_ANSWER: Final = frozenset(
    {
        *("status", "statusCode", "status_code", "timestamp", "time", "date", "request_id", "requestId", "trace_id"),
        *(
            "traceId",
            "success",
            "ok",
            "version",
            "id",
            "url",
            "docs",
            "documentation_url",
            "doc_url",
            "severity",
            "level",
        ),
    }
)
"""Members beside a text that tell of the answer itself, and are no names of places."""
