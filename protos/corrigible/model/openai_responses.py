"""OpenAI's Responses API: POST /v1/responses, as of 2025 (no version header).

Stateless (`store: false`): the whole conversation is sent every time. Reasoning is sent back only where it came
encrypted, which a model must be asked for and not every model grants:
`extra: {include: [reasoning.encrypted_content]}`. Without its reasoning a call of a function goes back without its id,
since the API looks for the reasoning of a call that it knows. Structured output is `text.format` of type json_schema.
The API has no seed. Not streamed.
Pure: conversation to document, document to reply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from corrigible.schema.exchange import Json

from .conversation import ModelMessage, Question, Reply, Sampling, Tool, UserMessage, Why
from .openai import answer_format, billed, called, options


def encode(question: Question, sampling: Sampling) -> dict[str, Json]:
    """Return the document to send."""
    document: dict[str, Json] = {
        "model": sampling.model,
        "max_output_tokens": sampling.max_tokens,
        "instructions": question.system,
        "input": list(_items(question)),
        "store": False,
    }
    document |= options(question, sampling, _function)
    if question.schema is not None:
        response_format = answer_format(question.schema_name, question.schema)
        document["text"] = {"format": {"type": "json_schema", **response_format}}
    return document | dict(sampling.extra or {})


def _function(tool: Tool) -> Json:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.schema),
        "strict": False,  # what is not said counts as true here
    }


def _items(question: Question) -> Iterable[Json]:
    for entry in question.entries:
        match entry:
            case UserMessage(text=text):
                yield {"role": "user", "content": text}
            case ModelMessage(reply=reply):
                yield from _reply_items(reply)
            case _:
                yield {"type": "function_call_output", "call_id": entry.call, "output": entry.text}


def _reply_items(reply: Reply) -> Iterable[Json]:
    malformed = {call.id for call in reply.calls if call.arguments is None}
    reasoned = False
    for item in reply.raw or ():
        match item.get("type"):
            case "reasoning" if item.get("encrypted_content"):
                reasoned = True
                yield item
            case "function_call":
                call_item = {name: item[name] for name in ("type", "call_id", "name", "arguments")}
                if item["call_id"] in malformed:
                    call_item["arguments"] = "{}"
                yield {**call_item, "id": item["id"]} if reasoned and "id" in item else call_item
            case "message":
                text = _text(item)
                if text:
                    yield {"role": "assistant", "content": text}


def decode(document: Mapping[str, Json]) -> Reply:
    """Read an answer. Raises KeyError, TypeError or ValueError where it is none."""
    if (error := document.get("error")) is not None:
        raise ValueError(f"the response failed: {error}")
    output = [item for item in document["output"] if isinstance(item, Mapping)]
    calls = tuple(called(str(item["call_id"]), item) for item in output if item.get("type") == "function_call")
    messages = [item for item in output if item.get("type") == "message"]
    return Reply(
        text="\n".join(filter(None, map(_text, messages))),
        calls=calls,
        why=_stop_reason(document, messages, has_calls=bool(calls)),
        usage=billed(document.get("usage"), "input_tokens", "output_tokens"),
        raw=output,
    )


def _stop_reason(document: Mapping[str, Json], messages: Iterable[Mapping[str, Json]], *, has_calls: bool) -> Why:
    if document.get("status") == "incomplete":
        reason = (document.get("incomplete_details") or {}).get("reason")
        return "refusal" if reason == "content_filter" else "length"
    if any(part.get("type") == "refusal" for message in messages for part in message.get("content") or ()):
        return "refusal"
    return "tool" if has_calls else "end"


def _text(message: Mapping[str, Json]) -> str:
    parts = message.get("content") or ()
    return "".join(str(part.get("text") or part.get("refusal") or "") for part in parts)
