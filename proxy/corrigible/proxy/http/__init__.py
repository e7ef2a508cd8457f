"""HTTP messages as the engine needs them, and as they go back."""
