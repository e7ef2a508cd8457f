"""The certificate and key files of the proxy, for both sides, and their checks before anything starts.

Knows: PEM files. Does not know: mitmproxy, sockets.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from corrigible.rules.errors import CorrigibleError


class WrongFile(CorrigibleError):
    """A file cannot be read, or has the wrong content. The message is one line that starts with the option."""


@dataclass(frozen=True, slots=True)
class Trust:
    """How the proxy verifies the upstream, and its own client certificate there."""

    ca: Path | None = None
    """The only trusted CA certificates; None for the usual public CAs."""
    insecure: bool = False
    """Do not verify the certificate."""
    certificate: Path | None = None
    """A client certificate with its key, presented to the upstream for all callers."""

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
        """Return an SSL context that verifies as mitmproxy does. It trusts no CA yet if `ca` is None."""
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
"""The usual public CAs, and no client certificate."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The certificate that callers see."""

    certificate: Path
    """The certificate chain, the proxy's own certificate first."""
    key: Path | None = None
    """None if the key is in the same file."""

    def check(self) -> None:
        """Read the files. Raises WrongFile."""
        _pair(self.certificate, "--tls-cert", self.key)


def _pair(certificate: Path, option: str, key: Path | None) -> None:
    if "-----BEGIN CERTIFICATE-----" not in _read(certificate, option):
        raise WrongFile(f"{option} {certificate}: no PEM certificate in it")
    label = f"{option} {certificate}"
    if key is not None:
        _read(key, "--tls-key")
        label = f"--tls-key {key}"
    try:
        # The password is used only if the key is encrypted. It is wrong then, but prevents a prompt.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError) as problem:
        mismatch = getattr(problem, "reason", None) == "KEY_VALUES_MISMATCH"
        reason = "not the key of that certificate" if mismatch else "no PEM key without a password in it"
        raise WrongFile(f"{label}: {reason}") from None


def _read(path: Path, option: str) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError as problem:
        raise WrongFile(f"{option} {path}: {(problem.strerror or str(problem)).lower()}") from None
