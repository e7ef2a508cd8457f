"""Episodes over HTTP, for agents that are no part of this suite."""
