"""A certificate for one run: for the suite's upstream, and for a subject that serves TLS."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import struct
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from hpack import Decoder, Encoder, HPACKError

from corrigible.conformance.model.background import go_on
from corrigible.conformance.model.outcome import UsageError
from corrigible.conformance.transport.http1 import connected, kept
from corrigible.schema.extra import install_line

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM = ACK = 1
END_HEADERS: Final = 4
PADDED: Final = 8
PRIORITIZED: Final = 32
INITIAL_WINDOW: Final = 65_535
LARGEST_FRAME: Final = 16_384

Block = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Frame:
    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def code(self) -> int:
        """The error code of RST_STREAM and GOAWAY."""
        return int.from_bytes(self.payload[4:8] if self.kind == GOAWAY else self.payload[:4], "big")

    @property
    def ends(self) -> bool:
        """Whether it is the last of its stream."""
        return self.kind == RST_STREAM or (self.kind in (DATA, HEADERS) and bool(self.flags & END_STREAM))


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def settings(*pairs: tuple[int, int]) -> bytes:
    return frame(SETTINGS, payload=b"".join(struct.pack(">HI", *pair) for pair in pairs))


def window(stream: int, more: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", more))


class Peer:
    """One end of a connection. What goes wrong on it is its end, never raised."""

    def __init__(self, wire: socket.socket, received: bytes = b"") -> None:
        self.wire = wire
        self.encoder, self.decoder = Encoder(), Decoder()
        self.decoder.max_header_list_size = 1 << 20
        self.open = True
        self._received = received

    def send(self, *frames: bytes) -> bool:
        """Send frames. False where the connection has ended, or nobody takes them."""
        go_on()
        try:
            self.wire.sendall(b"".join(frames))
        except OSError:
            return False
        return True

    def block(self, fields: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Return the header block of fields, whatever is in them."""
        encoded: bytes = self.encoder.encode(list(fields))
        return encoded

    def next(self, timeout: float) -> Frame | None:
        """Return the next frame; None where the connection ended, or none came in time."""
        until = time.monotonic() + timeout
        while (missing := self._missing()) > 0:
            left = until - time.monotonic()
            if not self.open or left <= 0:
                return None
            self.wire.settimeout(left)
            try:
                data = self.wire.recv(max(missing, 1 << 16))
            except TimeoutError:
                return None
            except OSError:
                data = b""
            go_on()
            self.open = bool(data)
            self._received += data
        head, length = self._received[:9], int.from_bytes(self._received[:3], "big")
        stream = int.from_bytes(head[5:9], "big") & 0x7FFFFFFF
        frame = Frame(head[3], head[4], stream, self._received[9 : 9 + length])
        self._received = self._received[9 + length :]
        return frame

    def _missing(self) -> int:
        have = len(self._received)
        return 9 - have if have < 9 else 9 + int.from_bytes(self._received[:3], "big") - have

    def fields(self, frame: Frame) -> list[tuple[bytes, bytes]]:
        """Return the fields of a HEADERS frame that is whole; none where they are no header block."""
        payload = frame.payload
        if frame.flags & PADDED and payload:
            payload = payload[1 : len(payload) - payload[0]]
        if frame.flags & PRIORITIZED:
            payload = payload[5:]
        try:
            return [(bytes(name), bytes(value)) for name, value in self.decoder.decode(payload, raw=True)]
        except HPACKError:
            return []


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """How a stream ended for its caller."""

    how: str
    """`answered`, `reset`, `goodbye`, `closed` (the connection, without a word) or `late`."""
    status: int = 0
    body: bytes = b""
    code: int = 0

    def __str__(self) -> str:
        match self.how:
            case "answered":
                return f"{self.status} with {len(self.body)} bytes"
            case "reset" | "goodbye":
                return f"{'RST_STREAM' if self.how == 'reset' else 'GOAWAY'} with code {self.code}"
            case "closed":
                return "the end of the connection"
        return "nothing"


class Caller(Peer):
    """A connection of a client. A context manager."""

    def __init__(self, address: tuple[str, int], *, tls: bool = False, initial_window: int = 1 << 24) -> None:
        """Raises OSError if the peer does not support HTTP/2."""
        plain = connected(address, 5)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().__init__(_secured(plain) if tls else plain)
        self._next_stream = 1
        try:
            self.send(PREFACE, settings((4, initial_window)), window(0, 1 << 24))
            first = self.next(5)
            if first is None or first.kind != SETTINGS:
                raise ConnectionError("it does not support HTTP/2")
            self.send(frame(SETTINGS, ACK))
        except BaseException:  # raised again: nobody else can close it
            self.wire.close()
            raise

    def __enter__(self) -> Caller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.wire.close()

    def stream(self) -> int:
        """Return the next stream."""
        stream, self._next_stream = self._next_stream, self._next_stream + 2
        return stream

    def ask(self, block: Block, body: bytes = b"", *, timeout: float = 5.0) -> StreamEnd:
        """Send one request, and wait for how it ends."""
        stream = self.stream()
        self.start(stream, block, body)
        return self.answer(stream, timeout=timeout)

    def start(self, stream: int, block: Block, body: bytes = b"") -> None:
        """Send a request."""
        self.send(frame(HEADERS, END_HEADERS, stream, self.block(block)), frame(DATA, END_STREAM, stream, body))

    def answer(self, stream: int, *, timeout: float = 5.0) -> StreamEnd:
        """Wait for how a stream ends. What comes is taken, so that more may come."""
        status, body, until = 0, bytearray(), time.monotonic() + timeout
        while (received := self.next(until - time.monotonic())) is not None:
            if received.kind == GOAWAY and int.from_bytes(received.payload[:4], "big") & 0x7FFFFFFF < stream:
                return StreamEnd("goodbye", status, bytes(body), received.code)
            if received.kind == HEADERS:
                fields = dict(self.fields(received))
                if received.stream == stream and b":status" in fields:
                    status = int(fields[b":status"])
            if received.kind == DATA and received.payload:
                self.send(window(0, len(received.payload)), window(received.stream, len(received.payload)))
            if received.kind == PING and not received.flags & ACK:
                self.send(frame(PING, ACK, 0, received.payload))
            if received.stream != stream:
                continue
            if received.kind == DATA:
                body += received.payload
            if received.ends:
                reset = received.kind == RST_STREAM
                return StreamEnd("reset" if reset else "answered", status, bytes(body), received.code if reset else 0)
        return StreamEnd("late" if self.open else "closed", status, bytes(body))


def _secured(plain: socket.socket) -> socket.socket:
    """Agree on HTTP/2 by ALPN. Whose certificate it is does not matter here."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    wire = kept(context.wrap_socket(plain))
    if wire.selected_alpn_protocol() != "h2":
        wire.close()
        raise ConnectionError("it does not agree on HTTP/2")
    return wire


def write_certificate(path: Path) -> None:
    """Write a certificate for 127.0.0.1 that is its own authority, and its key, to one file (PEM)."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ModuleNotFoundError:
        raise UsageError(f"cryptography is not installed: {install_line('conformance')}") from None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "conformance")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.touch(mode=0o600)
    path.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
