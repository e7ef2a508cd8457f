"""TLS on both sides of the proxy: which files it takes, and that they are what they should be.

Knows: PEM files. Does not know: mitmproxy, sockets. A file that is missing or wrong is found before anything starts.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from corrigible.rules.errors import CorrigibleError


class WrongFile(CorrigibleError):
    """A file cannot be read, or holds something else. The message is one line that starts with the option."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Whom the proxy believes to be the upstream, and who it is itself there."""

    ca: Path | None = None
    """The only certificates that are trusted; None for those that browsers trust."""
    insecure: bool = False
    """Believe anybody."""
    certificate: Path | None = None
    """A client certificate and its key, shown to the upstream in every caller's name."""

    def check(self) -> None:
        """Read the files. Raises WrongFile."""
        if self.ca is not None:
            text = _read(self.ca, "--upstream-ca")
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
            except (ssl.SSLError, ValueError):
                raise WrongFile(f"--upstream-ca {self.ca}: no PEM certificate in it") from None
        if self.certificate is not None:
            _pair(self.certificate, "--upstream-cert", None)

    def context(self) -> ssl.SSLContext:
        """Return what a Python client needs to judge as mitmproxy does. It trusts nobody yet where `ca` is None."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.hostname_checks_common_name = False
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif self.ca is not None:
            context.load_verify_locations(self.ca)
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        if self.certificate is not None:
            context.load_cert_chain(self.certificate)
        return context


USUAL: Final = Trust()
"""What browsers trust, and no client certificate."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What the proxy shows to those who call it with TLS."""

    certificate: Path
    """The chain, the proxy's own first."""
    key: Path | None = None
    """None where the key is in the same file."""

    def check(self) -> None:
        """Read the files. Raises WrongFile."""
        _pair(self.certificate, "--tls-cert", self.key)


def _pair(certificate: Path, option: str, key: Path | None) -> None:
    if "-----BEGIN CERTIFICATE-----" not in _read(certificate, option):
        raise WrongFile(f"{option} {certificate}: no PEM certificate in it")
    where = f"{option} {certificate}"
    if key is not None:
        _read(key, "--tls-key")
        where = f"--tls-key {key}"
    try:
        # Asked for a password only where the key is encrypted: then this one is wrong, and nobody is prompted.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError) as problem:
        mismatch = getattr(problem, "reason", None) == "KEY_VALUES_MISMATCH"
        said = "not the key of that certificate" if mismatch else "no PEM key without a password in it"
        raise WrongFile(f"{where}: {said}") from None


def _read(path: Path, option: str) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError as problem:
        raise WrongFile(f"{option} {path}: {(problem.strerror or str(problem)).lower()}") from None
