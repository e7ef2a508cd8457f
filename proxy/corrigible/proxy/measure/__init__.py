"""What the proxy is worth to a reader without a language model: tasks, episodes, verdicts."""
