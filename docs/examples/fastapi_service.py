"""A service whose own refusals carry the correction."""

import json
from pathlib import Path
from typing import Literal

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field

from corrigible.proxy.asgi import ReflectiveMiddleware

service = FastAPI(title="Bookings", version="1.0.0")


class Booking(BaseModel):
    model_config = ConfigDict(extra="forbid")
    room: Literal["single", "double", "suite"]
    nights: int = Field(ge=1, le=30)


@service.post("/bookings", status_code=201, operation_id="createBooking")
def create(booking: Booking) -> Booking:
    return booking


description = Path(__file__).with_name("openapi.json")
description.write_text(json.dumps(service.openapi()), "utf-8")
app = ReflectiveMiddleware(service, spec=description)
