"""What an unchanged program needs in its environment so that its calls come to the proxy, and trust it.

Knows: the variables that HTTP clients read, certificates, kubeconfig files. Does not know: processes, sockets, rules.
"""

from __future__ import annotations

import os
import ssl
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from corrigible.rules.errors import CorrigibleError

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
"""Hosts that programs call without the proxy, unless the proxy knows an API there."""
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
"""curl reads `http_proxy` in small letters only: a header of CGI becomes the other one."""
_BUNDLES: Final = (
    "SSL_CERT_FILE",  # OpenSSL, and with it urllib, aiohttp and httpx; Go
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "AWS_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
)
"""Variables that name the only certificates that a client trusts: the file has those that it trusted before, too."""
_UNVERIFIED, _PROXY = "insecure-skip-tls-verify", "proxy-url"
"""Of a cluster in a kubeconfig: whether no certificate of it is verified, and which proxy it is called through."""
_ADDED: Final = "NODE_EXTRA_CA_CERTS"
"""Node.js trusts these besides its own."""


def environment(before: Mapping[str, str], proxy: str, known: Sequence[str], bundle: Path) -> dict[str, str]:
    """Return the environment of a program whose calls go through `proxy`, an address such as `http://127.0.0.1:4711`.

    `known` are the hosts that the proxy looks at (`host[:port]`), `bundle` all certificates that the program is to
    trust.
    """
    given = before.get("no_proxy") or before.get("NO_PROXY") or ""
    names = {one.rpartition(":")[0] or one for one in known} | {*known}
    direct = dict.fromkeys(one.strip() for one in [*given.split(","), *LOOPBACK] if one.strip())
    passed = ",".join(one for one in direct if one not in names)
    return {
        **before,
        **dict.fromkeys(_PROXIES, proxy),
        "NO_PROXY": passed,
        "no_proxy": passed,
        **dict.fromkeys(_BUNDLES, str(bundle)),
        _ADDED: str(bundle),
        "NODE_USE_ENV_PROXY": "1",
    }


def trusted(before: Mapping[str, str]) -> str:
    """Return all certificates that programs with this environment trust, as PEM."""
    paths = ssl.get_default_verify_paths()
    usual = paths.cafile or before.get("SSL_CERT_FILE") or _public()
    named = (before.get(name) for name in (*_BUNDLES, _ADDED))
    files = dict.fromkeys([usual, *(one for one in named if one)])
    return "\n".join(_text(Path(one)) for one in files if Path(one).is_file())


def _public() -> str:
    import certifi  # the certificates of Mozilla, for systems that have none

    return certifi.where()


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError) as problem:
        raise CorrigibleError(f"{path}: cannot be read as certificates: {problem}") from None


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster of a kubeconfig."""

    name: str
    host: str
    """`host:port`."""
    authority: str
    """The certificates that it is verified by, as PEM; empty where the usual ones do."""
    credentials: str
    """A client certificate with its key, as PEM; empty where there is none."""


class Kubeconfig:
    """The kubeconfig of a user. kubectl trusts only what it names: a copy names the proxy's certificate."""

    def __init__(self, before: Mapping[str, str]) -> None:
        """Read the file. Raises CorrigibleError if it is there and is no kubeconfig."""
        named = [Path(one) for one in before.get("KUBECONFIG", "").split(os.pathsep) if one]
        files = [one for one in named or [Path.home() / ".kube" / "config"] if one.is_file()]
        self._folder = files[0].parent if files else Path()
        self._data = _kubeconfig(files[0]) if files else {}

    @property
    def clusters(self) -> Sequence[Cluster]:
        """Those that are called by TLS, verified, and through no proxy."""
        return list(self._clusters())

    def _clusters(self) -> Iterator[Cluster]:
        users = {one.get("name"): one.get("user") or {} for one in _named(self._data, "users")}
        contexts = [one.get("context") or {} for one in _named(self._data, "contexts")]
        for one in _named(self._data, "clusters"):
            cluster = one.get("cluster") or {}
            parts = urlsplit(str(cluster.get("server")))
            if parts.scheme != "https" or not parts.hostname or cluster.get(_UNVERIFIED) or cluster.get(_PROXY):
                continue
            found = [users.get(each.get("user"), {}) for each in contexts if each.get("cluster") == one.get("name")]
            pairs = (
                f"{certificate}\n{key}"
                for user in found
                if (certificate := self._pem(user, "client-certificate")) and (key := self._pem(user, "client-key"))
            )
            yield Cluster(
                str(one.get("name")),
                f"{parts.hostname}:{parts.port or 443}",
                self._pem(cluster, "certificate-authority"),
                next(pairs, ""),
            )

    def copy(self, authority: Path, proxy: str) -> str:
        """Return the file for a program that calls through the proxy. Paths in it are absolute.

        It names the proxy as well: programs in Go would call a cluster at 127.0.0.1 without it.
        """
        data, known = dict(self._data), {one.name for one in self.clusters}
        clusters = []
        for one in _named(data, "clusters"):
            cluster = dict(one.get("cluster") or {})
            if str(one.get("name")) in known:
                cluster.pop("certificate-authority-data", None)
                cluster |= {"certificate-authority": str(authority), _PROXY: proxy}
            elif "certificate-authority" in cluster:
                cluster["certificate-authority"] = str(self._folder / cluster["certificate-authority"])
            clusters.append({**one, "cluster": cluster})
        users = []
        for one in _named(data, "users"):
            user = dict(one.get("user") or {})
            for key in ("client-certificate", "client-key", "tokenFile"):
                if key in user:
                    user[key] = str(self._folder / user[key])
            users.append({**one, "user": user})
        text: str = yaml.safe_dump({**data, "clusters": clusters, "users": users}, sort_keys=False)
        return text

    def _pem(self, holder: Mapping[str, Any], name: str) -> str:
        inline, path = holder.get(f"{name}-data"), holder.get(name)
        if inline:
            return b64decode(str(inline)).decode("utf-8", "replace")
        return _text(self._folder / str(path)) if path else ""


def _kubeconfig(path: Path) -> Mapping[str, Any]:
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as problem:
        raise CorrigibleError(f"{path}: cannot be read as a kubeconfig: {problem}") from None
    return data if isinstance(data, dict) else {}


def _named(data: Mapping[str, Any], members: str) -> Sequence[Mapping[str, Any]]:
    found = data.get(members)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
