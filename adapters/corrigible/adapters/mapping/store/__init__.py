"""Where canonical operations are kept, and how they are found again."""
