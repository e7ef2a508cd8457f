"""Pure judgements of feedback, used for every role and profile."""
