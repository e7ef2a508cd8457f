"""What many checks look at is asked once, and only as far as somebody looks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

from corrigible.conformance.model.outcome import CouldNotTell
from corrigible.conformance.suite.subject import Subject


def test_it_is_asked_as_far_as_somebody_looks_and_told_again_with_its_trace() -> None:
    subject, asked = Subject("proxy", "http-json"), list[int]()

    def ask() -> Iterator[int]:
        for number in range(3):
            asked.append(number)
            subject.note("wire", f"exchange {number}")
            yield number
        subject.note("wire", "the end")

    assert list(islice(subject.each("numbers", ask), 2)) == [0, 1] == asked
    for _ in range(2):
        subject.trace.clear()
        assert list(subject.each("numbers", ask)) == [0, 1, 2] == asked
        assert [text for _, text in subject.trace] == ["exchange 0", "exchange 1", "exchange 2", "the end"]


def test_what_could_not_be_told_is_asked_anew() -> None:
    subject, silent = Subject("proxy", "http-json"), [True, False]

    def ask() -> Iterator[str]:
        yield "first"
        if silent.pop(0):
            raise CouldNotTell("silence")
        yield "second"

    with pytest.raises(CouldNotTell):
        list(subject.each("answers", ask))
    assert list(subject.each("answers", ask)) == ["first", "second"]
