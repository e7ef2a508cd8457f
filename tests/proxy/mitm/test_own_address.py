"""Whether a connection has ended at ourselves."""

from __future__ import annotations

from corrigible.proxy.mitm.listener import is_own
from tests._support.rows import rows


@rows(
    ("peer", "listening", "own"),
    [
        (("127.0.0.1", 80), [("127.0.0.1", 80)], True),
        (("127.0.0.1", 81), [("127.0.0.1", 80)], False),
        (("127.0.0.2", 80), [("127.0.0.1", 80)], False),
        (("::ffff:127.0.0.1", 80), [("127.0.0.1", 80)], True),
        (("::1", 80), [("127.0.0.1", 80), ("::1", 80)], True),
        (("127.0.0.2", 80), [("0.0.0.0", 80)], True),
        (("127.0.0.1", 80), [("::", 80)], True),
        (("192.0.2.1", 80), [("0.0.0.0", 80)], False),
        (("192.0.2.1", 80), [("::", 80)], False),
        (("fe80::1%eth0", 80), [("fe80::1%eth0", 80)], True),
        (("127.0.0.1", 80), [], False),
    ],
)
def test_what_counts_is_where_a_connection_ended(
    peer: tuple[str, int], listening: list[tuple[str, int]], own: bool
) -> None:
    assert is_own(peer, listening) is own
