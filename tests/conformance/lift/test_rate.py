"""Rates: requests and tokens are held back to what a minute allows."""

from __future__ import annotations

from collections.abc import Iterable

from corrigible.model.provider_client import RateLimiter


class Clock:
    """A time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now += seconds


def entered(rate: RateLimiter, clock: Clock, bills: Iterable[int]) -> list[float]:
    times = []
    for tokens in bills:
        rate.enter()
        times.append(clock.now)
        rate.billed(tokens)
    return times


def test_requests_are_spread_over_the_minute() -> None:
    clock = Clock()
    assert entered(RateLimiter(30, clock=clock, sleep=clock.sleep), clock, [1, 1, 1]) == [100, 102, 104]


def test_tokens_of_the_last_minute_hold_back_the_next_request() -> None:
    clock = Clock()
    assert entered(RateLimiter(None, 1000, clock=clock, sleep=clock.sleep), clock, [600, 600, 1]) == [100, 100, 160]


def test_no_rate_is_no_wait() -> None:
    clock = Clock()
    assert entered(RateLimiter(clock=clock, sleep=clock.sleep), clock, [10**9] * 3) == [100, 100, 100]
