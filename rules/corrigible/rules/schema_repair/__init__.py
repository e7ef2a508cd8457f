"""What to say about a request that breaks its description: breaches in, suggestions out."""
