"""Where feedback goes in an answer, for each kind of body."""
