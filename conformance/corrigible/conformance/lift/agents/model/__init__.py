"""Models that call an API in a retry loop. What they cost and do is recorded; what they are told is in `prompt`."""
