"""A service somebody might have: Flask (which mitmproxy brings along), with its own pages for what it refuses."""

import sys
from typing import Any

from flask import Flask, Response, request

app = Flask(__name__)


@app.post("/orders")
def create() -> Any:
    order = request.get_json()
    return order if isinstance(order, dict) and "name" in order else ("name is required", 400)


@app.get("/orders")
def listed() -> list[str]:
    return []


@app.patch("/orders/<id>")
def change(id: str) -> dict[str, str]:
    return {"id": id}


@app.post("/photos")
def upload() -> Any:
    """Werkzeug reads the form, the checks are by hand."""
    problems = {}
    if "image" not in request.files:
        problems["image"] = ["No file was submitted."]
    if "title" not in request.form:
        problems["title"] = ["This field is required."]
    if not request.form.get("count", "1").isdecimal():
        problems["count"] = ["Not a valid integer."]
    if problems:
        return {"errors": problems}, 400
    return {**request.form, "image": request.files["image"].filename}


@app.get("/busy")
def busy() -> Response:
    return Response("Slow down, please.", 429, {"Retry-After": "3"}, mimetype="text/plain")


if __name__ == "__main__":
    app.run("127.0.0.1", int(sys.argv[1]))
