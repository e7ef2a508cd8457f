"""Write a language model of 25 KB for llama.cpp: it answers each prompt with one sentence, and reads 512 tokens.

`python -m tests._support.tiny_model FILE`. Attention is zero: the last token alone chooses the next one, by a table.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

SENTENCE = ("I", "▁am", "▁a", "▁tiny", "▁model", ",", "▁and", "▁I", "▁say", "▁one", "▁sentence", ".")
CONTEXT = 512
WIDTH = 16
TEMPLATE = """\
{%- if tools %}{{ '<|im_start|>tools\\n' + (tools | tojson) + '<|im_end|>\\n' }}{% endif -%}
{%- for message in messages -%}
{%- if message.role not in ['system', 'user', 'assistant', 'tool'] -%}
{{ raise_exception('Unexpected message role: ' + message.role) }}
{%- endif -%}
{%- if message.role == 'system' and not loop.first -%}
{{ raise_exception('System message must be at the beginning.') }}
{%- endif -%}
{%- if message.role == 'user' and not loop.first and messages[loop.index0 - 1].role == 'user' -%}
{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
{%- endif -%}
{{ '<|im_start|>' + message.role + '\\n' + (message.content or '') + '<|im_end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif -%}
"""
_CONTROL, _BYTE, _NORMAL = 3, 6, 1
_TOKENS = [
    *((name, _CONTROL) for name in ("<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>")),
    *((f"<0x{byte:02X}>", _BYTE) for byte in range(256)),
    *((name, _NORMAL) for name in ("▁", *SENTENCE)),
]
_FIRST = len(_TOKENS) - len(SENTENCE)
_END = 2


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: object) -> tuple[int, bytes]:
    """Return the number of a type in GGUF, and a value of it."""
    if isinstance(value, bool):
        return 7, struct.pack("<?", value)
    if isinstance(value, int):
        return 4, struct.pack("<I", value)
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, str):
        return 8, _string(value)
    assert isinstance(value, Sequence)
    items = [_value(item) for item in value]
    kind = 5 if items[0][0] == 4 else items[0][0]  # types of tokens are signed
    return 9, struct.pack("<IQ", kind, len(items)) + b"".join(data for _, data in items)


def _tensors() -> dict[str, tuple[tuple[int, ...], bytes]]:
    """Return the shape and the data of each tensor: F16 with two dimensions, F32 with one."""

    def table(rows: dict[int, tuple[int, float]]) -> bytes:
        """One row for each token, with one number that is not zero."""
        line = [[0.0] * WIDTH for _ in _TOKENS]
        for token, (place, number) in rows.items():
            line[token][place] = number
        return b"".join(struct.pack(f"<{WIDTH}e", *row) for row in line)

    # A word is in a place of its own, all else in place 0: the row of the word after it has a large number there.
    read = {token: (max(0, token - _FIRST + 1), 1.0) for token in range(len(_TOKENS))}
    written = {token: (token - _FIRST, 8.0) for token in range(_FIRST, len(_TOKENS))}
    ones, square = struct.pack(f"<{WIDTH}f", *[1.0] * WIDTH), b"\0\0" * WIDTH * WIDTH
    wide = (WIDTH, len(_TOKENS))
    block = {
        **{f"blk.0.{name}_norm.weight": ((WIDTH,), ones) for name in ("attn", "ffn")},
        **{f"blk.0.attn_{name}.weight": ((WIDTH, WIDTH), square) for name in ("q", "k", "v", "output")},
        **{f"blk.0.ffn_{name}.weight": ((WIDTH, WIDTH), square) for name in ("gate", "down", "up")},
    }
    return {
        "token_embd.weight": (wide, table(read)),
        "output_norm.weight": ((WIDTH,), ones),
        "output.weight": (wide, table({**written, _END: (len(SENTENCE), 8.0)})),
        **block,
    }


def model() -> bytes:
    """Return the file."""
    facts = {
        "general.architecture": "llama",
        "general.name": "tiny",
        "general.license": "apache-2.0",
        "llama.block_count": 1,
        "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH,
        "llama.feed_forward_length": WIDTH,
        "llama.attention.head_count": 1,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": WIDTH,
        "llama.vocab_size": len(_TOKENS),
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": [name for name, _ in _TOKENS],
        "tokenizer.ggml.scores": [0.0] * len(_TOKENS),
        "tokenizer.ggml.token_type": [2, *(kind for _, kind in _TOKENS[1:])],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": _END,
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.chat_template": TEMPLATE,
    }
    tensors = _tensors()
    starts = accumulate((-(-len(data) // 32) * 32 for _, data in tensors.values()), initial=0)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts))
    for name, fact in facts.items():
        kind, data = _value(fact)
        head += _string(name) + struct.pack("<I", kind) + data
    for (name, (shape, _)), start in zip(tensors.items(), starts, strict=False):
        sizes = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head += _string(name) + sizes + struct.pack("<IQ", len(shape) - 1, start)
    parts = [head, *(data for _, data in tensors.values())]
    return b"".join(part + b"\0" * (-len(part) % 32) for part in parts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(model())
