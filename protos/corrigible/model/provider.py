"""The providers: which wire format each uses, where its key comes from, and its address.

Does not know: what is asked, what for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from corrigible.schema.exchange import Json

from . import anthropic, openai
from .conversation import Question, Reply, Sampling
from .provider_client import Endpoint, UnusableProvider, address, checked, is_loopback


@dataclass(frozen=True, slots=True)
class Provider:
    """One wire format, and where it is used."""

    name: str
    wire: str
    base_url: str
    """Empty: there is no default."""
    path: str
    key_env: str
    needs_key: bool
    takes_seed: bool
    headers: Callable[[str], dict[str, str]]
    encode: Callable[[Question, Sampling], dict[str, Json]]
    decode: Callable[[Mapping[str, Json]], Reply]


_OPENAI: Final = "https://api.openai.com/v1"
_ALL: Final = (
    Provider(
        "anthropic", "anthropic-messages/2023-06-01", "https://api.anthropic.com", "/v1/messages", "ANTHROPIC_API_KEY",
        True, False, anthropic.headers, anthropic.encode, anthropic.decode,
    ),
    Provider(
        "openai", "openai-chat-completions/v1", _OPENAI, "/chat/completions", "OPENAI_API_KEY",
        True, True, openai.headers, openai.encode, openai.decode,
    ),
    Provider(
        "openai-responses", "openai-responses/v1", _OPENAI, "/responses", "OPENAI_API_KEY",
        True, False, openai.headers, openai.encode_responses, openai.decode_responses,
    ),
    Provider(  # a key of its own, so that OpenAI's goes to nobody else
        "compatible", "openai-chat-completions/v1", "", "/chat/completions", "COMPATIBLE_API_KEY",
        False, True, openai.headers, openai.encode_compatible, openai.decode,
    ),
)  # fmt: skip
PROVIDERS: Final[Mapping[str, Provider]] = {one.name: one for one in _ALL}


def endpoint(
    provider: Provider,
    *,
    base_url: str,
    key_env: str,
    local: bool,
    environ: Mapping[str, str],
    timeout: float = 120.0,
    retries: int = 5,
    longest_wait: float = 60.0,
) -> Endpoint:
    """Return where and how a provider is called. Raises UnusableProvider for what is missing.

    `key_env`: the variable of the key, empty for the provider's own. `local`: what answers on this machine is a model.
    """
    base = base_url or provider.base_url
    if not base:
        raise UnusableProvider(f"{provider.name}: where is it? --base-url URL, as http://127.0.0.1:11434/v1")
    loopback = is_loopback(base)
    variable = key_env or provider.key_env
    # A program on this machine is told a key only where somebody says which.
    key = "" if loopback and not key_env else environ.get(variable, "").strip()
    if not key and (provider.needs_key or key_env) and not loopback:
        raise UnusableProvider(f"{provider.name}: {variable} is not set: it holds the key")
    base = checked(base, has_key=bool(key))
    if provider.name == "anthropic":
        base = base.removesuffix("/v1")
    return Endpoint(
        url=base + provider.path,
        shown=address(base + provider.path),
        headers=provider.headers(key),
        secret=key,
        fake=loopback and not local,
        loopback=loopback,
        timeout=timeout,
        retries=retries,
        longest_wait=longest_wait,
    )
