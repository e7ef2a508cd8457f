"""How many tokens a refused answer takes, as each arm shows it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import fmean

from corrigible.conformance.lift.log.record import Episode

from .group import calls, name_of, split

ENCODING = "o200k_base"
"""The tokenizer of OpenAI's models since GPT-4o: other models' counts differ, the ratio of two arms hardly does."""


def tokens(text: str) -> int:
    """Return the number of tokens of a text. Raises ModuleNotFoundError without the extra `lift`."""
    from rs_bpe.bpe import openai  # holds the encoding itself: nothing is fetched

    return int(openai.o200k_base().count(text))


def answer_tokens(episodes: Sequence[Episode]) -> float | None:
    """Return the tokens of the first refused answer: the mean over tasks; None if no call was refused."""
    means = []
    for inside in split(episodes, name_of).values():
        firsts = [shown for episode in inside if (shown := _first_refusal(episode)) is not None]
        if firsts:
            means.append(fmean(map(tokens, firsts)))
    return fmean(means) if means else None


def _first_refusal(episode: Episode) -> str | None:
    """Return the first answer that refused, as the agent saw it; None if the first call was accepted."""
    made = calls(episode)
    if not made or made[0].accepted or made[0].shown is None:
        return None
    return json.dumps(made[0].shown, ensure_ascii=False, separators=(",", ":"))
