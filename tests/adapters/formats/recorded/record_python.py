"""Let Python's web frameworks refuse the mistakes of `mistakes.json`, and write their answers to `python.json`.

    pip install fastapi httpx flask marshmallow webargs flask-smorest "connexion[flask]" djangorestframework \
        drf-standardized-errors litestar colander jsonschema msgspec voluptuous cerberus
    python record_python.py
"""

# mypy: ignore-errors
import json
import re
import sys
from enum import Enum
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
MISTAKES = json.loads((HERE / "mistakes.json").read_text())
STATUSES = ("draft", "open", "closed")
SCHEMA = {
    "type": "object",
    "required": ["name", "quantity", "address"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 3, "maxLength": 20},
        "quantity": {"type": "integer", "minimum": 1, "maximum": 200},
        "status": {"type": "string", "enum": list(STATUSES)},
        "address": {
            "type": "object",
            "required": ["city"],
            "properties": {"city": {"type": "string"}},
            "additionalProperties": False,
        },
    },
}


def fastapi(*, renamed: bool = False):
    from typing import Literal

    from fastapi import FastAPI, Query
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from fastapi.testclient import TestClient
    from pydantic import BaseModel, ConfigDict, Field

    class Address(BaseModel):
        model_config = ConfigDict(extra="forbid")
        city: str

    class Order(BaseModel):
        model_config = ConfigDict(extra="forbid")
        name: str = Field(min_length=3, max_length=20)
        quantity: int = Field(ge=1, le=200)
        status: Literal["draft", "open", "closed"] = "draft"
        address: Address

    app = FastAPI()

    @app.post("/orders")
    def create(order: Order, limit: int = Query(10, le=100)):
        return order

    if renamed:

        @app.exception_handler(RequestValidationError)
        def refused(request, error):
            return JSONResponse({"success": False, "problems": {"list": error.errors()}}, 422)

    client = TestClient(app)
    return lambda one: _answer(client.post("/orders", json=one["body"], params=one["query"]))


def _answer(response):
    return response.status_code, response.headers["content-type"], response.text


def marshmallow(kind: str):
    import flask
    from marshmallow import Schema, ValidationError, fields, validate
    from webargs.flaskparser import use_args

    class Address(Schema):
        city = fields.Str(required=True)

    class Order(Schema):
        name = fields.Str(required=True, validate=validate.Length(3, 20))
        quantity = fields.Int(required=True, strict=True, validate=validate.Range(1, 200))
        status = fields.Str(validate=validate.OneOf(STATUSES))
        address = fields.Nested(Address, required=True)

    app = flask.Flask("x")
    if kind == "smorest":
        import flask_smorest

        app.config.update(API_TITLE="x", API_VERSION="1", OPENAPI_VERSION="3.0.3")
        blueprint = flask_smorest.Blueprint("x", "x")

        @blueprint.route("/orders", methods=["POST"])
        @blueprint.arguments(Order)
        def create(data):
            return {}

        flask_smorest.Api(app).register_blueprint(blueprint)
    elif kind == "webargs":

        @app.post("/orders")
        @use_args(Order())
        def create(data):
            return {}

        @app.errorhandler(422)
        def refused(error):
            return {"errors": error.data["messages"]}, 422
    else:

        @app.post("/orders")
        def create():
            try:
                Order().load(flask.request.json)
            except ValidationError as error:
                return {
                    "type": "about:blank",
                    "title": "Bad Request",
                    "status": 400,
                    "detail": str(error.messages),
                }, 400

    client = app.test_client()
    return lambda one: _flask(client.post("/orders", json=one["body"], query_string=one["query"]))


def _flask(response):
    return response.status_code, response.content_type, response.text


