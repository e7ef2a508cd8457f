# mypy: ignore-errors
"""The SDKs of OpenAI and Anthropic before servers of models, with and without Corrigible between.

with_model_servers.py '{"relay": URL, "proxy": URL, "key": KEY, "model": MODEL}' CALL...
"""

import json
import sys
import urllib.request

import anthropic
import openai

HI = [{"role": "user", "content": "Hello there"}]
LONG = [{"role": "user", "content": "The minutes were read out. " * 60}]
IMAGE = [
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}
]
PICTURE = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}]
FLAT = [{"type": "function", "name": "get_weather", "parameters": {"type": "object"}}]
TOOL = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]
OPENAI = {
    "chat": {},
    "tools": {"tools": TOOL},
    "stream": {"stream": True},
    "text for a number": {"extra_body": {"max_tokens": "8"}},
    "flat tools": {"tools": FLAT},
    "context": {"messages": LONG},
    "context in a stream": {"messages": LONG, "stream": True},
    "image": {"messages": IMAGE},
    "model": {"model": "tini"},
    "slow": {"model": "slow"},
    "gone": {"model": "gone"},
    "penalty": {"model": "ant", "presence_penalty": 0.5},
}
ANTHROPIC = {
    "messages": {},
    "messages stream": {"stream": True},
    "messages text for a number": {"extra_body": {"max_tokens": "8"}},
    "messages context": {"messages": LONG},
    "messages image": {"messages": [{"role": "user", "content": PICTURE}]},
    "messages model": {"model": "tini"},
}


def read(url: str):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def pieces(stream, relay: str) -> list:
    """Read a stream. The relay sends what follows the first piece when it hears that this one is here."""
    out = []
    for event in stream:
        if not out:
            read(f"{relay}/go")
        choices = getattr(event, "choices", None)
        text = choices[0].delta.content if choices else getattr(getattr(event, "delta", None), "text", None)
        out.append([getattr(event, "type", ""), text])
    return out


def made(call: str, base: str, relay: str, key: str, model: str):
    """Make a call, and return what its caller gets."""
    name, _, script = call.partition(" | ")
    headers = {"x-script": script, "x-call": call}
    settings = {"api_key": "sk-other" if "key" in name else key, "max_retries": 2, "default_headers": headers}
    settings["timeout"] = 5.0 if "late" in script else 120.0
    try:
        if name.startswith("messages"):
            arguments = {"model": model, "max_tokens": 8, "messages": HI, **ANTHROPIC.get(name, {})}
            answer = anthropic.Anthropic(base_url=base, **settings).messages.create(**arguments)
        else:
            client = openai.OpenAI(base_url=f"{base}/v1", **settings)
            if name == "embeddings":
                answer = client.embeddings.create(model=model, input="hi")
            elif name == "responses":
                answer = client.responses.create(model=model, input="hi", previous_response_id="resp_1")
            else:
                arguments = {"model": model, "max_tokens": 8, "messages": HI, **OPENAI.get(name, {})}
                answer = client.chat.completions.create(**arguments)
        if "stream" in name:
            return {"pieces": pieces(answer, relay)}
        said = answer.content[0].text if name.startswith("messages") else answer.choices[0].message.content
        return {"said": said}
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        return {
            "raised": type(error).__name__,
            "status": error.status_code,
            "shown": error.body,
            "body": error.response.text,
            "retry-after": error.response.headers.get("retry-after"),
        }
    except (openai.APIError, anthropic.APIError) as error:
        return {"raised": type(error).__name__, "shown": error.body}


def main(settings: str, *calls: str) -> None:
    said = json.loads(settings)
    out = {}
    for call in calls:
        for base in ("relay", "proxy"):
            before = read(f"{said['relay']}/count")
            answer = made(call, said[base], said["relay"], said["key"], said["model"])
            out.setdefault(call, []).append({**answer, "tries": read(f"{said['relay']}/count") - before})
    print(json.dumps(out))


main(*sys.argv[1:])
