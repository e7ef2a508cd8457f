"""HotpotQA with reflection between trials, as the paper on "structure snowballing" ran it."""