def connexion():
    import tempfile

    import connexion

    document = {
        "openapi": "3.0.3",
        "info": {"title": "x", "version": "1"},
        "paths": {
            "/orders": {
                "post": {
                    "operationId": "app.create",
                    "parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 100}}],
                    "requestBody": {"required": True, "content": {"application/json": {"schema": SCHEMA}}},
                    "responses": {"200": {"description": "x"}},
                }
            }
        },
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump(document, file)
    app = connexion.FlaskApp("x")
    app.add_api(file.name, resolver=connexion.resolver.Resolver(lambda name: lambda body, limit=0: ({}, 200)))
    client = app.test_client()
    return lambda one: _answer(client.post("/orders", json=one["body"], params=one["query"]))


def django(handler: str | None):
    import django
    from django.conf import settings

    if not settings.configured:
        settings.configure(
            DEBUG=False,
            SECRET_KEY="local",
            ALLOWED_HOSTS=["*"],
            ROOT_URLCONF=__name__,
            INSTALLED_APPS=["drf_standardized_errors"],
            REST_FRAMEWORK={"UNAUTHENTICATED_USER": None, "DEFAULT_AUTHENTICATION_CLASSES": []},
        )
        django.setup()
    from django.test import Client, override_settings
    from django.urls import path
    from rest_framework import serializers
    from rest_framework.response import Response
    from rest_framework.settings import api_settings
    from rest_framework.views import APIView

    class Address(serializers.Serializer):
        city = serializers.CharField()

    class Order(serializers.Serializer):
        name = serializers.CharField(min_length=3, max_length=20)
        quantity = serializers.IntegerField(min_value=1, max_value=200)
        status = serializers.ChoiceField(STATUSES, required=False)
        address = Address()

    class Create(APIView):
        def post(self, request):
            Order(data=request.data).is_valid(raise_exception=True)
            return Response({})

    global urlpatterns
    urlpatterns = [path("orders", Create.as_view())]
    rest = {"UNAUTHENTICATED_USER": None, "DEFAULT_AUTHENTICATION_CLASSES": []}
    if handler:
        rest["EXCEPTION_HANDLER"] = handler
    client = Client()

    def ask(one):
        with override_settings(REST_FRAMEWORK=rest):
            api_settings.reload()
            response = client.post("/orders", json.dumps(one["body"]), content_type="application/json")
        return response.status_code, response.headers["content-type"], response.content.decode()

    return ask


urlpatterns = []


def litestar():
    from typing import Annotated, Literal

    import msgspec
    from litestar import Litestar, post
    from litestar.testing import TestClient

    class Address(msgspec.Struct, forbid_unknown_fields=True):
        city: str

    class Order(msgspec.Struct, forbid_unknown_fields=True):
        name: Annotated[str, msgspec.Meta(min_length=3, max_length=20)]
        quantity: Annotated[int, msgspec.Meta(ge=1, le=200)]
        address: Address
        status: Literal["draft", "open", "closed"] = "draft"

    @post("/orders")
    async def create(data: Order) -> dict[str, str]:
        return {}

    client = TestClient(Litestar([create]))
    return lambda one: _answer(client.post("/orders", json=one["body"], params=one["query"]))


def by_hand(check):
    """Return how a service answers that puts a library's sentence into an object of its own."""

    def ask(one):
        try:
            check(one["body"])
        except Exception as error:
            said = error if isinstance(error, (dict, list)) else getattr(error, "answer", None) or str(error)
            return 400, "application/json", json.dumps({"error": said})
        return 200, "application/json", "{}"

    return ask


def library(name: str):
    if name == "jsonschema":
        import jsonschema

        def check(body):
            error = next(jsonschema.Draft202012Validator(SCHEMA).iter_errors(body), None)
            if error:
                raise ValueError(error.message)

        return by_hand(check)
    if name == "msgspec":
        from typing import Annotated

        import msgspec

        class Place(msgspec.Struct, forbid_unknown_fields=True):
            city: str

        order = msgspec.defstruct(
            "Order",
            [
                ("name", Annotated[str, msgspec.Meta(min_length=3, max_length=20)]),
                ("quantity", Annotated[int, msgspec.Meta(ge=1, le=200)]),
                ("address", Place),
                ("status", Enum("Status", {name: name for name in STATUSES}), None),
            ],
            forbid_unknown_fields=True,
        )
        return by_hand(lambda body: msgspec.json.decode(json.dumps(body), type=order))
    if name == "voluptuous":
        import voluptuous as v

        schema = v.Schema(
            {
                v.Required("name"): v.All(str, v.Length(3, 20)),
                v.Required("quantity"): v.All(int, v.Range(1, 200)),
                "status": v.In(STATUSES),
                v.Required("address"): {v.Required("city"): str},
            }
        )
        return by_hand(schema)
    if name == "cerberus":
        import cerberus

        schema = {
            "name": {"type": "string", "required": True, "minlength": 3, "maxlength": 20},
            "quantity": {"type": "integer", "required": True, "min": 1, "max": 200},
            "status": {"type": "string", "allowed": list(STATUSES)},
            "address": {"type": "dict", "required": True, "schema": {"city": {"type": "string", "required": True}}},
        }

        def check(body):
            validator = cerberus.Validator(schema)
            if not validator.validate(body):
                error = ValueError()
                error.answer = validator.errors
                raise error

        return by_hand(check)
    import colander as c

    class Place(c.Schema):
        city = c.SchemaNode(c.String())

    class Order(c.Schema):
        name = c.SchemaNode(c.String(), validator=c.Length(3, 20))
        quantity = c.SchemaNode(c.Int(strict=True), validator=c.Range(1, 200))
        status = c.SchemaNode(c.String(), validator=c.OneOf(STATUSES), missing=c.drop)
        address = Place()

    def check(body):
        try:
            Order(unknown="raise").deserialize(body)
        except c.Invalid as invalid:
            error = ValueError()
            error.answer = invalid.asdict()
            raise error from None

    return by_hand(check)


FRAMEWORKS = {
    "FastAPI": ("fastapi", fastapi),
    "FastAPI with a handler of its own": ("fastapi", lambda: fastapi(renamed=True)),
    "webargs and marshmallow": ("webargs", lambda: marshmallow("webargs")),
    "flask-smorest": ("flask-smorest", lambda: marshmallow("smorest")),
    "marshmallow in prose": ("marshmallow", lambda: marshmallow("prose")),
    "connexion": ("connexion", connexion),
    "Django REST framework": ("djangorestframework", lambda: django(None)),
    "drf-standardized-errors": (
        "drf-standardized-errors",
        lambda: django("drf_standardized_errors.handler.exception_handler"),
    ),
    "Litestar": ("litestar", litestar),
    **{
        name: (name, lambda name=name: library(name))
        for name in ("jsonschema", "msgspec", "voluptuous", "cerberus", "colander")
    },
}


def main() -> None:
    recorded = []
    for framework, (package, make) in FRAMEWORKS.items():
        try:
            ask = make()
        except Exception as problem:
            print(f"{framework}: {type(problem).__name__}: {problem}", file=sys.stderr)
            continue
        for one in MISTAKES:
            status, content_type, text = ask(one)
            if status >= 400:
                text = re.sub(r"0x[0-9a-f]{6,}", "0x0", text)
                recorded.append(
                    {
                        "framework": framework,
                        "version": version(package),
                        "mistake": one["name"],
                        "status": status,
                        "type": content_type,
                        "answer": json.loads(text) if "json" in content_type else text,
                    }
                )
    (HERE / "python.json").write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
