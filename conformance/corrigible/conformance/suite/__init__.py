"""The suite's machinery: checks and requirements, the subject under test, its config, the runner, the record."""
