"""An admission webhook made with kopf; the framework is kopf's, the policy ours.

Kopf registers its webhook itself. The address that it registers is that of the proxy in front of it. From the
environment: PORT, CERTIFICATE and KEY of the webhook, PROXY and PROXY_CA.
"""

import base64
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import kopf  # type: ignore[import-not-found]  # in an environment of its own


class BehindTheProxy(kopf.WebhookServer):  # type: ignore[misc]  # as above
    async def __call__(self, fn: Any) -> AsyncIterator[Any]:
        authority = base64.b64encode(Path(os.environ["PROXY_CA"]).read_bytes()).decode()
        async for config in super().__call__(fn):
            yield {**config, "url": os.environ["PROXY"], "caBundle": authority}


@kopf.on.startup()  # type: ignore[untyped-decorator]  # as above
def configure(settings: Any, **_: Any) -> None:
    settings.admission.managed = "policy.corrigible.test"
    settings.admission.server = BehindTheProxy(
        addr="127.0.0.1",
        port=int(os.environ["PORT"]),
        certfile=os.environ["CERTIFICATE"],
        pkeyfile=os.environ["KEY"],
        host="127.0.0.1",
    )
    settings.posting.enabled = False


@kopf.on.validate("pods", labels={"kopf": "on"})  # type: ignore[untyped-decorator]  # as above
def check(spec: Any, warnings: list[str], **_: Any) -> None:
    warnings.append("looked at by kopf")
    if spec.get("hostNetwork"):
        raise kopf.AdmissionError("hostNetwork must not be true", code=422)
