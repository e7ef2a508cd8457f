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
    ("message", "pointer", "constraint", "stated"),
    [
        (  # moto
            ONE + failed("keySchema.1.member.keyType", "Member must satisfy enum value set: [HASH, RANGE]", "'HASHH'"),
            "/body/KeySchema/0/KeyType",
            "enum",
            {"enum": ["HASH", "RANGE"]},
        ),
        (  # moto
            ONE + failed("type", "Member must satisfy enum value set: [SecureString, StringList, String]", "'Strin'"),
            "",
            "enum",
            {"enum": ["SecureString", "StringList", "String"]},
        ),
        (
            ONE + failed("indexName", "Member must not be null", "null"),
            "/body/IndexName",
            "required",
            {},
        ),
        (
            ONE + failed("tableName", "Member must have length greater than or equal to 3", "'bo'"),
            "/body/TableName",
            "minLength",
            {"minLength": 3},
        ),
        (
            ONE + failed("tags", "Member must have length less than or equal to 50", "'[...]'"),
            "/body/Tags",
            "maxItems",
            {"maxItems": 50},
        ),
        (
            ONE + failed("limit", "Member must have value less than or equal to 100", "'500'"),
            "/body/Limit",
            "maximum",
            {"maximum": 100},
        ),
        (
            ONE + failed("limit", "Member must be between 1 and 100, inclusive", "500"),
            "/body/Limit",
            "maximum",
            {"minimum": 1, "maximum": 100},
        ),
        (
            ONE + failed("/tableName", "Member must have length between 3 and 255, inclusive", "with length 0"),
            "/body/TableName",
            "maxLength",
            {"minLength": 3, "maxLength": 255},
        ),
        (
            ONE + failed("tableName", r"Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+", "'b k'"),
            "/body/TableName",
            "pattern",
            {"pattern": "^(?:[a-zA-Z0-9_.-]+)$"},
        ),
        (
            "1 validation error detected. "
            + failed("/names/1", "Member must satisfy regular expression pattern: ^\\w+$"),
            "/body/Names/1",
            "pattern",
            {"pattern": "^\\w+$"},
        ),
        (  # moto
            "Invalid parameter at 'tableName' failed to satisfy constraint: 'must satisfy regular expression"
            " '(?:[a-z0-9]+(?:[._-][a-z0-9]+)*/)*[a-z0-9]+(?:[._-][a-z0-9]+)*'",
            "/body/TableName",
            "pattern",
            {"pattern": "^(?:(?:[a-z0-9]+(?:[._-][a-z0-9]+)*/)*[a-z0-9]+(?:[._-][a-z0-9]+)*)$"},
        ),
        (
            "Value at 'tags.1.member.key' failed to satisfy constraint: Member must satisfy enum value set: [x; y, z]",
            "/body/Tags/0/Key",
            "",
            {},
        ),
    ],
)
def test_one_failure(message: str, pointer: str, constraint: str, stated: dict[str, Any]) -> None:
    body = {**TABLE, "Type": "Strin"} if "Strin" in message else TABLE
    (one,) = errors(message, body)
    assert (one.pointer, one.constraint, dict(one.stated)) == (pointer or "/body/Type", constraint, stated)
    assert one.code == "ValidationException"


def test_several_failures_in_one_text_are_several_errors() -> None:
    text = "; ".join(
        [
            failed("keySchema.1.member.keyType", "Member must satisfy enum value set: [HASH, RANGE]", "'a; b'"),
            failed("limit", "Member must have value less than or equal to 100", "'500'"),
            failed("indexName", "Member must not be null", "null"),
        ]
    )
    found = errors(f"3 validation errors detected: {text}")
    assert [(one.pointer, one.constraint) for one in found] == [
        ("/body/KeySchema/0/KeyType", "enum"),
        ("/body/Limit", "maximum"),
        ("/body/IndexName", "required"),
    ]
    assert "3 validation errors" not in found[1].message and "KeyType" not in found[1].message


def test_what_a_constraint_of_elements_says_is_about_the_only_element() -> None:
    told = "Member must satisfy constraint: [Member must have length less than or equal to 2, Member must not be null]"
    (one,) = errors(ONE + failed("names", told, "'[abc]'"), {"Names": ["abc"]})
    assert (one.pointer, dict(one.stated)) == ("/body/Names/0", {"maxLength": 2})
    (one,) = errors(ONE + failed("names", told, "'[abc, d]'"), {"Names": ["abc", "d"]})
    assert (one.pointer, dict(one.stated)) == ("/body/Names", {})


def test_a_list_of_values_longer_than_other_texts_is_read_to_its_end() -> None:
    values = [f"t{number}.nano-{number}" for number in range(250)]
    listed = f"Member must satisfy enum value set: [{', '.join(values)}]"
    (one,) = errors(ONE + failed("instanceType", listed, "'t2.nan'"), {"InstanceType": "t2.nan"})
    assert (one.pointer, one.stated["enum"]) == ("/body/InstanceType", values)


def test_a_long_text_of_failures_is_read_in_linear_time() -> None:
    text = failed("a", "Member must not be null") + "; "
    assert len(errors(text * 5000)) <= 64
    assert errors("at 'x" * 5000 + "' failed to satisfy constraint: y") is not None


def test_members_of_a_query_are_found_under_their_flat_names() -> None:
    body = {"Action": "TagRole", "RoleName": "r", "Tags.member.1.Key": "", "Tags.member.2.Key": "b"}
    (one,) = errors(
        ONE + failed("tags.1.member.key", "Member must have length greater than or equal to 1", "''"), body, form=True
    )
    assert one.pointer == "/body/Tags.member.1.Key"


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


def test_an_error_of_the_query_protocol() -> None:
    answer = xml(
        "<ErrorResponse xmlns='https://iam.amazonaws.com/doc/2010-05-08/'><Error><Type>Sender</Type><Code>NoSuchEntity</Code>"
        "<Message>The user with name anne cannot be found.</Message></Error><RequestId>r</RequestId></ErrorResponse>"
    )
    (one,) = read(answer, {"Action": "GetUser", "UserName": "anne"}, status=404, form=True)
    assert (one.code, one.pointer) == ("NoSuchEntity", "/body/UserName")


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
        (
            "MalformedPolicyDocument",
            "Syntax errors in policy.",
            {"PolicyName": "p", "PolicyDocument": "{"},
            "/body/PolicyDocument",
        ),
        (
            "InvalidScheduleExpression",
            "It cannot be used.",
            {"Name": "n", "ScheduleExpression": "x"},
            "/body/ScheduleExpression",
        ),
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
        ("Secrets Manager can't find the specified secret.", "/body/SecretId"),
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
