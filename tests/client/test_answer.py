"""Which answers are read to see whether they refuse, and what their links say."""

from __future__ import annotations

from corrigible.client.answer import Answer, feedback_links, linked_feedback, may_refuse
from tests._support.rows import rows

JSON = ("Content-Type", "application/json")


@rows(
    ("status", "headers", "read"),
    [
        (400, [], True),
        (599, [("Content-Type", "text/event-stream")], True),
        (399, [], False),
        (200, [JSON], False),
        (200, [JSON, ("Content-Length", "999999")], True),
        (200, [("content-type", "Application/Problem+JSON; charset=utf-8"), ("content-length", "1")], True),
        (200, [JSON, ("Content-Length", "1000000")], False),
        (200, [JSON, ("Content-Length", "-1")], False),
        (200, [JSON, ("Content-Length", "٣")], False),
        (200, [("Content-Type", "text/html"), ("Content-Length", "1")], False),
        (200, [("Content-Length", "1")], False),
    ],
)
def test_a_success_that_is_streamed_or_large_or_no_json_is_not_read(
    status: int, headers: list[tuple[str, str]], read: bool
) -> None:
    assert may_refuse(status, headers) is read


@rows(
    ("value", "targets"),
    [
        ('</x>; rel="recovery-feedback"', ["/x"]),
        ("</x>; type=a; REL=Recovery-Feedback", ["/x"]),
        ('</x>; rel="help recovery-feedback"', ["/x"]),
        ('</x>; rel="recovery-feedback", </y>; rel=recovery-feedback', ["/x", "/y"]),
        ('</x>; rel="help"', []),
        ("</x>", []),
        ("</x>; title=rel", []),
        ('</x>; rel="recovery-feedbacks"', []),
    ],
)
def test_links_with_that_relation_are_followed(value: str, targets: list[str]) -> None:
    answer = Answer(400, (("X", "</z>; rel=recovery-feedback"), ("LINK", value)))
    assert [target for target, _ in feedback_links(answer)] == targets
    assert list(feedback_links(Answer(399, answer.headers))) == []


def test_a_document_is_read_from_a_success_only() -> None:
    body = b'{"message": "No.", "suggestions": []}'
    feedback = linked_feedback(Answer(200, (), body))
    assert feedback is not None and feedback.message == "No."
    assert linked_feedback(Answer(400, (), body)) is None
    assert linked_feedback(Answer(200, (), b"[" * 100_000)) is None
