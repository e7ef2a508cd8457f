"""The loop breaker: it recognises a refusal that comes back, and changes what is advised."""
