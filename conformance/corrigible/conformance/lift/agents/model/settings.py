"""How a model is to be asked: the settings of an agent in a plan, and the options of the command.

Knows: names, environment variables. Does not know: wire formats, episodes. A key is read late and kept nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from corrigible.conformance.model.usage_error import UsageError, did_you_mean

from .prompt import Mode, Vocabulary


class Settings(BaseModel):
    """What may stand under `settings` of an agent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = ""
    """What the agent is called in reports; default: PROVIDER:MODEL, and the strategy where there is one."""
    base_url: str = ""
    """Of the provider's API. `compatible` needs it: http://127.0.0.1:11434/v1 for Ollama, :8000/v1 for vLLM,
    :1234/v1 for LM Studio."""
    key_env: str = ""
    """The environment variable that holds the key; default: the provider's own."""
    local: bool = False
    """What answers at a loopback address is a model that runs here. Without it such an agent counts as a fake."""
    mode: Mode = "tools"
    """`json`: for models that know no tools."""
    constrained: bool = False
    """With mode=json, for `compatible` servers that can: decode nothing but the form of an answer (JSON Schema)."""
    first_request: Literal["fixed", "agent"] = "fixed"
    """`fixed`: every episode starts with the task's own request, so that arms differ in its response only, and every
    pair of episodes compares recoveries from the same error. `agent`: the model writes it; some then meet no error."""
    vocabulary: Vocabulary = "sentence"
    """Whether the prompt says nothing of feedback, that it may come, or what its words mean: the same in every arm."""
    reflection: Literal["schema", "words"] = "schema"
    """`words`: ask for a structured reflection in words only, where a server cannot constrain decoding."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """None: the provider's. Newer models of Anthropic and OpenAI refuse to be told one."""
    max_tokens: int = Field(default=4096, ge=16)
    """Of one answer, reasoning included."""
    seed: bool = True
    """Send the episode's seed where the API has a place for it (chat completions)."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds that one request may take."""
    retries: int = Field(default=5, ge=0, le=20)
    """Of one question, where the provider is busy."""
    longest_wait: float = Field(default=60.0, ge=0)
    """Seconds that a provider may let wait before the next try; beyond that the episode is an error."""
    tokens_per_minute: float | None = Field(default=None, gt=0)
    extra: dict[str, Any] = Field(default_factory=dict)
    """Further members of every request, in the provider's words: {reasoning_effort: low}. No secrets."""

    @model_validator(mode="after")
    def _has_a_form(self) -> Settings:
        if self.constrained and self.mode != "json":
            raise ValueError("constrained: tools have a form already: set mode=json")
        return self

    @field_validator("extra")
    @classmethod
    def _leaves_the_conversation(cls, value: dict[str, Any]) -> dict[str, Any]:
        if reserved := sorted(_CONVERSATION & set(value)):
            raise ValueError(f"{', '.join(reserved)}: what is asked is not a setting")
        return value


_CONVERSATION = frozenset({"model", "messages", "input", "system", "instructions", "tools", "tool_choice", "stream"})
_NOT_IDENTITY = frozenset(
    {"name", "base_url", "key_env", "local", "timeout", "retries", "longest_wait", "tokens_per_minute"}
)
"""Changes how an answer is got, never which."""


def settings(document: Mapping[str, Any], source: str) -> Settings:
    """Read settings. Raises UsageError with what is wrong."""
    for name in document:
        if name not in Settings.model_fields:
            raise UsageError(f"{source}: settings: {name} is none{did_you_mean(str(name), Settings.model_fields)}")
    try:
        return Settings.model_validate(dict(document))
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        raise UsageError(f"{source}: settings.{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def identity(chosen: Settings) -> dict[str, Any]:
    """Return the settings that a result depends on."""
    return chosen.model_dump(mode="json", exclude=set(_NOT_IDENTITY))
