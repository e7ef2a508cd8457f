"""Levels 1 to 3 over HTTP: feedback is there, works, is safe and is true."""
