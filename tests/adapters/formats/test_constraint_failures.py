"""The errors of AWS-like services: JSON 1.0 and 1.1, rest-json, Query with XML answers, several failures in one text.

Texts marked "moto" are answers of moto 5.2.5 to boto3 1.44.5; the others are the words of AWS's documentation and of
Smithy.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from corrigible.adapters.bodies.answer import read_answer
from corrigible.rules.violation import Violation
from corrigible.schema.exchange import Exchange, Request
from tests._support.by_description import errors_at_places
from tests._support.rows import rows

TABLE = {
    "TableName": "books",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASHH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "X"}],
    "Tags": [{"Key": "a", "Value": "b"}],
    "Limit": 500,
    "Names": ["a", "b b"],
}


def errors(
    message: str, body: Any = TABLE, *, code: str = "com.amazonaws.x#ValidationException", **more: Any
) -> list[Violation]:
    return read({"__type": code, "message": message}, body, **more)


def read(
    answer: Any, body: Any, *, status: int = 400, headers: dict[str, str] | None = None, form: bool = False
) -> list[Violation]:
    exchange = Exchange(Request("POST", "/", {}, {}, body, form), status, headers or {}, b"")
    return errors_at_places(exchange, answer)


def failed(place: str, told: str, value: str = "'v'") -> str:
    return f"Value {value} at '{place}' failed to satisfy constraint: {told}"


ONE = "1 validation error detected: "


@rows(
    ("message", "pointer", "stated"),
    [
        (  # moto
            ONE + failed("keySchema.1.member.keyType", "Member must satisfy enum value set: [HASH, RANGE]", "'HASHH'"),
            "/body/KeySchema/0/KeyType",
            {"enum": ["HASH", "RANGE"]},
        ),
        (  # moto
            ONE + failed("type", "Member must satisfy enum value set: [SecureString, StringList, String]", "'Strin'"),
            "/body/Type",
            {"enum": ["SecureString", "StringList", "String"]},
        ),
        (
            ONE + failed("limit", "Member must have value less than or equal to 100", "'500'"),
            "/body/Limit",
            {"maximum": 100},
        ),
        (
            ONE + failed("limit", "Member must be between 1 and 100, inclusive", "500"),
            "/body/Limit",
            {"minimum": 1, "maximum": 100},
        ),
        (
            ONE + failed("/tableName", "Member must have length between 3 and 255, inclusive", "with length 0"),
            "/body/TableName",
            {"minLength": 3, "maxLength": 255},
        ),
    ],
)
def test_one_failure(message: str, pointer: str, stated: dict[str, Any]) -> None:
    body = {**TABLE, "Type": "Strin"} if "Strin" in message else TABLE
    (one,) = errors(message, body)
    assert (one.pointer, dict(one.stated)) == (pointer, stated)
    assert one.code == "ValidationException"


def test_a_long_text_of_failures_is_read_in_linear_time() -> None:
    text = failed("a", "Member must not be null") + "; "
    assert len(errors(text * 5000)) <= 64
    assert errors("at 'x" * 5000 + "' failed to satisfy constraint: y") is not None


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("x-amzn-errortype", "ValidationException:http://internal.amazon.com/coral/", "ValidationException"),
        ("x-amzn-errortype", "com.amazonaws.x#InvalidRequestException", "InvalidRequestException"),
        (
            "x-amzn-query-error",
            "AWS.SimpleQueueService.NonExistentQueue;Sender",
            "AWS.SimpleQueueService.NonExistentQueue",
        ),
    ],
)
def test_the_code_may_stand_in_a_header(name: str, value: str, code: str) -> None:
    (one,) = read({"message": "no"}, {}, headers={name: value})
    assert one.code == code
    (one,) = read({"code": "OWN", "message": "no"}, {}, headers={name: value})
    assert one.code == "OWN"


def xml(text: str) -> Any:
    return read_answer({"content-type": "text/xml"}, text.encode()).content


def test_a_text_that_is_there_twice_is_one_error() -> None:  # moto
    answer = xml(
        "<ErrorResponse><Error><Type>Sender</Type><Code>NoSuchEntity</Code><Message>User a1 is not there</Message>"
        "<message>User a1 is not there</message></Error></ErrorResponse>"
    )
    (one,) = read(answer, {"UserName": "a1"}, status=404, form=True)
    assert (one.code, one.message) == ("NoSuchEntity", "User a1 is not there")


def test_an_error_of_ec2_and_of_s3() -> None:
    answer = xml(
        "<Response><Errors><Error><Code>InvalidParameterValue</Code><Message>Value (t2.micr) for parameter"
        " instanceType is invalid.</Message></Error></Errors><RequestID>r</RequestID></Response>"
    )
    (one,) = read(answer, {"Action": "RunInstances", "InstanceType": "t2.micr", "MaxCount": "1"}, form=True)
    assert (one.code, one.pointer) == ("InvalidParameterValue", "/body/InstanceType")
    answer = xml(
        "<Error><Code>InvalidArgument</Code><Message>Argument max-keys must be an integer between 0 and"
        " 2147483647</Message><ArgumentName>max-keys</ArgumentName><ArgumentValue>x</ArgumentValue></Error>"
    )
    exchange = Exchange(Request("GET", "/photos", {"max-keys": "x"}), 400, {}, b"")
    (one,) = errors_at_places(exchange, answer)
    assert (one.code, one.pointer) == ("InvalidArgument", "/query/max-keys")


@pytest.mark.parametrize(
    ("code", "message", "body", "pointer"),
    [
        ("InvalidParameterValue", "It cannot be used.", {"ParameterValue": "n", "Name": "x"}, ""),  # words of any code
        ("InvalidRequest", "It cannot be used.", {"Name": "n"}, ""),
        ("PolicyDocumentAttached", "It is in use.", {"PolicyName": "n", "PolicyDocument": "x"}, ""),
    ],
)
def test_a_code_may_name_the_place(code: str, message: str, body: Any, pointer: str) -> None:
    (one,) = errors(message, body, code=code)
    assert one.pointer == pointer


@pytest.mark.parametrize(
    ("message", "pointer"),
    [
        ("The request must contain the parameter QueueUrl.", "/body/QueueUrl"),
        (
            "Value 20 for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.",
            "/body/MaxNumberOfMessages",
        ),
        ("The parameter QueueUrl is required but was not present in the request", "/body/QueueUrl"),
        ("The Access Key with id AKIANONE cannot be found", "/body/AccessKeyId"),
    ],
)
def test_words_of_services(message: str, pointer: str) -> None:
    body = {"MaxNumberOfMessages": 20, "SecretId": "nosecret", "AccessKeyId": "AKIANONE", "UserName": "ann"}
    (one,) = errors(message, body)
    assert one.pointer == pointer


def test_other_texts_are_left_as_they_were() -> None:
    answer = orjson.loads(b'{"message": "Value is wrong; at last it failed to satisfy constraint: none"}')
    (one,) = read(answer, TABLE)
    assert (one.message, one.constraint) == (answer["message"], "")
