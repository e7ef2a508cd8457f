"""A service somebody might have: FastAPI checks the requests and writes the OpenAPI description, in its own words."""

import sys
from datetime import date
from typing import Literal

import uvicorn
from fastapi import FastAPI, Query
from pydantic import BaseModel, ConfigDict, Field

app = FastAPI(title="Bookings", version="1.0.0")


class Guest(BaseModel):
    name: str
    age: int = Field(ge=0, le=130)


class Booking(BaseModel):
    model_config = ConfigDict(extra="forbid")
    room: Literal["single", "double", "suite"]
    nights: int = Field(ge=1, le=30)
    arrival: date
    breakfast: bool = False
    guests: list[Guest] = Field(min_length=1, max_length=4)
    note: str = Field("", max_length=20)


@app.post("/bookings", status_code=201, operation_id="createBooking")
def create(booking: Booking) -> Booking:
    return booking


@app.get("/bookings", operation_id="listBookings")
def search(state: Literal["open", "closed", "all"] = "open", limit: int = Query(10, le=100)) -> list[str]:
    return [state, str(limit)]


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
