"""Who plays an episode: scripts (said to be scripts), models in a retry loop, and whoever comes from outside."""
