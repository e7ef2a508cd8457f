"""What a suggestion may lose, guess or decide."""
