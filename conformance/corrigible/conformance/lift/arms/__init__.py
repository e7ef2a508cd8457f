"""The arms of the experiment, and what each shows of a response."""
