"""Logs made up for tests: nothing was played."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from corrigible.conformance.lift.arms import Arm
from corrigible.conformance.lift.log import Episode, Log, Manifest, Reflection, Spent, Turn

Outcome = Literal["success", "failure", "error"]
DOMAINS = ("acme", "etcd", "github", "kubernetes", "recipe", "stripe")
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202e"


def feedback(index: int = 0) -> dict[str, Any]:
    return {
        "schema": "corrigible/0.1",
        "type": "business_rule_violation",
        "message": f"An order takes at most {10 + index} cups.",
        "suggestions": [
            {
                "action": "MODIFY_FIELD",
                "message": f"Set the quantity to {10 + index}.",
                "parameters": {"quantity": 10 + index},
                "patch": [{"op": "replace", "path": "/body/lines/0/quantity", "value": 10 + index}],
                "applicability": "MAYBE_INCORRECT",
            }
        ],
    }


def turn(quantity: int = 90, *, accepted: bool = False, told: bool = False, **more: Any) -> Turn:
    shown: Any = None
    if not accepted:
        shown = {"error": {"code": "too_many", "message": "Too many cups."}}
        if told:
            shown["error"]["recovery_feedback"] = feedback()
    request = {
        "method": "POST",
        "path": "/v1/orders",
        "query": {},
        "headers": {"content-type": "application/json"},
        "body": {"customer": "cus_ada", "lines": [{"sku": "tea", "quantity": quantity}], "note": "for the 4th floor"},
    }
    values = {"request": request, "status": 201 if accepted else 422, "shown": shown, "accepted": accepted}
    return Turn(**{**values, "offered": int(told and not accepted), **more})


def episode(
    task: str = "t1",
    arm: str = "verbose",
    agent: str = "informed",
    seed: int = 0,
    outcome: Outcome = "success",
    *,
    domain: str = "stripe",
    attempts: int = 2,
    **more: Any,
) -> Episode:
    told = arm.startswith("reflective") or arm in ("noise", "shuffled")
    turns = [turn(90 + n, told=told) for n in range(attempts - (outcome == "success"))]
    if outcome == "success":
        turns.append(turn(10, accepted=True, followed=told, applied=(0,) if told else None))
    values = {
        "key": hashlib.sha256(f"{domain}{task}{arm}{agent}{seed}".encode()).hexdigest(),
        "task": task,
        "domain": domain,
        "needs": "nothing",
        "arm": arm,
        "agent": agent,
        "kind": "scripted",
        "seed": seed,
        "outcome": outcome,
        "attempts": attempts,
        "turns": () if outcome == "error" else tuple(turns),
        "why": {"success": "", "failure": "GET /v1/orders: /total is 3, not 2", "error": "time is out: 120 s"}[outcome],
    }
    return Episode(**{**values, **more})


def manifest(agents: Mapping[str, Mapping[str, Any]] | None = None, **more: Any) -> Manifest:
    named = {name: {"name": name, "kind": "", "identity": dict(document)} for name, document in (agents or {}).items()}
    return Manifest(**{"plan": {"registered": {}}, "seed": 0, "agents": named, **more})


def log(episodes: Iterable[Episode], *manifests: Manifest) -> Log:
    return Log(manifests or (manifest(),), tuple(episodes))


SOLVES = {
    "informed": (0.03, 0.05, 0.08, 0.6, 0.98, 0.03, 0.05, 0.05),
    "patch-executor": (0.02, 0.02, 0.05, 0.35, 0.8, 0.02, 0.05, 0.05),
    "literal-merge": (0.02, 0.02, 0.02, 0.4, 0.4, 0.02, 0.05, 0.02),
    "enumerator": (0.2, 0.25, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3),
    "message-regex": (0.05, 0.1, 0.35, 0.35, 0.35, 0.3, 0.3, 0.35),
    "random": (0.05,) * 8,
    "stubborn": (0.0,) * 8,
    "oscillator": (0.0,) * 8,
    "mis-merger": (0.0, 0.0, 0.02, 0.1, 0.2, 0.0, 0.0, 0.0),
    "gullible": (0.0, 0.02, 0.05, 0.3, 0.75, 0.02, 0.02, 0.02),
}
"""By arm, in the order of `Arm`."""


def scripted(tasks: int = 70, seed: int = 1) -> Log:
    """Return a log like that of a whole run of the scripts."""
    rng = random.Random(seed)
    made: list[Episode] = []
    names = [
        (DOMAINS[n % len(DOMAINS)], f"task-{n:02}", ("nothing", "prompt", "impossible")[n % 7 % 3])
        for n in range(tasks)
    ]
    for domain, task, needs in names:
        for agent, chances in SOLVES.items():
            for arm, chance in zip(Arm, chances, strict=True):
                draw = rng.random()
                outcome: Outcome = "error" if draw > 0.997 else "success" if rng.random() < chance else "failure"
                harm = (
                    ('changed: GET /v1/orders/7: /note is null, and "x" before',)
                    if agent == "mis-merger" and draw < 0.02
                    else ()
                )
                made.append(
                    episode(
                        task, arm, agent, 0, outcome, domain=domain, needs=needs, harm=harm,
                        attempts=rng.choice((2, 2, 3)) if outcome == "success" else 5,
                        loops=2 if agent in ("stubborn", "oscillator") else 0,
                    )
                )  # fmt: skip
    told = {f"{d}/{t}": {"origin": f"{d} server, POST /v1/orders", "prompt": f"Order tea ({t})."} for d, t, _ in names}
    return log(made, manifest({name: {"version": 1} for name in SOLVES}, tasks=told, digests={"code": "0f" * 32}))


MODELS = {"haiku": (0.1, 0.5, 0.85), "sonnet": (0.2, 0.5, 0.9), "mini": (0.2, 0.45, 0.6)}


def models(tasks: int = 21, seeds: int = 3, strategies: tuple[str, ...] = ("none",), *, fake: bool = False) -> Log:
    """Return a log like that of three models."""
    rng = random.Random(7)
    arms = ("traditional", "verbose", "reflective")
    made: list[Episode] = []
    identities: dict[str, dict[str, Any]] = {}
    hard = {n: rng.random() ** 2 for n in range(tasks)}
    for n in range(tasks):
        for model, chances in MODELS.items():
            for strategy in strategies:
                agent = f"anthropic:{model}" + (f"+{strategy}" if strategy != "none" else "")
                identities[agent] = {"model": model, "strategy": strategy, "fake": fake}
                for arm, chance in zip(arms, chances, strict=True):
                    for seed in range(seeds):
                        won = rng.random() < chance ** (0.3 + 2 * hard[n])
                        attempts = rng.choice((2, 2, 3, 4)) if won else 5
                        made.append(
                            _reflected(
                                episode(
                                    f"task-{n:02}", arm, agent, seed, "success" if won else "failure",
                                    domain=DOMAINS[n % 3], attempts=attempts, kind="model", strategy=strategy,
                                    spent=Spent(
                                        input=900 * attempts, output=rng.randrange(80, 400) * attempts, calls=attempts,
                                        by_turn=tuple(1000 + 40 * k for k in range(attempts)),
                                    ),
                                ),
                                strategy, rng,
                            )
                        )  # fmt: skip
    return log(made, manifest(identities, digests={"code": "0f" * 32}))


def _reflected(one: Episode, strategy: str, rng: random.Random) -> Episode:
    if strategy == "none":
        return one
    form: Literal["free", "structured"] = "free" if strategy == "free" else "structured"
    category = rng.choice(("wrong_value", "wrong_value", "missing_field"))

    def reflected(index: int, made: Turn) -> Turn:
        text = "The quantity is above the limit; I shall lower it."
        named = category if form == "structured" else ""
        said = Reflection(form=form, text=text, category=named, first=1, repeated=index > 1, tokens=120)
        return made.model_copy(update={"reflections": (said,)}) if index else made

    return one.model_copy(update={"turns": tuple(reflected(n, made) for n, made in enumerate(one.turns))})
