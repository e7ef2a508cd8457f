"""Callers and upstreams made of HTTP/2 frames."""

from tests._support.http2_frames import two as two
