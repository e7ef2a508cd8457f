"""The operations of an API as tools of a model. A loop stands for the model here."""

import httpx

from corrigible.client.toolset import Toolset

PROXY = "http://127.0.0.1:8080"
toolset = Toolset(httpx.get(f"{PROXY}/openapi.json").json(), PROXY)
print([tool.name for tool in toolset.tools.values()])

result = toolset.call("createBooking", {"body": {"room": "doubel", "nights": 3}})
while (call := result.corrected) is not None and not result.needs_confirmation:
    print(result.text)
    result = toolset.call(call.name, call.arguments)
print(result.text)
