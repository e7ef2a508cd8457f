"""A log of ours as logs of Inspect AI: one for each start, agent and arm. Its reader and its viewer open them.

Pure, and without Inspect: the form is that of its JSON logs, version 2. A sample is a task, an epoch a seed; an episode
that crashed is a sample with an error, and no score. Nothing is computed here but Inspect's own accuracy.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from corrigible.conformance.lift.log.record import Episode, Manifest, Turn
from corrigible.conformance.lift.stats.group import name_of
from corrigible.schema.exchange import Json

VERSION: Final = 2
"""Of the form of Inspect's logs."""
SCORER: Final = "end_state"
_VALUES: Final[Mapping[str, str]] = {"success": "C", "failure": "I"}


def inspect_logs(manifest: Manifest, episodes: Sequence[Episode]) -> dict[str, str]:
    """Return logs by file name."""
    groups: dict[tuple[str, str, str], list[Episode]] = {}
    for one in episodes:
        groups.setdefault((one.start, one.agent, one.arm), []).append(one)
    return {_file_name(inside): json.dumps(_log(manifest, inside), indent=1) + "\n" for inside in groups.values()}


def _file_name(episodes: Sequence[Episode]) -> str:
    """Return a name as Inspect gives it, time first: its lists leave out any other."""
    first = episodes[0]
    began = _time(min(one.at for one in episodes)).partition(".")[0].partition("+")[0].replace(":", "-")
    name = re.sub(r"[^\w.]+", "-", f"{first.start}-{first.agent}-{first.arm}", flags=re.ASCII)
    return f"{began}_{name}_{_digest(episodes)[:8]}.json"


def _digest(episodes: Sequence[Episode]) -> str:
    return hashlib.sha256("".join(one.key for one in episodes).encode()).hexdigest()


def _log(manifest: Manifest, episodes: Sequence[Episode]) -> dict[str, Json]:
    first = episodes[0]
    seeds = sorted({one.seed for one in episodes})
    digest = _digest(episodes)
    judged = [one for one in episodes if one.outcome in _VALUES]
    names = list(dict.fromkeys(map(name_of, episodes)))
    began = min(one.at for one in episodes)
    ended = max(one.at + one.seconds for one in episodes)
    return {
        "version": VERSION,
        "status": "success",
        "eval": {
            "eval_id": digest[:22],
            "run_id": hashlib.sha256(manifest.model_dump_json().encode()).hexdigest()[:22],
            "created": _time(began),
            "task": f"lift {first.arm}, from the {first.start} on",
            "task_id": digest[22:44],
            "task_version": 0,
            "dataset": {"name": "corrigible lift", "samples": len(names), "sample_ids": names, "shuffled": False},
            "model": first.agent,
            "config": {"epochs": len(seeds)},
            "packages": dict(manifest.versions),
            "metadata": {"arm": first.arm, "kind": first.kind, "start": first.start, "seeds": seeds},
            "scorers": [{"name": SCORER, "metrics": [{"name": "accuracy"}]}],
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": len(episodes),
            "completed_samples": len(judged),
            "scores": [_accuracy(judged)] if judged else [],
        },
        "stats": {"started_at": _time(began), "completed_at": _time(ended), "model_usage": _usage(episodes)},
        "samples": [_sample(manifest, one, seeds.index(one.seed) + 1) for one in episodes],
    }


def _accuracy(judged: Sequence[Episode]) -> dict[str, Json]:
    value = sum(one.outcome == "success" for one in judged) / len(judged)
    return {
        "name": SCORER,
        "scorer": SCORER,
        "scored_samples": len(judged),
        "unscored_samples": 0,
        "metrics": {"accuracy": {"name": "accuracy", "value": value}},
    }


def _sample(manifest: Manifest, one: Episode, epoch: int) -> dict[str, Json]:
    prompt = manifest.tasks.get(name_of(one), {}).get("prompt", "")
    messages = [{"role": "user", "content": prompt}, *_messages(one)]
    document: dict[str, Json] = {
        "id": name_of(one),
        "epoch": epoch,
        "input": prompt,
        "target": "the end state that the task asks for",
        "messages": messages,
        "output": {"model": one.agent, "choices": [], "completion": one.ending},
        "scores": {},
        "metadata": {
            "domain": one.domain, "needs": one.needs, "arm": one.arm, "seed": one.seed, "attempts": one.attempts,
            "harm": list(one.harm), "loops": one.loops, "strategy": one.strategy,
        },
        "started_at": _time(one.at),
        "completed_at": _time(one.at + one.seconds),
        "total_time": one.seconds,
        "model_usage": _usage([one]),
        "uuid": one.key[:22],
    }  # fmt: skip
    if one.outcome in _VALUES:
        score = {"value": _VALUES[one.outcome], "answer": one.ending, "explanation": one.why}
        document["scores"] = {SCORER: score}
    else:
        document["error"] = {"message": one.why, "traceback": "", "traceback_ansi": ""}
    return document


def _messages(one: Episode) -> Iterator[dict[str, Json]]:
    for number, turn in enumerate(one.turns, start=1):
        call = f"{one.key[:12]}-{number}"
        said = "The call that the episode starts with; it is none of the agent's." if turn.given else turn.note
        yield {
            "role": "assistant",
            "content": said,
            "model": one.agent,
            "tool_calls": [{"id": call, "function": "call_api", "arguments": dict(turn.request), "type": "function"}],
        }
        yield {"role": "tool", "content": _shown(turn), "tool_call_id": call, "function": "call_api"}
    if one.ending:
        yield {"role": "assistant", "content": one.ending, "model": one.agent}


def _shown(turn: Turn) -> str:
    if turn.accepted and turn.shown is None:
        return f"{turn.status}: accepted"
    text = turn.shown if isinstance(turn.shown, str) else json.dumps(turn.shown, ensure_ascii=False, indent=1)
    return f"{turn.status}\n{text}"


def _usage(episodes: Sequence[Episode]) -> dict[str, Json]:
    """Return tokens by model, as billed; nothing where an episode has no bill."""
    bills = [one.spent for one in episodes]
    known = [bill for bill in bills if bill is not None]
    if not known or len(known) < len(bills):
        return {}
    total_input, total_output = sum(bill.input for bill in known), sum(bill.output for bill in known)
    usage = {
        "input_tokens": total_input,
        "output_tokens": total_output,
        "total_tokens": total_input + total_output,
        "input_tokens_cache_read": sum(bill.cached for bill in known),
    }
    return {episodes[0].agent: usage}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
