"""The object of an AdmissionReview as the caller sent it, without what the API server filled in."""

from __future__ import annotations

from corrigible.adapters.apis.kubernetes.adapter import as_sent
from corrigible.schema.exchange import Json
from tests._support.rows import rows

FILLED = {
    "metadata": {"name": "p", "creationTimestamp": None},
    "spec": {
        "strategy": {},
        "securityContext": {},
        "volumes": [{"name": "v", "emptyDir": {}}],
        "containers": [{"name": "c", "resources": {}, "securityContext": {"privileged": True}, "status": ""}],
    },
    "status": {},
}
SENT = {
    "metadata": {"name": "p"},
    "spec": {
        "volumes": [{"name": "v", "emptyDir": {}}],
        "containers": [{"name": "c", "securityContext": {"privileged": True}, "status": ""}],
    },
}


def test_empty_members_that_the_server_fills_in_go_and_others_stay() -> None:
    assert as_sent(FILLED) == SENT
    assert FILLED["metadata"] == {"name": "p", "creationTimestamp": None}


def test_elements_keep_their_places() -> None:
    assert as_sent([{"resources": {}}, {"resources": {"limits": {"cpu": "1"}}}, {}]) == [
        {},
        {"resources": {"limits": {"cpu": "1"}}},
        {},
    ]


@rows("body", [None, "text", 3, True, [], {}])
def test_what_is_no_object_stays(body: Json) -> None:
    assert as_sent(body) == body
