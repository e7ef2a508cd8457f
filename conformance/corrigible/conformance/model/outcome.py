"""What a check comes to where it finds nothing, its roles and profiles, and mistakes of the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Final, Literal

from corrigible.schema.error import did_you_mean as did_you_mean


class Outcome(Enum):
    """How one check ended. The worth of a run is in keeping these apart."""

    PASSED = "passed"
    FAILED_AS_EXPECTED = "failed as expected"
    FAILED = "failed"
    PASSED_UNEXPECTEDLY = "passed, but is listed as known failing"
    NOT_RUN = "not run"
    NOT_APPLICABLE = "not applicable"

    @property
    def ok(self) -> bool:
        return self in {Outcome.PASSED, Outcome.FAILED_AS_EXPECTED, Outcome.NOT_APPLICABLE}


def judge(*, passed: bool, known_failing: bool) -> Outcome:
    """Combine what happened with what was announced."""
    match passed, known_failing:
        case True, False:
            return Outcome.PASSED
        case True, True:
            return Outcome.PASSED_UNEXPECTEDLY
        case False, True:
            return Outcome.FAILED_AS_EXPECTED
        case _:
            return Outcome.FAILED


class NotApplicable(Exception):
    """The subject has nothing that this check is about. The message names it."""


class CouldNotTell(Exception):
    """The check was not run: no answer came, or something it needs is missing. The message says what."""


class Missing(CouldNotTell):
    """The check was not run for want of what the config does not give. Nothing is known of the subject by it."""


PROFILES: Final = (
    "http-json",
    "problem+json",
    "grpc",
    "kubernetes-api",
    "kubernetes-webhook",
    "graphql",
    "mcp",
    "recipe",
)
ROLES: Final = ("producer", "proxy", "consumer", "pack")
Role = Literal["producer", "proxy", "consumer", "pack"]


class UsageError(Exception):
    """An argument or a file makes no sense, or what is to be judged is not there. Exit status 2."""


@contextmanager
def usable(path: object, more: str = "") -> Iterator[None]:
    """Raise UsageError where a file cannot be read or written within."""
    try:
        yield
    except OSError as problem:
        raise UsageError(f"{path}: {problem.strerror or problem}{more}") from None
    except UnicodeDecodeError as problem:
        raise UsageError(f"{path}: no UTF-8 text: {problem.reason}{more}") from None


def crash_place(problem: BaseException) -> str:
    """Return the innermost line of the suite in a traceback."""
    trace, place = problem.__traceback__, ""
    while trace is not None:
        code = trace.tb_frame.f_code
        if "conformance" in code.co_filename:
            place = f" in {code.co_name}, {code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
