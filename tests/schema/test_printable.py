"""What others wrote is shown on a terminal and does nothing there."""

from __future__ import annotations

import json
import sys

import pytest

from corrigible.schema.printable import printable, shown_on, without_unseen
from tests._support.rows import rows

NASTY = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\u200b\x00\x7f\U000e0041\r"


def test_nothing_of_it_is_obeyed() -> None:
    shown = printable(f"a\tb\n{NASTY}ü語😀")
    assert shown.startswith("a\tb\n\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m\\u202eevil\\u200b\\u0000\\u007f")
    assert shown.endswith("\\udb40\\udc41\\u000dü語😀")
    assert printable("\ud800") == "\\ud800"


def test_json_stays_the_same_value() -> None:
    text = json.dumps({"a": NASTY, NASTY: ["ü"]}, ensure_ascii=False)
    assert json.loads(printable(text)) == json.loads(text)


def test_our_own_colours_may_stay() -> None:
    painted = "\x1b[31mred\x1b[0m\x1b[8mhidden\x1b[1;5m"
    assert printable(painted, colours=True) == "\x1b[31mred\x1b[0m\\u001b[8mhidden\\u001b[1;5m"
    assert "\x1b" not in printable(painted)


def test_streams_are_themselves_again(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with pytest.raises(ZeroDivisionError), shown_on("stdout", "stderr"):
        print(NASTY, "x")
        print(NASTY, file=sys.stderr)
        sys.stdout.writelines(["a\x1b", "b\n"])
        sys.stdout.flush()
        _ = 1 // 0
    assert sys.stdout is before
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err and out.endswith("\\u000d x\na\\u001bb\n")


@pytest.mark.parametrize(
    ("colours", "shown"), [(True, "\x1b[31mred"), (False, "\\u001b[31mred"), (None, "\\u001b[31mred")]
)
def test_a_stream_keeps_our_own_colours_where_that_is_asked_for(
    capsys: pytest.CaptureFixture[str], colours: bool | None, shown: str
) -> None:
    with shown_on("stdout", **({} if colours is None else {"colours": colours})):
        assert sys.stdout.write("\x1b[31mred") == 8
    assert capsys.readouterr().out == shown


@rows(
    "text",
    [
        "مرحبا بالعالم، می‌خواهم",
        "שלום עולם",
        "नमस्ते क्‍ष",
        "👨‍👩‍👧 ❤️ 1️⃣ 🏳️‍🌈 👍🏽",
        "日本語 café naïve Ελληνικά Кириллица 한국어",
        "no\u00a0break, “quotes” — dash… €5",
    ],
)
def test_scripts_and_emoji_stay_as_they_are(text: str) -> None:
    assert without_unseen(text) == text == printable(text)


HIDDEN = (
    *(
        0x200B,
        0x200C,
        0x200D,
        0x2060,
        0xFEFF,
        0xAD,
        0x34F,
        0x3164,
        0x115F,
        0x2800,
        0xFE0F,
        0xFE01,
        0x202E,
        0x2066,
        0x61C,
    ),
    *(0xE0049, 0xE0101, 0x1B, 0x00, 0x9B, 0x0D, 0x2028, 0xE000, 0x378, 0xD800),
)


@rows("code", HIDDEN)
def test_what_shows_nothing_is_taken_out(code: int) -> None:
    hidden = chr(code)
    assert without_unseen(f"ig{hidden}nore{hidden}\n\tthis{hidden}") == "ignore\n\tthis"
    assert hidden not in printable(f"a{hidden}b")


EDGES = {
    # The first and the last of a range, and what stands beside it.
    "~\u180b\u180f": "~",
    "~\ufe00\ufe0f\ufe10": "~\ufe10",
    "~\U000e0100\U000e01ef": "~",
    "a\U0001f000\U0001faff": "a\U0001f000\U0001faff",
    "a\U0001fb00": "a\U0001fb00",
    # A picture keeps its style, and so does a keycap; a letter and a sign of ASCII have none.
    "\u2764\ufe0f \u00b4\ufe0f \u2211\ufe0f \U0001fae9\ufe0f": (
        "\u2764\ufe0f \u00b4\ufe0f \u2211\ufe0f \U0001fae9\ufe0f"
    ),
    "1\ufe0f\u20e3 1\ufe0f ~\ufe0f \u00a8\ufe0f x\ufe0f \u00e9\ufe0f": "1\ufe0f\u20e3 1 ~ \u00a8 x \u00e9",
    # A joiner stays between letters or marks of scripts that join, or pictures: never at an end, or beside another one.
    "\u0628\u200c\u0628": "\u0628\u200c\u0628",
    "\u0915\u094d\u200d\u0937": "\u0915\u094d\u200d\u0937",
    "\u0915\u0903\u200d\u0937": "\u0915\u0903\u200d\u0937",
    "\u0628\u200d \u200d\u0628 a\u200db \u0628\u200da \u4e00\u200d\u4e00": "\u0628 \u0628 ab \u0628a \u4e00\u4e00",
    "\u0661\u200d\u0661": "\u0661\u0661",
    "\U0001f468\u200d\U0001f469 \u2764\ufe0f\u200d\U0001f525": (
        "\U0001f468\u200d\U0001f469 \u2764\ufe0f\u200d\U0001f525"
    ),
    "\U0001f468\u200dx ~\u200d~": "\U0001f468x ~~",
}


@rows(("text", "seen"), EDGES.items())
def test_what_shapes_a_character_stays_beside_it_alone(text: str, seen: str) -> None:
    assert without_unseen(text) == seen
    assert (printable(text) == text) is (seen == text)
