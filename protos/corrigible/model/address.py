"""The addresses of providers: which lead to this machine, and which may be told a key."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


class UnusableProvider(Exception):
    """What was said about a provider cannot be used; the message is for users."""


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked(url: str, *, has_key: bool) -> str:
    """Return a base URL without a slash at its end. Raises UnusableProvider where a key would leave in the open."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UnusableProvider(f"{url}: a base URL starts with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise UnusableProvider("a base URL holds no credentials: name an environment variable with key_env")
    if parts.scheme == "http" and has_key and not is_loopback(url):
        raise UnusableProvider(f"{url}: the key would be sent unencrypted")
    return url.rstrip("/")


def address(url: str) -> str:
    """Return where a URL leads, for reports: a port of this machine is different each time."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port is not None and not is_loopback(url) else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"
